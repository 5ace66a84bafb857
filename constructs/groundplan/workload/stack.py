"""The workload stack: the NeMo RL job. It changes with every run."""

from __future__ import annotations

from constructs import Construct

from groundplan.platform.access_constructs import ApiCheck
from groundplan.site.releases import namespaces_of, site_releases
from groundplan.site.resolve import Site
from groundplan.site.stack import ClusterClientStack
from groundplan.workload.constructs import RayJobChart, RayJobChartProps


class WorkloadStack(ClusterClientStack):
    """The job's objects, in one Helm release; none while its recipe is unknown."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "workload")
        self.job: RayJobChart | None = None
        if site.job_objects:
            api = ApiCheck(self, "api", namespaces=namespaces_of(site, "workload")).ready
            self.job = RayJobChart(self, "job", job_props(site), depends_on=api)


def job_props(site: Site) -> RayJobChartProps:
    """The site's job."""
    release = site_releases(site)["job"]
    return RayJobChartProps(release=release.name, namespace=release.namespace, objects=tuple(site.job_objects))
