"""The primary network as constructs, for a site and for any other cdktf program.

The resources stand in the scope that a construct is given, under addresses that start with its id, and not below it, so
that state and reviewers see short ones. Each is a public attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Any

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_google.compute_address import ComputeAddress
from cdktf_cdktf_provider_google.compute_global_address import ComputeGlobalAddress
from cdktf_cdktf_provider_google.compute_network import ComputeNetwork
from cdktf_cdktf_provider_google.compute_router import ComputeRouter
from cdktf_cdktf_provider_google.compute_router_nat import (
    ComputeRouterNat,
    ComputeRouterNatLogConfig,
    ComputeRouterNatSubnetwork,
)
from cdktf_cdktf_provider_google.compute_subnetwork import (
    ComputeSubnetwork,
    ComputeSubnetworkLogConfig,
    ComputeSubnetworkSecondaryIpRange,
)
from cdktf_cdktf_provider_google.service_networking_connection import ServiceNetworkingConnection
from constructs import Construct
from pydantic import Field
from pydantic.dataclasses import dataclass

from groundplan.kernel.constructs import Part
from groundplan.kernel.fields import Address, Cidr
from groundplan.kernel.gke import JUMBO_MTU
from groundplan.kernel.props import PROPS, Labels, ResourceName, Text


def empty_vpc(
    scope: Construct, id_: str, *, name: str, project: str, description: str, mtu: int, **more: Any
) -> ComputeNetwork:
    """A VPC without the subnetworks that Google would make in every region; `more` are further arguments."""
    return ComputeNetwork(
        scope,
        id_,
        name=name,
        project=project,
        description=description,
        auto_create_subnetworks=False,
        delete_default_routes_on_create=False,
        routing_mode="REGIONAL",
        mtu=mtu,
        **more,
    )


@dataclass(frozen=True, kw_only=True, config=PROPS)
class PrimaryNetworkProps:
    """The VPC of a cluster's nodes, its subnetwork, and the way out."""

    project: Text
    """Project that it is made in."""
    region: Text
    """Region of the subnetwork."""
    network: ResourceName
    """Name of the network."""
    subnetwork: ResourceName
    """Name of the subnetwork."""
    nodes: Cidr
    """Primary range: one address a node."""
    pods: Cidr
    """Secondary range of the pods."""
    services: Cidr
    """Secondary range of the services."""
    pods_range: ResourceName = "pods"
    """Name of the secondary range of the pods. Default: pods."""
    services_range: ResourceName = "services"
    """Name of the secondary range of the services. Default: services."""
    mtu: Annotated[int, Field(ge=1300, le=JUMBO_MTU)] = JUMBO_MTU
    """MTU in bytes, 1300 to 8896. Default: 8896."""
    flow_logs: bool = False
    """VPC flow logs of the subnetwork (charged by volume). Default: no."""
    nat: bool = True
    """Cloud Router and NAT for nodes and pods, which have no public addresses. Default: yes."""
    nat_min_ports_per_vm: Annotated[int, Field(ge=64, le=64512)] = 1024
    """Ports that each node may hold open at once, 64 to 64512. Default: 1024."""
    nat_addresses: Annotated[int, Field(ge=0, le=300)] = 0
    """Fixed addresses to reserve for NAT, 0 to 300. Default: 0, Google takes and adds as it needs."""
    nat_logging: bool = True
    """Log dropped connections (ERRORS_ONLY). Default: yes."""
    description: str = "GKE nodes, pods and Managed Lustre"
    """Description of the network. Default: what stands on it."""


@dataclass(frozen=True, kw_only=True, config=PROPS)
class ExistingNetwork:
    """A network that is there already, with a subnetwork for nodes, by what others refer to it with."""

    network_path: Text
    """Its full name: ``projects/P/global/networks/N``."""
    subnetwork_path: Text
    """Full name of the subnetwork: ``projects/P/regions/R/subnetworks/S``."""
    pods_range: ResourceName
    """Name of the secondary range of the pods."""
    services_range: ResourceName
    """Name of the secondary range of the services."""


