"""The environment of head and workers: one list for both.

NeMo RL copies every variable of the driver, which runs on the head, into every worker's runtime environment, where it
wins over the worker pod's own (measured; nemo_rl/distributed/virtual_cluster.py). So a variable that is right for the
workers must stand on the head too, and nothing may go through ``runtimeEnvYAML``: a key on both sides stops
``ray.init``.
"""

from __future__ import annotations

import re

from groundplan.catalog import Machine
from groundplan.gpu.transports import transport_of
from groundplan.nemo_rl.releases import Release
from groundplan.workload.values import JobValues

#: A dollar that the kubelet would take for more than itself.
_DOLLAR = re.compile(r"\$(?=[$(])")

#: Set by groundplan from other keys of the profile; a value of the user's would contradict one of them.
MANAGED = ("LD_LIBRARY_PATH", "NCCL_TUNER_CONFIG_PATH", "NRL_MEGATRON_CHECKPOINT_DIR", "RAY_ADDRESS", "HF_HOME")


def environment_of(release: Release, machine: Machine | None, mount_path: str) -> dict[str, str]:
    """Plain variables by name, in the order in which they are written."""
    values = {
        # Models, data sets and tokenizers are downloaded once, for all nodes and all later jobs.
        "HF_HOME": f"{mount_path}/huggingface",
        "LD_LIBRARY_PATH": ":".join((*release.libraries, *transport_of(machine).libraries)),
        **release.environment,
        # Ray would kill workers when the node's memory, not the pod's, looks full.
        "RAY_memory_monitor_refresh_ms": "0",
        # A placement that can never be satisfied ends the job instead of waiting for it.
        "RAY_enable_infeasible_task_early_exit": "true",
    }
    return values | network_environment(machine)


def network_environment(machine: Machine | None) -> dict[str, str]:
    """NCCL and Gloo on the machine's networks, and what its transport wants."""
    values = {"GLOO_SOCKET_IFNAME": "eth0", "NCCL_SOCKET_IFNAME": "eth0", "TP_SOCKET_IFNAME": "eth0"}
    if machine and machine.gpu:
        values |= transport_of(machine).environment(machine.gpu)
    return values | {"NCCL_DEBUG": "WARN"}


def plain_environment(job: JobValues) -> list[dict[str, object]]:
    """The plain variables, as a container takes them: the kubelet would put a variable's value for ``$(NAME)``, and one
    dollar for two, so that such dollars are doubled."""
    return [{"name": name, "value": _DOLLAR.sub("$$", value)} for name, value in job.environment.items()]


def container_environment(job: JobValues) -> list[dict[str, object]]:
    """The whole list: plain variables, then references to Secrets."""
    references: list[dict[str, object]] = [
        {"name": s.variable, "valueFrom": {"secretKeyRef": {"name": s.secret, "key": s.key}}} for s in job.secrets
    ]
    return plain_environment(job) + references
