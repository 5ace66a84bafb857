"""What the network section comes to: names and ranges, defaults filled in."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network

from groundplan.network.spec import NetworkSpec


@dataclass(frozen=True)
class NetworkValues:
    """The primary VPC and private service access. `project` is the Shared VPC host where there is one."""

    project: str
    is_shared: bool
    """Whether it is a Shared VPC: `project` is a host project, not the site's own."""
    host_stack: bool
    vpc: str
    subnetwork: str
    pods_range: str
    services_range: str
    exists: bool
    nodes: IPv4Network
    pods: IPv4Network
    services: IPv4Network
    mtu: int
    access_name: str
    access_created: bool
    access_address: IPv4Address
    access_prefix: int

    @property
    def vpc_path(self) -> str:
        """Canonical name of the VPC: other forms show as a diff for ever."""
        return f"projects/{self.project}/global/networks/{self.vpc}"

    def subnetwork_path(self, region: str) -> str:
        """Canonical name of the subnetwork."""
        return f"projects/{self.project}/regions/{region}/subnetworks/{self.subnetwork}"

    @property
    def access_range(self) -> IPv4Network:
        """The range of the Lustre servers; a first address inside the block is rounded down (a rule refuses it)."""
        return IPv4Network((int(self.access_address), self.access_prefix), strict=False)


def network_values(
    spec: NetworkSpec, *, site: str, project: str, lustre_name: str, lustre: bool = True
) -> NetworkValues:
    """Fill in the names and the existing network's coordinates. `site` is its name; `lustre` says whether it makes an
    instance, for which private service access is."""
    primary, access = spec.primary, spec.private_service_access
    existing = primary.existing
    host = (existing.project if existing else None) or project
    return NetworkValues(
        project=host,
        is_shared=host != project,
        host_stack=existing is not None and existing.host_stack and host != project,
        vpc=existing.network if existing else primary.name or f"{site}-net",
        subnetwork=existing.subnetwork if existing else primary.subnetwork or f"{site}-nodes",
        pods_range=existing.pods_range if existing else "pods",
        services_range=existing.services_range if existing else "services",
        exists=existing is not None,
        nodes=primary.nodes,
        pods=primary.pods,
        services=primary.services,
        mtu=primary.mtu,
        access_name=access.name or f"{lustre_name}-range",
        access_created=access.create if access.create is not None else lustre and existing is None,
        access_address=access.address,
        access_prefix=access.prefix_length,
    )
