"""The workload stack: the NeMo RL job. It changes with every run."""

from __future__ import annotations

from constructs import Construct

from groundplan.platform.chart_constructs import PassThroughChart, PassThroughChartProps
from groundplan.site.resolve import Site
from groundplan.site.stack import ClusterClientStack


class WorkloadStack(ClusterClientStack):
    """The job's objects, in one Helm release."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "workload")
        objects = site.job_objects
        if objects:
            props = PassThroughChartProps(
                release=f"{site.name}-job",
                namespace=site.profile.platform.namespace,
                manifests={f"{o['kind'].lower()}-{o['metadata']['name']}": o for o in objects},
                # A training runs for hours; apply is done when the job is submitted.
                wait=False,
            )
            PassThroughChart(self, "job", props)
