"""The networks of the GPU nodes' additional NICs as constructs, for a site and for any other cdktf program.

The resources stand in the scope that a construct is given, under addresses that start with its id, and not below it: so
``google_compute_network.rdma`` is what state and reviewers see, whoever made it. Each is a public attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_google.compute_firewall import ComputeFirewall, ComputeFirewallAllow
from cdktf_cdktf_provider_google.compute_network import ComputeNetwork
from cdktf_cdktf_provider_google.compute_subnetwork import ComputeSubnetwork
from constructs import Construct
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from groundplan.kernel.constructs import Part
from groundplan.kernel.fields import Cidr
from groundplan.kernel.gke import JUMBO_MTU
from groundplan.kernel.props import PROPS, ResourceName, Several, Text, Zone
from groundplan.kernel.roce import ROCE_PROFILE
from groundplan.network.constructs import empty_vpc

Mtu = Annotated[int, Field(ge=1300, le=JUMBO_MTU)]


@dataclass(frozen=True, config=PROPS)
class AttachedNetworks:
    """Networks for the additional NICs of nodes, in the order of the NICs."""

    pairs: Several[tuple[Text, Text]]
    """Network and subnetwork of each NIC: names, or references to resources of the same stack."""
    replaced_with: Several[Text] = ()
    """What a pool must be rebuilt with: it refers to names, which stay the same when a network is replaced. Default:
    nothing, as for networks that are there already."""

    @property
    def attached(self) -> AttachedNetworks:
        """Itself, so that what ``existing`` gives can stand in the place of a network that is made here."""
        return self

    def first(self, count: int) -> AttachedNetworks:
        """Those of a machine with no more NICs than `count`."""
        return self if count >= len(self.pairs) else AttachedNetworks(self.pairs[:count], self.replaced_with)


def _attached(network: str, subnetworks: Sequence[str], by_path: bool) -> AttachedNetworks:
    """By construct ids. The references are written out: each attribute of a cdktf resource is a round trip to Node."""
    attribute = "id" if by_path else "name"
    vpc = f"${{google_compute_network.{network}.{attribute}}}"
    return AttachedNetworks(
        tuple((vpc, f"${{google_compute_subnetwork.{subnetwork}.{attribute}}}") for subnetwork in subnetworks),
        (f"google_compute_network.{network}.id", *(f"google_compute_subnetwork.{id_}.id" for id_ in subnetworks)),
    )


@dataclass(frozen=True, kw_only=True, config=PROPS)
class GvnicNetworkProps:
    """The network of the second, ordinary NIC of each GPU node."""

    project: Text
    """Project that it is made in."""
    region: Text
    """Region of its subnetwork: the cluster's."""
    network: ResourceName
    """Name of the network."""
    subnetwork: ResourceName
    """Name of the subnetwork."""
    firewall: ResourceName
    """Name of the rule that admits its nodes to one another."""
    cidr: Cidr
    """Range of the subnetwork: one address a GPU node."""
    mtu: Mtu = JUMBO_MTU
    """MTU in bytes, 1300 to 8896. Default: 8896."""
    description: str = "second NIC of the GPU nodes"
    """Description of the network. Default: what it is for."""
    by_path: bool = False
    """Whether pools name it by its full name, as they must when it is another project's. Default: no."""


