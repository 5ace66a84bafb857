"""The networks of the GPU nodes' additional NICs: what the profile and the machine types come to, zone by zone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import islice
from typing import Literal

from findings import ProfilePath
from groundplan.gpu.spec import GpuSpec, Gvnic, Rdma, ZoneNetworks
from groundplan.gpu.transports import transport_of
from groundplan.gpu.values import PoolValues
from groundplan.kernel.roce import ROCE_PROFILE

#: Where the RDMA ranges of a site begin that says nothing of them; the gVNIC range stands before.
_FIRST_RDMA = IPv4Network("192.168.1.0/24")
#: Prefix length of the ranges that a zone's block is cut into.
PIECE = 24

#: How GKE hands a NIC to a pod.
DeviceMode = Literal["NetDevice", "RDMA"]


@dataclass(frozen=True)
class Nic:
    """One additional network of a GPU node.

    `name` is the Network object inside the cluster (gvnic-1, rdma-0 ...), `interface` the name in the pod. Their order
    is that of the node pool and of the pods' annotation: gVNICs first, then RDMA from 0 on.
    """

    name: str
    interface: str
    vpc: str
    subnetwork: str
    device_mode: DeviceMode


@dataclass(frozen=True)
class NicNetwork:
    """A VPC for additional NICs: one for each gVNIC, or one for all RDMA NICs with a subnetwork for each.

    `id` is that of its construct, `path` its place in the profile; `cidrs` are in the order of `subnetworks`, none for
    an existing network whose ranges the profile does not say. MTU in bytes.
    """

    id: str
    kind: Literal["gvnic", "rdma"]
    name: str
    subnetworks: tuple[str, ...]
    cidrs: tuple[IPv4Network, ...]
    mtu: int
    exists: bool
    path: ProfilePath
    firewall: str = ""
    network_profile: str = ""

    @property
    def title(self) -> str:
        """What people call it."""
        return "gVNIC" if self.kind == "gvnic" else "RDMA"

    @property
    def subnetwork_ids(self) -> tuple[str, ...]:
        """Of the constructs of its subnetworks."""
        if self.kind == "gvnic":
            return (f"{self.id}-subnetwork",)
        return tuple(f"{self.id}-subnetwork-{n}" for n in range(len(self.subnetworks)))

    @property
    def range_paths(self) -> tuple[ProfilePath, ...]:
        """Where the profile says its ranges."""
        if self.path[:2] == ("gpu", "zones"):
            return ((*self.path, "block"),) * len(self.cidrs)
        if self.kind == "gvnic":
            return ((*self.path, "cidr"),) * len(self.cidrs)
        return tuple((*self.path, "cidrs", n) for n in range(len(self.cidrs)))


@dataclass(frozen=True)
class FabricValues:
    """The networks of the additional NICs of one zone, all in `project`, the primary network's: GKE wants them there.

    `suffix` ends the names of the zone's objects in the cluster; the site's own zone has none.
    """

    project: str
    zone: str
    networks: tuple[NicNetwork, ...]
    suffix: str = ""

    def nics(self, gvnics: int, rdma_nics: int) -> tuple[Nic, ...]:
        """The NICs of a machine with so many of each, in order, by short names.

        GKENetworkParamSets take no others, of a Shared VPC neither: GKE looks for them in the project of the cluster's
        network (kubernetes/cloud-provider-gcp, pkg/controller/gkenetworkparamset/gnpcontroller_validations.go).
        """
        found: tuple[tuple[str, NicNetwork, str, DeviceMode], ...]
        found = (*islice(self._gvnics(), gvnics), *islice(self._rdma(), rdma_nics))
        return tuple(
            Nic(f"{name}{self.suffix}", f"eth{n}", network.name, subnetwork, mode)
            for n, (name, network, subnetwork, mode) in enumerate(found, start=1)
        )

    def all_nics(self) -> tuple[Nic, ...]:
        """One for every subnetwork."""
        return self.nics(len(list(self._gvnics())), len(list(self._rdma())))

    def _gvnics(self) -> Iterator[tuple[str, NicNetwork, str, DeviceMode]]:
        gvnics = (network for network in self.networks if network.kind == "gvnic")
        for n, network in enumerate(gvnics, start=1):
            yield f"gvnic-{n}", network, network.subnetworks[0], "NetDevice"

    def _rdma(self) -> Iterator[tuple[str, NicNetwork, str, DeviceMode]]:
        rdma = ((network, name) for network in self.networks if network.kind == "rdma" for name in network.subnetworks)
        for n, (network, subnetwork) in enumerate(rdma):
            yield f"rdma-{n}", network, subnetwork, "RDMA"


def fabrics_of(
    spec: GpuSpec, pools: Sequence[PoolValues], *, site: str, zone: str, project: str
) -> tuple[FabricValues, ...]:
    """The site's own fabrics: one for its zone and one for each further zone of ``gpu.zones``, where pools want one.

    `site` is its name, `zone` its own zone, `project` that of the primary network.
    """
    homes = dict.fromkeys(home_zone(spec, pool, zone) for pool in pools)
    found = []
    for home in homes:
        here = [pool for pool in pools if home_zone(spec, pool, zone) == home]
        gvnics, rdma_nics = (max(pool.own_nics[kind] for pool in here) for kind in (0, 1))
        mtu = min((transport_of(pool.machine).mtu for pool in here if any(pool.own_nics)), default=0)
        further = spec.zones.get(home)
        networks = (
            _further(further, home, site, gvnics, rdma_nics, mtu)
            if further
            else (*_gvnics(spec.gvnic, gvnics, mtu, site), *_rdma(spec.rdma, rdma_nics, home, site, gvnics))
        )
        suffix = f"-{home.rpartition('-')[2]}" if further else ""
        if networks:
            found.append(FabricValues(project, home, tuple(networks), suffix))
    return tuple(found)


def fabric_of(spec: GpuSpec, fabrics: Sequence[FabricValues], pool: PoolValues, zone: str) -> FabricValues | None:
    """The networks that a pool uses; None when it has no NICs that want one. `zone` is the site's."""
    home = home_zone(spec, pool, zone)
    return next((fabric for fabric in fabrics if fabric.zone == home), None) if any(pool.own_nics) else None


