"""What stands before and after: GPUs by type and reservation, nodes by machine type, Lustre, and addresses used."""

from __future__ import annotations

import functools
import ipaddress
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from groundplan.catalog import Machine, load_catalog
from groundplan.kernel.addresses import RESERVED_PER_SUBNETWORK, pod_block
from groundplan.kernel.gke import parse_reservation
from plan_review import values
from plan_review.model import Resource, Resources

#: Hours of an average month (365 x 24 / 12), as cloud price lists count them.
HOURS_PER_MONTH = 730


@dataclass(frozen=True, slots=True)
class Pool:
    """A node pool: fewest and most nodes over all its zones, and the GPUs of one node."""

    resource: Resource
    machine_type: str
    least: int
    most: int
    gpu: str
    gpus_per_node: int
    reservation: str

    @property
    def gpus(self) -> int:
        """GPUs at the most nodes."""
        return self.most * self.gpus_per_node

    @property
    def nodes(self) -> str:
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


@dataclass(frozen=True, slots=True)
class Line:
    """One quantity before and after."""

    kind: str
    name: str
    before: int
    after: int
    unit: str
    detail: str = ""

    @property
    def changed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class RangeUse:
    """Addresses of a range: how many there are and how many the nodes take before and after (None: not countable)."""

    name: str
    cidr: str
    size: int
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Capacity:
    """The quantities of a site before and after, and the use of its ranges."""

    lines: tuple[Line, ...]
    ranges: tuple[RangeUse, ...]

    def of(self, kind: str) -> list[Line]:
        return [line for line in self.lines if line.kind == kind]


def capacity(old: Resources, new: Resources) -> Capacity:
    """Compare two sides."""
    lines = []
    for kind, count, unit in (
        ("GPU", _gpus, "GPUs"),
        ("GPU-hours", _gpu_hours, "GPU-hours a month at the most nodes"),
        ("nodes", _nodes, "nodes at most"),
        ("Lustre", _lustre, "GiB"),
    ):
        was, becomes = count(old), count(new)
        for key in sorted({*was, *becomes}):
            lines.append(Line(kind, key[0], was.get(key, 0), becomes.get(key, 0), unit, key[1]))
    return Capacity(tuple(lines), tuple(_ranges(old, new)))


def pools(resources: Resources) -> list[Pool]:
    """All node pools. An unknown number of nodes counts as none."""
    return [pool(each) for each in resources.of("google_container_node_pool")]