class GvnicNetwork(Part):
    """A VPC with one subnetwork, in which the nodes admit one another: ``google_compute_network.<id>``,
    ``google_compute_subnetwork.<id>-subnetwork``, ``google_compute_firewall.<id>-internal``."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: GvnicNetworkProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        self.network = empty_vpc(
            scope,
            id_,
            name=props.network,
            project=props.project,
            description=props.description,
            mtu=props.mtu,
            depends_on=list(depends_on) or None,
        )
        subnetwork_id = f"{id_}-subnetwork"
        self.subnetwork = _subnetwork(scope, subnetwork_id, props.subnetwork, self.network, str(props.cidr), props)
        self.firewall = ComputeFirewall(
            scope,
            f"{id_}-internal",
            name=props.firewall,
            project=props.project,
            network=self.network.name,
            description="GPU nodes to one another",
            direction="INGRESS",
            priority=1000,
            source_ranges=[str(props.cidr)],
            allow=[
                ComputeFirewallAllow(protocol="tcp", ports=["0-65535"]),
                ComputeFirewallAllow(protocol="udp", ports=["0-65535"]),
                ComputeFirewallAllow(protocol="icmp"),
            ],
        )
        self.attached = _attached(id_, [subnetwork_id], props.by_path)

    @staticmethod
    def existing(*, network: str, subnetwork: str) -> AttachedNetworks:
        """A network that is there already, by names or full names; nothing is made."""
        return AttachedNetworks(((network, subnetwork),))


@dataclass(frozen=True, kw_only=True, config=PROPS)
class RoceFabricProps:
    """The RoCE network of A3 Ultra and A4: one subnetwork for each RDMA NIC of a node."""

    project: Text
    """Project that it is made in."""
    region: Text
    """Region of the subnetworks: the cluster's."""
    zone: Zone
    """Zone of the nodes; the network's profile belongs to it."""
    network: ResourceName
    """Name of the network."""
    cidrs: Annotated[Several[Cidr], Field(min_length=1)]
    """Ranges of the subnetworks in the order of the NICs: one address a GPU node in each."""
    subnetworks: Several[ResourceName] = ()
    """Names of the subnetworks, one for each range. Default: <network>-sub-0 and so on."""
    network_profile: str = ""
    """Network profile; create-time only. Default: <zone>-vpc-roce."""
    mtu: Mtu = JUMBO_MTU
    """MTU in bytes, 1300 to 8896; RoCE wants 8896. Default: 8896."""
    description: str = "GPUDirect RDMA (RoCE)"
    """Description of the network. Default: what it is for."""
    by_path: bool = False
    """Whether pools name it by its full name, as they must when it is another project's. Default: no."""

    @model_validator(mode="after")
    def _one_name_each(self) -> RoceFabricProps:
        if self.subnetworks and len(self.subnetworks) != len(self.cidrs):
            raise ValueError(
                f"subnetworks: {len(self.subnetworks)} names for {len(self.cidrs)} ranges of cidrs; give one for each"
            )
        return self


class RoceFabric(Part):
    """The RoCE VPC and its subnetworks: ``google_compute_network.<id>``,
    ``google_compute_subnetwork.<id>-subnetwork-0`` and so on. No firewall rule: its network profile refuses them."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: RoceFabricProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        names = props.subnetworks or tuple(f"{props.network}-sub-{n}" for n in range(len(props.cidrs)))
        profile = props.network_profile or props.zone + ROCE_PROFILE
        self.network = empty_vpc(
            scope,
            id_,
            name=props.network,
            project=props.project,
            description=props.description,
            mtu=props.mtu,
            # This form alone: a partial link shows as a diff for ever (provider before 6.39).
            network_profile=f"projects/{props.project}/global/networkProfiles/{profile}",
            depends_on=list(depends_on) or None,
        )
        ids = [f"{id_}-subnetwork-{n}" for n in range(len(names))]
        self.subnetworks = [
            _subnetwork(scope, subnetwork_id, name, self.network, str(cidr), props)
            for subnetwork_id, name, cidr in zip(ids, names, props.cidrs, strict=True)
        ]
        self.attached = _attached(id_, ids, props.by_path)

    @staticmethod
    def existing(*, network: str, subnetworks: Sequence[str]) -> AttachedNetworks:
        """A RoCE network that is there already, its subnetworks in the order of the NICs; nothing is made."""
        return AttachedNetworks(tuple((network, subnetwork) for subnetwork in subnetworks))


def _subnetwork(
    scope: Construct,
    id_: str,
    name: str,
    network: ComputeNetwork,
    cidr: str,
    props: GvnicNetworkProps | RoceFabricProps,
) -> ComputeSubnetwork:
    return ComputeSubnetwork(
        scope,
        id_,
        name=name,
        project=props.project,
        region=props.region,
        network=network.id,
        ip_cidr_range=cidr,
        stack_type="IPV4_ONLY",
    )
