"""What is written beside the stacks: the job as YAML, the run-book."""

from __future__ import annotations

import shlex
from importlib import resources
from typing import Any

import jinja2

from groundplan.cluster.values import account_email
from groundplan.emit.job_text import head_line
from groundplan.gpu import nvlink
from groundplan.gpu.transports import roce, tcpxo, transport_of
from groundplan.gpu.values import PoolValues
from groundplan.kernel.gke import ACCELERATOR_LABEL, RDMA_DEVICE_CLASS
from groundplan.kernel.yaml_text import flow_yaml, to_yaml
from groundplan.platform.secrets import SECRETS, secret_name
from groundplan.site.outputs import connect_command
from groundplan.site.releases import job_releases, roce_archs, site_releases
from groundplan.site.resolve import Site
from groundplan.storage.buckets import sidecar_annotations
from groundplan.workload import fabric_test as fabric
from groundplan.workload.pods import (
    fuse_annotations,
    network_annotations,
    shared_mounts,
    shared_volumes,
    tolerations,
    worker_selector,
)


def artefacts(site: Site, profile: str) -> dict[str, str]:
    """Path within the output folder -> text. `profile` is the name of the profile's file, for the run-book."""
    job = {"rayjob.yaml": job_yaml(site)} if site.has_job else {}
    if test := fabric_test(site):
        job["fabric-test.yaml"] = test
    return {**job, "runbook.md": runbook(site, profile)}


def job_yaml(site: Site) -> str:
    """The workload stack's objects as one YAML stream, for ``kubectl`` and for reading."""
    return head_line(site) + "".join(f"---\n{to_yaml(document)}" for document in site.job_objects)


def fabric_test(site: Site) -> str:
    """The Job that measures the fabric, as a YAML stream; empty where it cannot run."""
    documents = fabric.documents(site.job) if site.job else []
    head = (
        f"# Measures the fabric of site {site.name} before anything trains on it (runbook.md). Written by groundplan.\n"
    )
    return head + "".join(f"---\n{to_yaml(each)}" for each in documents) if documents else ""


def runbook(site: Site, profile: str) -> str:
    """Order, commands and day-2 work of this very site, with its own names filled in."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: resources.files(__package__).joinpath(name).read_text("utf-8")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown
    )
    environment.filters["flow"] = flow_yaml
    environment.globals |= {each.__name__: each for each in (fuse_annotations, shared_mounts, shared_volumes)}
    environment.globals["sidecar_annotations"] = sidecar_annotations
    secrets = site.secrets
    references = {kind: getattr(secrets, kind) for kind in SECRETS if getattr(secrets, kind)}
    return environment.get_template("runbook.md.j2").render(
        site=site,
        profile=site.profile,
        connect_command=connect_command(site),
        profile_file=shlex.quote(profile),
        entries=site.stacks,
        stack={entry.name: site.stack_name(entry.name) for entry in site.stacks},
        own_stacks=[site.stack_name(entry.name) for entry in site.stacks if entry.name != "host"],
        shared=_shared_vpc(site),
        fabric=_fabric(site),
        variables={k: secret_name(k, r) for k, r in references.items() if r.variable},
        existing_secrets={k: (r.secret, r.key) for k, r in references.items() if r.secret},
        releases=tuple(site_releases(site).values()),
        local_state=site.profile.backend.local is not None,
        accelerator_label=ACCELERATOR_LABEL,
        own_releases={job.name for id_, (name, job) in job_releases(site).items() if name != f"{site.name}-{id_}"},
        test=_test(site),
        own_pods=[] if site.has_job else [_own_pod(site, pool) for pool in site.pools],
        pool_names=[site.profile.cluster.cpu_pool.name, *(pool.name for pool in site.pools)],
    )


def _test(site: Site) -> dict[str, Any]:
    """What the run-book says about the test of the fabric; empty where there is none."""
    job = site.job
    if job is None or job.pool is None or job.pool.gpu is None or not fabric.documents(job):
        return {}
    nodes = job.worker_groups[0].nodes
    return {
        "name": fabric.name_of(job),
        "nodes": nodes,
        "gpus": nodes * job.gpus,
        "floor": job.pool.gpu.bus_gb_per_s if nodes > 1 else 0,
        "machine": job.pool.spec.machine_type,
    }


def _own_pod(site: Site, pool: PoolValues) -> dict[str, Any]:
    """What a pod of the user's own says to come to a pool, and to use its networks."""
    annotations = network_annotations(site.nics_of(pool))
    if pool.gpu:
        annotations |= transport_of(pool.machine).annotations(pool.gpu)
    spec = {"nodeSelector": worker_selector(pool), "tolerations": tolerations(pool)}
    pod = ({"metadata": {"annotations": annotations}} if annotations else {}) | {"spec": spec}
    return {"name": pool.name, "gpus": pool.gpus_per_node, "text": to_yaml(pod)}


def _fabric(site: Site) -> dict[str, Any]:
    """What there is to see of the GPU nodes' fabric: installers by label, NICs a node that GKE hands out, the namespace
    of NVIDIA's driver."""
    found = {transport_of(pool.machine).name for pool in site.pools}
    installers = [roce.NAME + ("" if arch == "amd64" else f"-{arch}") for arch in roce_archs(site)]
    return {
        "installers": installers + [tcpxo.INSTALLER] * (tcpxo.TCPXO.name in found),
        "managed": max((pool.claimed_nics for pool in site.pools), default=0),
        "device_class": RDMA_DEVICE_CLASS,
        "nvlink": nvlink.NAMESPACE if any(pool.nvlink_nodes for pool in site.pools) else "",
    }


def _shared_vpc(site: Site) -> dict[str, Any]:
    """What the run-book says about the host project; empty where there is none."""
    network = site.network
    if not network.is_shared:
        return {}
    there = [network.subnetwork]
    there += [name for nics in site.nic_networks if nics.exists for name in nics.subnetworks]
    made = [f"the network `{nics.name}`" for nics in site.nic_networks if not nics.exists]
    made += [f"private service access (`{network.access_name}`)"] if network.access_created else []
    rules = [rule.name for rule in site.profile.network.firewall_rules]
    made += [f"the firewall rule{'s' if len(rules) > 1 else ''} `{'`, `'.join(rules)}`"] if rules else []
    return {
        "nodes_account": account_email(site.cluster.nodes_account, site.project),
        "nodes_exist": site.profile.cluster.service_accounts.nodes_exists,
        "subnetworks": there,
        "made": " and ".join([", ".join(made[:-1])] * (len(made) > 1) + made[-1:]),
    }
