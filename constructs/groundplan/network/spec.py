"""The ``network`` section: the primary VPC, private service access, extra firewall rules, neighbours."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Literal

from pydantic import Field

from groundplan.kernel.fields import Address, Cidr, ProjectId, ResourceName, Section
from groundplan.kernel.gke import JUMBO_MTU


class ExistingPrimary(Section):
    """A VPC that is there already (Shared VPC included): nothing of it is created, its names and ranges are used."""

    project: ProjectId | None = None
    """Host project of a Shared VPC; the GPU nodes' networks stand in it too. Default: the site's own project."""
    host_stack: bool = False
    """Write a stack `<site>-host` for the owner of the host project to apply first: APIs, the GPU nodes' networks,
    private service access and firewall rules in the host project, and the roles of the site's project on it. Off: the
    run-book has commands for the roles, and the site's own stacks make these networks in the host project."""
    network: ResourceName
    """Name of the VPC network."""
    subnetwork: ResourceName
    """Name of the subnetwork of the cluster's nodes, in the site's region."""
    pods_range: ResourceName = "pods"
    """Name of the subnetwork's secondary range for pods."""
    services_range: ResourceName = "services"
    """Name of the subnetwork's secondary range for services."""


class Nat(Section):
    """Cloud NAT of the private nodes: image pulls and model downloads go out through it."""

    enabled: bool = True
    """Create a Cloud Router and NAT in the primary VPC. Off: the site needs another way out, or mirrors."""
    min_ports_per_vm: Annotated[int, Field(ge=64, le=64512)] = 1024
    """Ports that each node may hold open at once, of the 64512 of a NAT address; downloads need more than NAT's 64."""
    addresses: Annotated[int, Field(ge=0, le=300)] = 0
    """Fixed addresses to reserve for the way out, for allow-lists elsewhere. 0: Google takes and adds as it needs."""
    logging: bool = True
    """Log dropped connections (ERRORS_ONLY)."""


class PrimaryNetwork(Section):
    """The VPC that GKE and Managed Lustre share."""

    name: ResourceName | None = None
    """Name of the VPC to create. Default: <site>-net."""
    subnetwork: ResourceName | None = None
    """Name of the subnetwork to create. Default: <site>-nodes."""
    existing: ExistingPrimary | None = None
    """Use this VPC instead of creating one."""
    nodes: Cidr = IPv4Network("10.0.0.0/20")
    """Primary range of the subnetwork: one address a node. With `existing`, the range it has."""
    pods: Cidr = IPv4Network("10.4.0.0/14")
    """Secondary range `pods`: each node takes a block of twice its pods, rounded up to a power of two."""
    services: Cidr = IPv4Network("10.8.0.0/20")
    """Secondary range `services`: one address a Kubernetes service."""
    mtu: Annotated[int, Field(ge=1300, le=JUMBO_MTU)] = JUMBO_MTU
    """MTU in bytes. 8896 gives Lustre up to a tenth more throughput."""
    flow_logs: bool = False
    """VPC flow logs of the subnetwork (charged by volume)."""
    nat: Nat = Nat()
    """Cloud NAT."""


class PrivateServiceAccess(Section):
    """The peered range in which Google places the Lustre servers."""

    name: ResourceName | None = None
    """Name of the reserved range. Default: <lustre name>-range."""
    create: bool | None = None
    """Reserve the range and make the connection. Default: yes, unless the primary VPC exists already."""
    address: Address = Field(default="10.9.0.0", validate_default=True)
    """First address of the range; fixed, so that overlaps can be ruled out before anything exists."""
    prefix_length: Annotated[int, Field(ge=8, le=29)] = 20
    """Prefix length of the range: /20 as in the tutorial; Lustre needs a /23 of its own."""


class FirewallPorts(Section):
    """One protocol and its ports."""

    protocol: Literal["tcp", "udp", "icmp", "esp", "ah", "sctp"]
    """IP protocol."""
    ports: list[Annotated[str, Field(pattern=r"^[0-9]{1,5}(-[0-9]{1,5})?$")]] = []
    """Ports and port ranges, as text: "443", "8000-8080". Needed for tcp, udp and sctp."""


class FirewallRule(Section):
    """An ingress rule of your own."""

    name: ResourceName
    """Name of the rule."""
    network: Literal["primary", "gvnic", "rdma"] = "primary"
    """Network it stands in. The RDMA network's profile refuses firewall rules."""
    source_ranges: Annotated[list[Cidr], Field(min_length=1)]
    """Ranges it admits."""
    allow: Annotated[list[FirewallPorts], Field(min_length=1)]
    """Protocols and ports it admits."""


class Peer(Section):
    """A network that can ever meet this one: peered, over VPN or Interconnect, or another site's."""

    name: str
    """A name for messages."""
    ranges: Annotated[list[Cidr], Field(min_length=1)]
    """Its address ranges."""


class NetworkSpec(Section):
    """The primary VPC and what belongs to it."""

    primary: PrimaryNetwork = PrimaryNetwork()
    """The VPC of cluster and storage."""
    private_service_access: PrivateServiceAccess = PrivateServiceAccess()
    """The range of the Lustre servers."""
    firewall_rules: list[FirewallRule] = []
    """Ingress rules beside the ones groundplan makes."""
    peers: list[Peer] = []
    """Networks whose ranges must stay free."""
