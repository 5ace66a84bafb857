"""A pool of CPU nodes of a GKE cluster, for any cdktf program."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Self

from cdktf import TerraformResourceLifecycle
from cdktf_cdktf_provider_google import container_node_pool as pool
from constructs import Construct
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from groundplan.kernel.constructs import Part
from groundplan.kernel.gke import NODE_SCOPES
from groundplan.kernel.props import PROPS, ClusterName, Labels, Several, Text, Zone


@dataclass(frozen=True, kw_only=True, config=PROPS)
class CpuPoolProps:
    """An autoscaled pool for the Ray head, operators and system pods."""

    name: ClusterName
    """Name of the pool, at most 40 characters."""
    project: Text
    """Project of the cluster."""
    cluster: Text
    """Name of the cluster."""
    location: Text
    """Region of the cluster."""
    zone: Zone
    """Zone of the nodes."""
    nodes_account: Text
    """E-mail address of the nodes' service account."""
    machine_type: Text = "n2-highmem-16"
    """Machine type. Default: n2-highmem-16."""
    min_nodes: Annotated[int, Field(ge=0)] = 1
    """Fewest nodes. Default: 1."""
    max_nodes: Annotated[int, Field(ge=1)] = 5
    """Most nodes. Default: 5."""
    disk_gib: Annotated[int, Field(ge=50, le=65536)] = 200
    """Boot disk in GiB, 50 to 65536. Default: 200."""
    disk_type: Text = "pd-balanced"
    """Boot disk type, one that the machine type takes. Default: pd-balanced."""
    secure_boot: bool = False
    """Secure Boot. Default: no; on a CPU machine it stops the Lustre kernel module from loading."""
    max_pods_per_node: Annotated[int, Field(ge=8, le=256)] = 110
    """Most pods on a node, 8 to 256. Default: 110."""
    labels: Labels = field(default_factory=dict)
    """Labels of the machines. Default: none."""
    replaced_with: Several[str] = ()
    """Addresses whose change replaces the pool, such as `replaced_with` of the cluster: pools go with their cluster,
    and only this puts both into one plan. Default: none."""

    @model_validator(mode="after")
    def _most_is_not_below_least(self) -> Self:
        if self.max_nodes < self.min_nodes:
            raise ValueError(f"max_nodes: {self.max_nodes} is not at least min_nodes ({self.min_nodes})")
        return self


class CpuPool(Part):
    """A pool of CPU nodes: ``google_container_node_pool.<id>``."""

    def __init__(self, scope: Construct, id_: str, props: CpuPoolProps) -> None:
        super().__init__(scope, id_)
        self.pool = pool.ContainerNodePool(
            scope,
            id_,
            name=props.name,
            project=props.project,
            cluster=props.cluster,
            location=props.location,
            node_locations=[props.zone],
            initial_node_count=props.min_nodes,
            autoscaling=pool.ContainerNodePoolAutoscaling(
                min_node_count=props.min_nodes, max_node_count=props.max_nodes, location_policy="BALANCED"
            ),
            max_pods_per_node=props.max_pods_per_node,
            network_config=pool.ContainerNodePoolNetworkConfig(enable_private_nodes=True),
            management=pool.ContainerNodePoolManagement(auto_repair=True, auto_upgrade=True),
            upgrade_settings=pool.ContainerNodePoolUpgradeSettings(strategy="SURGE", max_surge=1, max_unavailable=0),
            node_config=pool.ContainerNodePoolNodeConfig(
                machine_type=props.machine_type,
                image_type="COS_CONTAINERD",
                disk_size_gb=props.disk_gib,
                disk_type=props.disk_type,
                service_account=props.nodes_account,
                oauth_scopes=NODE_SCOPES,
                gvnic=pool.ContainerNodePoolNodeConfigGvnic(enabled=True),
                shielded_instance_config=pool.ContainerNodePoolNodeConfigShieldedInstanceConfig(
                    enable_secure_boot=props.secure_boot, enable_integrity_monitoring=True
                ),
                workload_metadata_config=pool.ContainerNodePoolNodeConfigWorkloadMetadataConfig(mode="GKE_METADATA"),
                metadata={"disable-legacy-endpoints": "true"},
                resource_labels=dict(props.labels) or None,
            ),
            # The autoscaler moves the count, and a count that moved would rebuild the pool
            # (terraform-provider-google#6901).
            lifecycle=TerraformResourceLifecycle(
                ignore_changes=["initial_node_count"], replace_triggered_by=list(props.replaced_with) or None
            ),
            timeouts=pool.ContainerNodePoolTimeouts(create="60m", update="60m", delete="60m"),
        )
        """The cdktf resource."""