class PrimaryNetwork(Part):
    """A VPC-native network: nodes, pods and services, NAT for the way out.

    ``google_compute_network.<id>``; the others are ``<id>-nodes``, ``<id>-router``, ``<id>-nat`` and
    ``<id>-nat-address-<n>``, without `<id>-` in the one that is called ``primary``. `depends_on` is what must be there
    first, such as the project's services.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: PrimaryNetworkProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        self.props = props
        self.network = empty_vpc(
            scope,
            id_,
            name=props.network,
            project=props.project,
            description=props.description,
            mtu=props.mtu,
            depends_on=list(depends_on) or None,
        )
        logs = None
        if props.flow_logs:
            logs = ComputeSubnetworkLogConfig(
                aggregation_interval="INTERVAL_5_SEC", flow_sampling=0.5, metadata="INCLUDE_ALL_METADATA"
            )
        self.subnetwork = ComputeSubnetwork(
            scope,
            "nodes" if id_ == "primary" else f"{id_}-nodes",
            name=props.subnetwork,
            project=props.project,
            region=props.region,
            network=self.network.id,
            ip_cidr_range=str(props.nodes),
            private_ip_google_access=True,
            stack_type="IPV4_ONLY",
            secondary_ip_range=[
                ComputeSubnetworkSecondaryIpRange(range_name=props.pods_range, ip_cidr_range=str(props.pods)),
                ComputeSubnetworkSecondaryIpRange(range_name=props.services_range, ip_cidr_range=str(props.services)),
            ],
            log_config=logs,
        )
        self.router: ComputeRouter | None = None
        self.nat: ComputeRouterNat | None = None
        self.nat_addresses: list[ComputeAddress] = []
        if props.nat:
            self._nat(scope, "" if id_ == "primary" else f"{id_}-", props)

    @property
    def network_path(self) -> str:
        """Full name of the network, as a reference: what uses it in the same stack waits for it."""
        return self.network.id

    @property
    def subnetwork_path(self) -> str:
        """Full name of the subnetwork, as a reference."""
        return self.subnetwork.id

    @property
    def pods_range(self) -> str:
        """Name of the secondary range of the pods."""
        return self.props.pods_range

    @property
    def services_range(self) -> str:
        """Name of the secondary range of the services."""
        return self.props.services_range

    @staticmethod
    def existing(
        *, network_path: str, subnetwork_path: str, pods_range: str = "pods", services_range: str = "services"
    ) -> ExistingNetwork:
        """A network that is there already; nothing is made."""
        return ExistingNetwork(
            network_path=network_path,
            subnetwork_path=subnetwork_path,
            pods_range=pods_range,
            services_range=services_range,
        )

    def _nat(self, scope: Construct, prefix: str, props: PrimaryNetworkProps) -> None:
        self.router = ComputeRouter(
            scope,
            f"{prefix}router",
            name=f"{props.network}-router",
            project=props.project,
            region=props.region,
            network=self.network.id,
        )
        self.nat_addresses = [
            ComputeAddress(
                scope,
                f"{prefix}nat-address-{number}",
                name=f"{props.network}-nat-{number}",
                project=props.project,
                region=props.region,
                address_type="EXTERNAL",
            )
            for number in range(props.nat_addresses)
        ]
        self.nat = ComputeRouterNat(
            scope,
            f"{prefix}nat",
            name=f"{props.network}-nat",
            project=props.project,
            region=props.region,
            router=self.router.name,
            type="PUBLIC",
            nat_ip_allocate_option="MANUAL_ONLY" if self.nat_addresses else "AUTO_ONLY",
            nat_ips=[address.self_link for address in self.nat_addresses] or None,
            source_subnetwork_ip_ranges_to_nat="LIST_OF_SUBNETWORKS",
            # All ranges: pods, in the secondary one, pull models and data sets.
            subnetwork=[ComputeRouterNatSubnetwork(name=self.subnetwork.id, source_ip_ranges_to_nat=["ALL_IP_RANGES"])],
            min_ports_per_vm=props.nat_min_ports_per_vm,
            enable_dynamic_port_allocation=False,
            enable_endpoint_independent_mapping=False,
            log_config=ComputeRouterNatLogConfig(enable=True, filter="ERRORS_ONLY") if props.nat_logging else None,
        )


@dataclass(frozen=True, kw_only=True, config=PROPS)
class PrivateServiceAccessProps:
    """A reserved range in which Google places its own servers, such as Managed Lustre's, and the peering to it."""

    project: Text
    """Project of the network: the host project of a Shared VPC."""
    network: Text
    """The network, by its id or its full name (``projects/P/global/networks/N``)."""
    name: ResourceName
    """Name of the reserved range."""
    address: Address
    """First address of the range."""
    prefix_length: Annotated[int, Field(ge=8, le=29)] = 20
    """Prefix length of the range, 8 to 29. Default: 20."""
    labels: Labels = field(default_factory=dict)
    """Labels of the range. Default: none."""
    abandon: bool = False
    """Leave the peering behind on destroy: Google keeps its side for hours after the last instance is gone, and a
    delete then fails. Default: no."""


@dataclass(frozen=True, kw_only=True, config=PROPS)
class ExistingAccess:
    """Private service access that is there already."""

    @property
    def ready(self) -> Sequence[ITerraformDependable]:
        """None: there is nothing to wait for."""
        return ()


class PrivateServiceAccess(Part):
    """The range and the connection: ``google_compute_global_address.<id>-access``,
    ``google_service_networking_connection.<id>-connection``.

    `depends_on` is what must be there first, such as the project's services.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: PrivateServiceAccessProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        self.address = ComputeGlobalAddress(
            scope,
            f"{id_}-access",
            name=props.name,
            project=props.project,
            network=props.network,
            purpose="VPC_PEERING",
            address_type="INTERNAL",
            address=str(props.address),
            prefix_length=props.prefix_length,
            labels=dict(props.labels),
            depends_on=list(depends_on) or None,
        )
        self.connection = ServiceNetworkingConnection(
            scope,
            f"{id_}-connection",
            network=props.network,
            service="servicenetworking.googleapis.com",
            reserved_peering_ranges=[self.address.name],
            deletion_policy="ABANDON" if props.abandon else None,
        )

    @property
    def ready(self) -> Sequence[ITerraformDependable]:
        """What Managed Lustre must wait for."""
        return (self.connection,)

    @staticmethod
    def existing() -> ExistingAccess:
        """The network has it already; nothing is made."""
        return ExistingAccess()
