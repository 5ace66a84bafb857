"""What each stack tells after an apply: the names that somebody needs next, and how to go on. Never a secret.

The values are what the profile gives, so that they stand in the plan; only what Google alone knows is an attribute of
a resource. ``terraform -chdir=stacks/STACK output`` prints them again.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from groundplan.cluster.values import account_email
from groundplan.site.resolve import Site


@dataclass(frozen=True, slots=True)
class StackValue:
    """One Terraform output."""

    value: str | list[str] | dict[str, str]
    description: str


def connect_command(site: Site) -> str:
    """What makes kubectl speak to the site's cluster."""
    command = (
        f"gcloud container clusters get-credentials {site.cluster.name} --region={site.region} --project={site.project}"
    )
    return f"{command} --dns-endpoint" if site.profile.cluster.control_plane.dns_endpoint else command


def job_command(site: Site, *words: str) -> str:
    """A kubectl command in the namespace of the site's jobs."""
    return shlex.join(("kubectl", "-n", site.profile.platform.namespace, *words))


def outputs_of(site: Site, kind: str) -> dict[str, StackValue]:
    """Name -> output, of one stack."""
    found = {
        "host": _host,
        "network": _network,
        "storage": _storage,
        "cluster": _cluster,
        "gpu": _gpu,
        "platform": _platform,
        "workload": _workload,
    }[kind](site)
    return {**found, "next_step": StackValue(_next_step(site, kind), "What to do after this apply.")}


def _host(site: Site) -> dict[str, StackValue]:
    return {
        "networks": StackValue([site.network.vpc, *(each.name for each in site.nic_networks)], "Networks of the site."),
    }


def _network(site: Site) -> dict[str, StackValue]:
    return {
        "network": StackValue(
            site.network.vpc_path, f"VPC of the cluster{' and of Lustre' if site.lustre.is_used else ''}."
        ),
        "subnetwork": StackValue(site.network.subnetwork_path(site.region), "Subnetwork of the nodes."),
    }


def _storage(site: Site) -> dict[str, StackValue]:
    own, found = site.lustre, {}
    if own.is_used:
        reference = ("" if own.is_made else "data.") + "google_lustre_instance.lustre.mount_point"
        found = {
            "lustre_instance": StackValue(
                f"projects/{own.project}/locations/{own.zone}/instances/{own.name}", "The Lustre instance."
            ),
            "lustre_mount_point": StackValue(f"${{{reference}}}", "Address and file system, as a client mounts them."),
            "mount_path": StackValue(own.mount_path, "Where the pods mount it."),
        }
    if site.buckets:
        buckets = [f"gs://{bucket.name}" for bucket in site.buckets]
        found["buckets"] = StackValue(buckets, "Cloud Storage buckets of the site.")
    return found


def _cluster(site: Site) -> dict[str, StackValue]:
    return {
        "cluster": StackValue(site.cluster.name, "Name of the GKE cluster."),
        "connect_command": StackValue(connect_command(site), "Makes kubectl speak to the cluster."),
        "nodes_account": StackValue(account_email(site.cluster.nodes_account, site.project), "Account of the nodes."),
        "workload_account": StackValue(
            account_email(site.cluster.workload_account, site.project), "Account that the training pods act as."
        ),
    }


def _gpu(site: Site) -> dict[str, StackValue]:
    return {
        "pools": StackValue(
            {pool.name: f"{pool.max_nodes} x {pool.spec.machine_type} in {pool.zone}" for pool in site.pools},
            "GPU pools: most nodes, machine type, zone.",
        ),
    }


def _platform(site: Site) -> dict[str, StackValue]:
    spec = site.profile.platform
    found = {
        "namespace": StackValue(spec.namespace, "Namespace of the jobs."),
        "service_account": StackValue(spec.service_account, "Kubernetes service account of the training pods."),
    }
    if site.lustre.is_used:
        found["claim"] = StackValue(site.lustre.claim, "PersistentVolumeClaim of the Lustre volume.")
    return found


def _workload(site: Site) -> dict[str, StackValue]:
    if site.parts:
        names = [job.name for job in site.jobs]
        return {
            "jobs": StackValue(names, "Names of the RayJobs and RayClusters."),
            "status_command": StackValue(job_command(site, "get", "rayjobs,rayclusters"), "Shows how they stand."),
        }
    if site.job is None:
        return {}
    kind = "raycluster" if site.job.spec.mode == "cluster" else "rayjob"
    return {
        "job": StackValue(site.job.name, f"Name of the {'RayCluster' if kind == 'raycluster' else 'RayJob'}."),
        "status_command": StackValue(job_command(site, "get", kind, site.job.name), "Shows how it stands."),
    }


def _next_step(site: Site, kind: str) -> str:
    if kind == "workload":
        return f'{job_command(site, "get", "pods")}, and runbook.md, "Follow the job" and "Results"'
    names = [entry.name for entry in site.stacks]
    after = names[names.index(kind) + 1] if kind != names[-1] else None
    if after is None:  # a platform without a job
        return f'{connect_command(site)}, and runbook.md, "A job of your own"'
    return f"plan and apply {site.stack_name(after)} (runbook.md has the order)"
