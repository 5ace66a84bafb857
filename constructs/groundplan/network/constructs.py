"""The primary network as constructs, for a site and for any other cdktf program.

The resources stand in the scope that a construct is given, under addresses that start with its id, and not below it, so
that state and reviewers see short ones. Each is a public attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Any, Self

from cdktf_cdktf_provider_google.compute_firewall import ComputeFirewall, ComputeFirewallAllow
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
from groundplan.kernel.fields import Address, Cidr, ResourceName
from groundplan.kernel.gke import JUMBO_MTU
from groundplan.kernel.props import PROPS
from groundplan.network.spec import FirewallRule


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

    project: str
    """Project that it is made in."""
    region: str
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
    """Name of the secondary range of the pods."""
    services_range: ResourceName = "services"
    """Name of the secondary range of the services."""
    mtu: Annotated[int, Field(ge=1300, le=JUMBO_MTU)] = JUMBO_MTU
    """MTU in bytes. Default: 8896."""
    flow_logs: bool = False
    """VPC flow logs of the subnetwork (charged by volume)."""
    nat: bool = True
    """Cloud Router and NAT for nodes and pods, which have no public addresses."""
    nat_min_ports_per_vm: Annotated[int, Field(ge=64, le=64512)] = 1024
    """Ports that each node may hold open at once."""
    nat_logging: bool = True
    """Log dropped connections (ERRORS_ONLY)."""
    description: str = "GKE nodes, pods and Managed Lustre"
    """Description of the network."""
    depends_on: tuple[Any, ...] = ()
    """What must be there first, such as the project's services."""


class PrimaryNetwork(Part):
    """A VPC-native network: nodes, pods and services, NAT for the way out."""

    def __init__(self, scope: Construct, id_: str, props: PrimaryNetworkProps) -> None:
        super().__init__(scope, id_)
        self.network = empty_vpc(
            scope,
            id_,
            name=props.network,
            project=props.project,
            description=props.description,
            mtu=props.mtu,
            depends_on=list(props.depends_on) or None,
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
        if props.nat:
            self._nat(scope, "" if id_ == "primary" else f"{id_}-", props)

    def _nat(self, scope: Construct, prefix: str, props: PrimaryNetworkProps) -> None:
        self.router = ComputeRouter(
            scope,
            f"{prefix}router",
            name=f"{props.network}-router",
            project=props.project,
            region=props.region,
            network=self.network.id,
        )
        self.nat = ComputeRouterNat(
            scope,
            f"{prefix}nat",
            name=f"{props.network}-nat",
            project=props.project,
            region=props.region,
            router=self.router.name,
            type="PUBLIC",
            nat_ip_allocate_option="AUTO_ONLY",
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

    project: str
    """Project of the network: the host project of a Shared VPC."""
    network: str
    """The network, by its id or its full name (``projects/P/global/networks/N``)."""
    name: ResourceName
    """Name of the reserved range."""
    address: Address
    """First address of the range."""
    prefix_length: Annotated[int, Field(ge=8, le=29)] = 20
    """Prefix length of the range."""
    labels: dict[str, str] = field(default_factory=dict)
    """Labels of the range."""
    abandon: bool = False
    """Leave the peering behind on destroy: Google keeps its side for hours after the last instance is gone, and a
    delete then fails."""
    depends_on: tuple[Any, ...] = ()
    """What must be there first, such as the project's services."""


class PrivateServiceAccess(Part):
    """The range and the connection."""

    def __init__(self, scope: Construct, id_: str, props: PrivateServiceAccessProps) -> None:
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
            depends_on=list(props.depends_on) or None,
        )
        self.connection = ServiceNetworkingConnection(
            scope,
            f"{id_}-connection",
            network=props.network,
            service="servicenetworking.googleapis.com",
            reserved_peering_ranges=[self.address.name],
            deletion_policy="ABANDON" if props.abandon else None,
        )


@dataclass(frozen=True, kw_only=True, config=PROPS)
class AllowedPorts:
    """One protocol and its ports, as text: "443", "8000-8080"; none for protocols without ports."""

    protocol: str
    ports: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, config=PROPS)
class IngressRuleProps:
    """Who may come in."""

    name: ResourceName
    """Name of the rule."""
    project: str
    """Project of the network."""
    network: str
    """The network, by name or full name."""
    source_ranges: Annotated[tuple[Cidr, ...], Field(min_length=1)]
    """Ranges that are admitted."""
    allow: Annotated[tuple[AllowedPorts, ...], Field(min_length=1)]
    """Protocols and ports that are admitted."""
    description: str = ""
    """Description of the rule."""

    @classmethod
    def of(cls, rule: FirewallRule, *, project: str, network: str) -> Self:
        """A rule of a profile's own."""
        return cls(
            name=rule.name,
            project=project,
            network=network,
            source_ranges=tuple(rule.source_ranges),
            allow=tuple(AllowedPorts(protocol=each.protocol, ports=tuple(each.ports)) for each in rule.allow),
        )


class IngressRule(Part):
    """A firewall rule that admits named ranges to named ports."""

    def __init__(self, scope: Construct, id_: str, props: IngressRuleProps) -> None:
        super().__init__(scope, id_)
        self.firewall = ComputeFirewall(
            scope,
            id_,
            name=props.name,
            project=props.project,
            network=props.network,
            description=props.description or None,
            direction="INGRESS",
            priority=1000,
            source_ranges=_texts(props.source_ranges),
            allow=[
                ComputeFirewallAllow(protocol=each.protocol, ports=list(each.ports) or None) for each in props.allow
            ],
        )


def _texts(values: Sequence[object]) -> list[str]:
    return [str(value) for value in values]
