"""The workload stack: the NeMo RL job. It changes with every run."""

from __future__ import annotations

from constructs import Construct

from groundplan.platform.access_constructs import ApiCheck
from groundplan.site.releases import job_releases, namespaces_of
from groundplan.site.resolve import Site
from groundplan.site.stack import ClusterClientStack
from groundplan.workload.constructs import RayJobChart, RayJobChartProps
from groundplan.workload.values import JobValues


class WorkloadStack(ClusterClientStack):
    """A Helm release for each job; none while its recipe is unknown."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "workload")
        self.jobs: dict[str, RayJobChart] = {}
        releases = job_releases(site)
        if releases:
            api = ApiCheck(self, "api", namespaces=namespaces_of(site, "workload")).ready
            for id_, (release, job) in releases.items():
                self.jobs[id_] = RayJobChart(self, id_, job_props(site, release, job), depends_on=api)


def job_props(site: Site, release: str, job: JobValues) -> RayJobChartProps:
    """A job of the site, as the release of that name."""
    return RayJobChartProps(release=release, namespace=job.namespace, objects=tuple(site.objects_of[job.name]))