def home_zone(spec: GpuSpec, pool: PoolValues, zone: str) -> str:
    """The zone whose networks a pool uses: its own where ``gpu.zones`` has it, else the site's."""
    return pool.zone if pool.zone in spec.zones else zone


def _gvnics(spec: Gvnic, count: int, mtu: int, site: str) -> Iterator[NicNetwork]:
    """The gVNIC networks of the site's zone. The names of a single one have no number."""
    prefix = spec.prefix or f"{site}-gvnic"
    existing = spec.existing or []
    known = not existing or "cidr" in spec.model_fields_set
    for n in range(count):
        number = f"-{n + 1}" if count > 1 else ""
        there = existing[n] if n < len(existing) else None
        path: ProfilePath = ("gpu", "gvnic")
        yield NicNetwork(
            id=f"gvnic{number}",
            kind="gvnic",
            name=there.network if there else f"{prefix}{number}-net",
            subnetworks=(there.subnetwork if there else f"{prefix}{number}-sub",),
            cidrs=(_after(spec.cidr, n),) if known else (),
            mtu=spec.mtu or mtu,
            exists=there is not None,
            path=path,
            firewall=f"{prefix}{number}-internal",
        )


def _rdma(spec: Rdma, count: int, zone: str, site: str, gvnics: int) -> Iterator[NicNetwork]:
    """The RoCE network of the site's zone, where a pool has RDMA NICs; its ranges stand behind those of the gVNICs."""
    if not count:
        return
    prefix, behind = spec.prefix or f"{site}-rdma", max(gvnics - 1, 0)
    derived = () if spec.existing else tuple(_after(_FIRST_RDMA, n) for n in range(behind, behind + count))
    cidrs = derived if spec.cidrs is None else tuple(spec.cidrs)
    yield NicNetwork(
        id="rdma",
        kind="rdma",
        name=spec.existing.network if spec.existing else f"{prefix}-net",
        subnetworks=tuple(spec.existing.subnetworks)
        if spec.existing
        else tuple(f"{prefix}-sub-{n}" for n in range(len(cidrs))),
        cidrs=cidrs,
        mtu=spec.mtu,
        exists=spec.existing is not None,
        path=("gpu", "rdma"),
        network_profile=spec.network_profile or zone + ROCE_PROFILE,
    )


def _further(spec: ZoneNetworks, zone: str, site: str, gvnics: int, rdma_nics: int, mtu: int) -> Iterator[NicNetwork]:
    """The networks of a further zone, their ranges cut from its block."""
    end = zone.rpartition("-")[2]
    path: ProfilePath = ("gpu", "zones", zone)
    gvnic, rdma = spec.gvnic_prefix or f"{site}-gvnic-{end}", spec.rdma_prefix or f"{site}-rdma-{end}"
    pieces = tuple(islice(_pieces(spec.block), gvnics + rdma_nics))
    for n in range(gvnics):
        number = f"-{n + 1}" if gvnics > 1 else ""
        yield NicNetwork(
            id=f"gvnic{number}-{end}",
            kind="gvnic",
            name=f"{gvnic}{number}-net",
            subnetworks=(f"{gvnic}{number}-sub",),
            cidrs=pieces[n : n + 1],
            mtu=mtu,
            exists=False,
            path=path,
            firewall=f"{gvnic}{number}-internal",
        )
    if rdma_nics:
        yield NicNetwork(
            id=f"rdma-{end}",
            kind="rdma",
            name=f"{rdma}-net",
            subnetworks=tuple(f"{rdma}-sub-{n}" for n in range(rdma_nics)),
            cidrs=pieces[gvnics:],
            mtu=mtu,
            exists=False,
            path=path,
            network_profile=zone + ROCE_PROFILE,
        )


def _pieces(block: IPv4Network) -> Iterator[IPv4Network]:
    return block.subnets(new_prefix=PIECE) if block.prefixlen <= PIECE else iter((block,))


def _after(cidr: IPv4Network, steps: int) -> IPv4Network:
    """The range of the same size so many steps further on."""
    return IPv4Network(((int(cidr.network_address) + steps * cidr.num_addresses) % 2**32, cidr.prefixlen))