def pool(resource: Resource) -> Pool:
    """A node pool's size. Counts are by zone, so that pools of several zones multiply."""
    machine_type = resource.text("node_config.machine_type")
    known = _machine(machine_type)
    zones = max(1, len(resource.texts("node_locations")))
    scaling = (resource.blocks("autoscaling") or [{}])[0]
    if scaling:
        # The provider stores the pair that is not in use as zeros: totals count when the most of them is above 0.
        most, least = (values.number(scaling.get(f"total_{end}_node_count")) or 0 for end in ("max", "min"))
        if not most:
            most, least = (zones * (values.number(scaling.get(f"{end}_node_count")) or 0) for end in ("max", "min"))
    else:
        given = values.number(resource.get("node_count"))
        if given is None:
            given = values.number(resource.get("initial_node_count")) or 0
        least = most = zones * given
    accelerators = resource.blocks("node_config.guest_accelerator")
    kind = (
        values.text(accelerators[0], "type") if accelerators else known.gpu.accelerator if known and known.gpu else ""
    )
    each = sum(values.number(a.get("count")) or 0 for a in accelerators) or (
        known.gpu.count if known and known.gpu else 0
    )
    return Pool(
        resource,
        machine_type,
        min(least, most),
        most,
        "" if values.is_expression(kind) else kind,
        each if kind else 0,
        _reservation(resource),
    )


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs of one machine."""

    kind: str
    amount: int


def instance_gpus(resource: Resource) -> Gpus | None:
    """The GPUs of a plain machine: those attached, else those of its type; None when it has none."""
    attached = resource.blocks("guest_accelerator")
    if attached:
        amount = sum(values.number(each.get("count")) or 0 for each in attached)
        return Gpus(values.last_part(values.text(attached[0], "type")), amount) if amount else None
    known = _machine(values.last_part(resource.text("machine_type")))
    return Gpus(known.gpu.accelerator, known.gpu.count) if known and known.gpu else None


def machine(name: str) -> Machine | None:
    """A machine type of the shipped catalog."""
    return _machine(name)


@functools.cache
def _machine(name: str) -> Machine | None:
    return load_catalog().machines.get(name)


def _reservation(resource: Resource) -> str:
    named = resource.texts("node_config.reservation_affinity.values")
    if named:
        found = parse_reservation(named[0])
        return found.short if found else named[0]
    if resource.flag("queued_provisioning.enabled"):  # before flex-start, which a queued pool is too
        return "queued"
    for argument, word in (("spot", "spot"), ("flex_start", "flex-start"), ("preemptible", "preemptible")):
        if resource.flag(f"node_config.{argument}"):
            return word
    return "on demand"


Counted = dict[tuple[str, str], int]


def _gpus(resources: Resources) -> Counted:
    found: Counted = defaultdict(int)
    for each in pools(resources):
        if each.gpu:
            source = each.reservation
            words = ("spot", "flex-start", "preemptible", "queued", "on demand")
            found[each.gpu, source if source in words else f"reservation {source}"] += each.gpus
    for machine in resources.of("google_compute_instance", "google_compute_instance_from_template"):
        if held := instance_gpus(machine):
            found[held.kind, "plain machines"] += held.amount
    return dict(found)


def _gpu_hours(resources: Resources) -> Counted:
    found: Counted = defaultdict(int)
    for (kind, _), amount in _gpus(resources).items():
        found[kind, ""] += amount * HOURS_PER_MONTH
    return dict(found)


def _nodes(resources: Resources) -> Counted:
    found: Counted = defaultdict(int)
    for each in pools(resources):
        found[each.machine_type or "(machine type not known yet)", ""] += each.most
    return dict(found)


def _lustre(resources: Resources) -> Counted:
    found: Counted = defaultdict(int)
    for each in resources.of("google_lustre_instance"):
        tier = each.text("per_unit_storage_throughput")
        found[f"{tier} MB/s per TiB" if tier else "Lustre", ""] += values.number(each.get("capacity_gib")) or 0
    return dict(found)


def tebibytes(gibibytes: int) -> str:
    """``17.6 TiB``."""
    return f"{gibibytes / 1024:,.1f} TiB"


def _ranges(old: Resources, new: Resources) -> Iterator[RangeUse]:
    used_old, used_new = _used(old), _used(new)
    for name, (cidr, size) in {**_sizes(old), **_sizes(new)}.items():
        yield RangeUse(name, cidr, size, used_old.get(name), used_new.get(name))


def _sizes(resources: Resources) -> dict[str, tuple[str, int]]:
    """Name of a range -> the range and its usable addresses."""
    found: dict[str, tuple[str, int]] = {}
    for each in resources.of("google_compute_subnetwork"):
        found |= _size(each.name, each.text("ip_cidr_range"), RESERVED_PER_SUBNETWORK)
        for second in each.blocks("secondary_ip_range"):
            found |= _size(f"{each.name} {second.get('range_name')}", values.text(second, "ip_cidr_range"), 0)
    for each in resources.of("google_compute_global_address"):
        length = values.number(each.get("prefix_length"))
        if each.text("purpose") == "VPC_PEERING" and length and each.text("address"):
            found |= _size(each.name, f"{each.text('address')}/{length}", 0)
    return found


def _size(name: str, cidr: str, kept: int) -> dict[str, tuple[str, int]]:
    try:
        network = ipaddress.ip_network(cidr)
    except ValueError:
        return {}
    return {name: (cidr, max(0, network.num_addresses - kept))}


def _used(resources: Resources) -> dict[str, int]:
    """Addresses that nodes and pods take at the most nodes, by range."""
    used: dict[str, int] = defaultdict(int)
    clusters = {each.name: each for each in resources.of("google_container_cluster")}
    for each in pools(resources):
        for nic in each.resource.blocks("network_config.additional_node_network_configs"):
            used[values.last_part(nic.get("subnetwork"))] += each.most
        cluster = clusters.get(values.last_part(each.resource.text("cluster")))
        if cluster is None:
            continue
        subnetwork = values.last_part(cluster.text("subnetwork"))
        used[subnetwork] += each.most
        pods = cluster.text("ip_allocation_policy.cluster_secondary_range_name")
        most = values.number(each.resource.get("max_pods_per_node")) or values.number(
            cluster.get("default_max_pods_per_node")
        )
        if pods and most:
            used[f"{subnetwork} {pods}"] += each.most * pod_block(most)
    return used
