"""The Helm releases of a site: what the stacks install, and what the run-book says of each."""

from __future__ import annotations

from dataclasses import dataclass

from groundplan.gpu import nvlink
from groundplan.gpu.transports import roce, tcpxo, transport_of
from groundplan.site.resolve import Site
from groundplan.workload.values import JobValues


@dataclass(frozen=True, slots=True)
class SiteRelease:
    """A release, by what Terraform and Helm call it."""

    stack: str
    """Kind of its stack."""
    id: str
    """Of the resource: ``helm_release.<id>``."""
    namespace: str
    """Where Helm keeps it."""
    name: str
    """What Helm calls it."""


def site_releases(site: Site) -> dict[str, SiteRelease]:
    """By id, in order of installation."""
    platform = site.profile.platform
    found = []
    if site.nic_networks:
        found.append(SiteRelease("platform", "networks", platform.namespace, f"{site.name}-networks"))
    for arch in roce_archs(site):
        id_ = "gib" if arch == "amd64" else f"gib-{arch}"
        found.append(SiteRelease("platform", id_, roce.NAMESPACE, f"{site.name}-{id_}"))
    if any(transport_of(pool.machine) is tcpxo.TCPXO for pool in site.pools):
        found.append(SiteRelease("platform", "tcpxo", roce.NAMESPACE, f"{site.name}-tcpxo"))
    if any(pool.nvlink_nodes for pool in site.pools):
        found.append(SiteRelease("platform", "nvlink-quota", nvlink.NAMESPACE, f"{site.name}-nvlink-quota"))
        found.append(SiteRelease("platform", "nvlink", nvlink.NAMESPACE, nvlink.CHART))
    found.append(SiteRelease("platform", "kuberay", platform.kuberay.namespace, "kuberay-operator"))
    if site.queue:
        found.append(SiteRelease("platform", "kueue", platform.kueue.namespace, "kueue"))
        found.append(SiteRelease("platform", "queue", platform.namespace, f"{site.name}-queue"))
    found += [SiteRelease("workload", id_, platform.namespace, name) for id_, (name, _) in job_releases(site).items()]
    return {each.id: each for each in found}


def job_releases(site: Site) -> dict[str, tuple[str, JobValues]]:
    """Id of the resource -> name of the release, and its job: one, or one for each of `workload.jobs`."""
    several = bool(site.parts)
    ends = {job.name: f"job-{job.spec.name}" if several else "job" for job in site.jobs}
    return {ends[job.name]: (_job_release(f"{site.name}-{ends[job.name]}", job), job) for job in site.jobs}


def _job_release(plain: str, job: JobValues) -> str:
    """The release of a job, `plain` at most; on a pool that makes nodes when pods ask for them, one for each job.

    Helm makes the new job before it deletes the old one, so that for a while both ask for nodes, and the autoscaler
    makes them twice. A release's name cannot be changed in place: Terraform then destroys the old job's, which waits
    until its pods have gone, before it makes the new one's. Where nodes are fixed, or Kueue holds the new job back, it
    waits by itself.
    """
    grows = any(share.pool.max_nodes > share.pool.min_nodes for share in job.worker_groups)
    if not grows or job.queue is not None:
        return plain
    return f"{plain}-{job.name.rpartition('-')[2]}"


def roce_archs(site: Site) -> list[str]:
    """Architectures of the machines with RoCE, amd64 first."""
    archs = {pool.machine.arch for pool in site.pools if pool.machine and transport_of(pool.machine) is roce.ROCE}
    return sorted(archs)


def namespaces_of(site: Site, stack: str) -> list[str]:
    """The namespaces of a stack's releases."""
    return sorted({each.namespace for each in site_releases(site).values() if each.stack == stack})
