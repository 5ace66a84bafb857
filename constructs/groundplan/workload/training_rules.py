"""The rules of NeMo RL's configuration, registered for a site's job: each takes the training that the job is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from findings import Problem, rule
from groundplan.nemo_rl import (
    bounds_rules,
    checkpoint_rules,
    config_rules,
    data_rules,
    fit_rules,
    generation_rules,
    loss_rules,
    optimizer_rules,
    parallel_rules,
    run_rules,
    sequence_rules,
    shape_rules,
    step_rules,
    type_rules,
)
from groundplan.nemo_rl.follow import settled
from groundplan.nemo_rl.releases import GRPO
from groundplan.nemo_rl.stated import catalog
from groundplan.nemo_rl.training import CHECKS, Check, Training
from groundplan.site.resolve import Site
from groundplan.workload.values import JobValues

__all__ = [
    "bounds_rules",
    "checkpoint_rules",
    "config_rules",
    "data_rules",
    "fit_rules",
    "generation_rules",
    "loss_rules",
    "optimizer_rules",
    "parallel_rules",
    "run_rules",
    "sequence_rules",
    "shape_rules",
    "step_rules",
    "training_of",
    "type_rules",
]


def training_of(job: JobValues) -> Training:
    """The training of a job."""
    gpu = job.pool.machine.gpu if job.pool and job.pool.machine else None
    return Training(
        config=job.config,
        release=job.release,
        recipe=job.recipe,
        model=job.model,
        overrides=job.spec.overrides,
        environment=job.environment,
        nodes=job.nodes,
        nodes_written=bool(job.spec.nodes),
        most_nodes=job.pool.max_nodes if job.pool else 0,
        gpus=job.gpus,
        gpu_memory_gb=gpu.memory_gb if gpu else None,
        pool=job.pool.name if job.pool else "",
        mount_path=job.mount_path,
        mounts=job.mounts,
        folder=job.folder,
        hugging_face_token=job.site_secrets.hugging_face is not None,
        wandb_key=job.site_secrets.wandb is not None,
        file=job.file.values if job.file else {},
        file_name=job.file.name if job.file else "",
        deadline_hours=job.spec.deadline_hours if job.spec.mode == "job" else 0,
    )


#: Rules that hold whatever the entry script trains by.
_OF_ANY = ("config-sweep", "config-twice", "cluster-shape", "shared-folders", "wandb-key", "gated-model")

#: Rules that judge what NeMo RL raises, but for those of the conditions' tables: their findings name the release.
_OF_NEMO_RL = frozenset(word for entry in catalog().values() for word in entry.get("rule", "").split(", "))


def _register(check: Check) -> None:
    def on_site(site: Site) -> Iterator[Problem]:
        if site.job is None:
            return
        training = training_of(site.job)
        if training.release.algorithm != GRPO and check.slug not in _OF_ANY:
            return
        release = training.release.version
        for problem in check.run(training):
            told = release in problem.message or check.slug not in _OF_NEMO_RL
            named = problem if told else replace(problem, message=f"{problem.message} (NeMo RL {release})")
            yield settled(training, check.slug, named)

    on_site.__doc__ = check.run.__doc__
    rule(check.slug, check.severity)(on_site)


for _check in CHECKS:
    _register(_check)
