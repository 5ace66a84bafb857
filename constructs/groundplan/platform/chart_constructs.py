"""What comes into a cluster by Helm: custom resources, the gIB installer, operators. For any cdktf program.

Custom resources go through a pass-through chart. The plan shows every line, no live API is asked at plan time
(terraform-provider-kubernetes#1775), and Helm does not bring back an object that was cleaned up after it finished.
Chart and values stand in files beside the stack's cdk.tf.json (:mod:`groundplan.platform.file_constructs`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_helm.release import Release
from constructs import Construct
from pydantic import Field
from pydantic.dataclasses import dataclass

from groundplan.gpu.transports import roce as gib
from groundplan.kernel.constructs import Part
from groundplan.kernel.fields import Matching
from groundplan.kernel.props import PROPS, KubernetesName, ReleaseName, Several, Text
from groundplan.kernel.yaml_text import to_yaml
from groundplan.platform.file_constructs import CHART, stack_folder, write_chart, write_values


@dataclass(frozen=True, kw_only=True, config=PROPS)
class PassThroughChartProps:
    """Kubernetes objects as one Helm release."""

    release: ReleaseName
    """Name of the release, at most 53 characters."""
    namespace: KubernetesName
    """Namespace of the release, and of objects that name none."""
    manifests: Mapping[str, Mapping[str, Any]]
    """Key -> whole object. Keys only tell the objects apart, in the plan and in the chart's values."""
    wait: bool = True
    """Wait until the objects are ready, and roll back when they are not; wait at a destroy until they are gone. Without
    it a first install that fails leaves a release behind, whose name no later apply can use. Default: yes."""
    chart: Text = CHART
    """Folder of the chart. Default: `chart` beside the stack, which is written too."""


class PassThroughChart(Part):
    """Kubernetes objects of any kind: ``helm_release.<id>``, from ``manifests/<id>.yaml``.

    It waits for `depends_on`: an :class:`~groundplan.platform.access_constructs.ApiCheck`, and its namespace.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: PassThroughChartProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        self.release = Release(
            scope,
            id_,
            name=props.release,
            namespace=props.namespace,
            chart=props.chart,
            atomic=props.wait,
            wait=props.wait,
            timeout=600,
            max_history=5,
            depends_on=list(depends_on) or None,
        )
        """The cdktf resource."""
        folder = _give_values(self.release, {"manifests": dict(props.manifests)})
        if props.chart == CHART:
            write_chart(folder)


@dataclass(frozen=True, kw_only=True, config=PROPS)
class GibInstallerProps:
    """The gIB NCCL plugin on GPU nodes with RDMA NICs."""

    release: ReleaseName
    """Name of the Helm release, at most 53 characters."""
    image: Text
    """Whole reference of the nccl-plugin-gib image."""
    name: KubernetesName = gib.NAME
    """Name of the DaemonSet. Default: nccl-rdma-installer."""
    accelerators: Annotated[Several[Text], Field(min_length=1)]
    """GKE's names of the accelerators whose nodes get it, such as ``nvidia-b200``."""
    chart: Text = CHART
    """Folder of the pass-through chart. Default: `chart` beside the stack, which is written too."""


class GibInstaller(PassThroughChart):
    """A DaemonSet that installs gIB: ``helm_release.<id>``."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: GibInstallerProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        manifests = {"daemonset": gib.daemon_set(props.image, props.accelerators, props.name)}
        chart = PassThroughChartProps(
            release=props.release,
            namespace=gib.NAMESPACE,
            manifests=manifests,
            # Helm would wait while the DaemonSet rolls over all nodes, one at a time, and one broken node would roll
            # all of them back, under a training. The price: a first install that fails has to be uninstalled by hand
            # (the run-book's "When an apply fails"); it fails only when the API refuses the DaemonSet itself.
            wait=False,
            chart=props.chart,
        )
        super().__init__(scope, id_, chart, depends_on=depends_on)


@dataclass(frozen=True, kw_only=True, config=PROPS)
class OperatorProps:
    """An operator by its own Helm chart."""

    name: ReleaseName
    """Name of the release, at most 53 characters."""
    namespace: KubernetesName
    """Namespace, made when it is not there."""
    repository: Annotated[str, Matching(r"(?:https|oci)://\S+", "an address that begins with https:// or oci://")]
    """Address of the chart's repository (https:// or oci://)."""
    chart: Text
    """Name of the chart."""
    version: Text
    """Release of the chart, without a leading v."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The chart's values. Default: its own."""
    timeout: Annotated[int, Field(ge=1)] = 900
    """Seconds until it must be ready. Default: 900."""


class Operator(Part):
    """An operator such as KubeRay's or Kueue: ``helm_release.<id>``, its values from ``manifests/<id>.yaml``.

    It waits for `depends_on`, such as an :class:`~groundplan.platform.access_constructs.ApiCheck`.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: OperatorProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        self.release = Release(
            scope,
            id_,
            name=props.name,
            namespace=props.namespace,
            create_namespace=True,
            repository=props.repository,
            chart=props.chart,
            version=props.version,
            atomic=True,
            wait=True,
            timeout=props.timeout,
            max_history=5,
            depends_on=list(depends_on) or None,
        )
        """The cdktf resource."""
        if props.values:
            _give_values(self.release, dict(props.values))


def _give_values(release: Release, values: dict[str, Any]) -> Path:
    """From a file named as the resource's address, which is its stack's own, wherever the construct stands in it.

    The stack's folder, for what else is to stand there.
    """
    folder = stack_folder(release)
    release.values = [write_values(folder, release.friendly_unique_id, to_yaml(values))]
    return folder
