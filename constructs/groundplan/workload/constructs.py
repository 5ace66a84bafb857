"""A Ray job in a cluster, for any cdktf program that has a Helm provider and whose cluster runs KubeRay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

from cdktf import ITerraformDependable
from constructs import Construct
from pydantic import AfterValidator, Field, model_validator
from pydantic.dataclasses import dataclass
from pydantic_core import PydanticCustomError

from groundplan.kernel.props import PROPS, KubernetesName, ReleaseName, Several, Text
from groundplan.platform.chart_constructs import PassThroughChart, PassThroughChartProps
from groundplan.platform.file_constructs import CHART

#: What the KubeRay operator runs: a job on a cluster of its own, or a cluster to start scripts on by hand.
RAY_KINDS = ("RayJob", "RayCluster")


def _whole(value: Mapping[str, Any]) -> Mapping[str, Any]:
    named = isinstance(value.get("metadata"), Mapping) and value["metadata"].get("name")
    if not (value.get("apiVersion") and value.get("kind") and named):
        limit = "must be a whole object, with apiVersion, kind and metadata.name"
        raise PydanticCustomError("limit", "{limit}", {"limit": limit})
    return value


KubernetesObject = Annotated[Mapping[str, Any], AfterValidator(_whole)]


@dataclass(frozen=True, kw_only=True, config=PROPS)
class RayJobChartProps:
    """A Ray job and what it needs, as one Helm release."""

    release: ReleaseName
    """Name of the release, at most 53 characters."""
    namespace: KubernetesName
    """Namespace of the job, and of objects that name none."""
    objects: Annotated[Several[KubernetesObject], Field(min_length=1)]
    """The objects, whole: one RayJob or RayCluster of ``ray.io/v1``, and what belongs to it, such as a ConfigMap of
    scripts. A job that is to run anew after a change needs another name: KubeRay ignores edits of a RayJob's cluster.
    ``add_site(...).site.job_objects`` has those of a profile."""
    chart: Text = CHART
    """Folder of the pass-through chart. Default: `chart` beside the stack, which is written too."""

    @model_validator(mode="after")
    def _one_job(self) -> Self:
        found = [each["metadata"]["name"] for each in self.objects if each["kind"] in RAY_KINDS]
        if len(found) != 1:
            raise ValueError(f"objects: has {len(found)} of {' and '.join(RAY_KINDS)}; give exactly one")
        keys = [_key(each) for each in self.objects]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise ValueError(f"objects: {', '.join(twice)} stands there twice; give each a name of its own")
        return self

    @property
    def job(self) -> Mapping[str, Any]:
        """The RayJob or RayCluster."""
        return next(each for each in self.objects if each["kind"] in RAY_KINDS)


class RayJobChart(PassThroughChart):
    """The job: ``helm_release.<id>``. Apply is done when it is submitted, for Helm waits for no custom resource to get
    ready. A destroy is done when it is gone, KubeRay's finalizer included: what it holds (networks, claim) may go next.

    It waits for `depends_on`: an :class:`~groundplan.platform.access_constructs.ApiCheck`, and the `ready` of
    namespace, accounts, secrets and volume in the same stack.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: RayJobChartProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        chart = PassThroughChartProps(
            release=props.release,
            namespace=props.namespace,
            manifests={_key(each): each for each in props.objects},
            chart=props.chart,
        )
        super().__init__(scope, id_, chart, depends_on=depends_on)
        self.job_name = str(props.job["metadata"]["name"])
        """Name of the RayJob or RayCluster, as text."""


def _key(each: Mapping[str, Any]) -> str:
    return f"{each['kind'].lower()}-{each['metadata']['name']}"
