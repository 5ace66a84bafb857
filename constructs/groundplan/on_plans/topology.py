"""The site as a picture's data: networks, cluster, pools with their NICs, storage, jobs, and what happens to each.

Drawn from the plans alone. A network that a pool or cluster names and no plan makes is drawn as standing outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundplan.on_plans import capacity, ray
from groundplan.on_plans.consequences import managed_fabric, short_gpu
from plan_review import display, values
from plan_review.drift import without_indices
from plan_review.model import Change, Plan, Resource, hidden

#: Columns of the picture, from left to right.
COLUMNS = ("storage", "network", "cluster", "job")

OUTSIDE = "outside"

#: The box of all networks that GKE makes for pools with a managed fabric: no plan has them.
_MANAGED = "fabric/managed"


@dataclass(frozen=True, slots=True)
class Box:
    """One thing in the picture. `state` is an Action's word, or OUTSIDE."""

    key: str
    column: str
    title: str
    lines: tuple[str, ...]
    state: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A line between two boxes, with what it stands for."""

    left: str
    right: str
    label: str


@dataclass(frozen=True, slots=True)
class Topology:
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]

    def __bool__(self) -> bool:
        return bool(self.boxes)

    def column(self, name: str) -> list[Box]:
        return [box for box in self.boxes if box.column == name]


def topology(plans: Sequence[Plan]) -> Topology:
    """The picture of what the plans hold; empty when they hold nothing of the kind."""
    changes = [change for plan in plans for change in plan.changes]
    by_type: dict[str, list[Change]] = {}
    for change in changes:
        by_type.setdefault(change.type, []).append(change)
    draw = _Drawing(by_type, hidden(plans))
    return Topology(tuple(draw.boxes.values()), tuple(draw.edges))


class _Drawing:
    """Boxes in the order in which they are drawn; edges only between boxes that exist."""

    def __init__(self, by_type: dict[str, list[Change]], hidden: tuple[str, ...]) -> None:
        self.hidden = hidden
        self.by_type = by_type
        self.boxes: dict[str, Box] = {}
        self.edges: list[Edge] = []
        for each in by_type.get("google_compute_network", ()):
            self.network(each)
        for each in by_type.get("google_container_cluster", ()):
            self.cluster(each)
        for each in by_type.get("google_container_node_pool", ()):
            self.pool(each)
        for each in by_type.get("google_lustre_instance", ()):
            self.lustre(each)
        for each in by_type.get("google_storage_bucket", ()):
            self.add(each, "storage", f"Bucket {each.label}", _both(each, "location"))
        for each in by_type.get("helm_release", ()):
            self.release(each)

    def add(self, change: Change, column: str, title: str, *lines: str) -> str:
        """A box for a change; its key is the type and name, so that others find it."""
        key = f"{change.type}/{change.label}"
        shown = tuple(self.plain(line) for line in lines if line)
        self.boxes[key] = Box(key, column, self.plain(title), shown, change.action.value)
        return key

    def plain(self, text: str) -> str:
        """A text as it may be shown."""
        return display.plain(display.without(text, self.hidden))

    def join(self, left: str, right: str, label: str) -> None:
        self.edges.append(Edge(left, right, label))

    def network(self, change: Change) -> None:
        inside = [each for each in self.by_type.get("google_compute_subnetwork", ()) if _in(each, change)]
        ranges = [_both(each, "ip_cidr_range") for each in inside]
        second = [
            f"{values.text(block, 'range_name')} {values.text(block, 'ip_cidr_range')}"
            for each in inside
            for block in values.blocks(_now(each), "secondary_ip_range")
        ]
        roce = "roce" in values.text(_now(change), "network_profile")
        mtu = _both(change, "mtu")
        what = ", ".join(filter(None, ("RoCE" if roce else "", f"MTU {mtu}" if mtu else "")))
        self.add(change, "network", f"VPC {change.label}", what, *_subnetworks(ranges), *second[:3])

    def outside(self, name: str) -> str:
        """The box of a network by name; made when no plan has it."""
        key = f"google_compute_network/{name}"
        self.boxes.setdefault(key, Box(key, "network", f"VPC {self.plain(name)}", ("not in these plans",), OUTSIDE))
        return key

    def cluster(self, change: Change) -> None:
        now = _now(change)
        channel, where = _both(change, "release_channel.channel"), _both(change, "location")
        version = _both(change, "min_master_version")
        title = f"GKE {change.label}"
        key = self.add(
            change, "cluster", title, " ".join(filter(None, (channel, where))), version and f"at least {version}"
        )
        name = _name(values.get(now, "network"))
        if name:
            self.join(self.outside(name), key, "")

    def pool(self, change: Change) -> None:
        pool = capacity.pool(Resource(change.stack, change.address, change.type, _now(change)))
        was = capacity.pool(Resource(change.stack, change.address, change.type, change.before or change.after))
        nodes, machine = _shift(was.nodes, pool.nodes), _shift(was.machine_type, pool.machine_type)
        gpus = f"{_shift(was.gpus, pool.gpus)} {short_gpu(pool.gpu)} GPUs" if pool.gpu else ""
        source = _shift(was.reservation, pool.reservation) if pool.gpu else ""
        key = self.add(change, "cluster", f"Pool {change.label}", f"{nodes} x {machine or '?'}", gpus, source)
        nics: dict[str, int] = {}
        for block in values.blocks(_now(change), "network_config.additional_node_network_configs"):
            name = _name(block.get("network"))
            if name:
                nics[name] = nics.get(name, 0) + 1
        for name, amount in nics.items():
            self.join(self.outside(name), key, display.count(amount, "NIC"))
        if managed_fabric(_now(change)):
            fabric = Box(_MANAGED, "network", "Fabric of GKE", ("networks made by GKE", "NICs by claims"), OUTSIDE)
            self.boxes.setdefault(fabric.key, fabric)
            self.join(fabric.key, key, "DRANET")

    def lustre(self, change: Change) -> None:
        now = _now(change)
        size = values.number(values.get(now, "capacity_gib")) or 0
        before = values.number(values.get(change.before, "capacity_gib")) or size
        grown = f"{_shift(f'{before:,}', f'{size:,}')} GiB"
        tier = _both(change, "per_unit_storage_throughput")
        key = self.add(change, "storage", f"Lustre {change.label}", grown, f"{tier} MB/s per TiB" if tier else "")
        name = _name(values.get(now, "network"))
        if name:
            self.join(key, self.outside(name), "")

    def release(self, change: Change) -> None:
        work = ray.ray_work(_now(change))
        old = {each.name: each for each in ray.ray_work(change.before)}
        for each in work[:2]:
            was = old.get(each.name, each)
            workers, gpus = _shift(was.workers, each.workers), _shift(was.gpus, each.gpus)
            size = f"{workers} worker{'' if workers == '1' else 's'}, {gpus} GPU{'' if gpus == '1' else 's'}"
            key = self.add(change, "job", each.kind, each.name, size, _shift(was.image, each.image))
            for box in [box for box in self.boxes.values() if box.key.startswith("google_container_node_pool/")]:
                if any("GPUs" in line for line in box.lines):
                    self.join(box.key, key, "workers")
                    break
        version = _both(change, "version")
        if not work and version and values.text(_now(change), "repository"):
            self.add(change, "job", values.last_part(values.text(_now(change), "chart")), f"Helm chart {version}")


def _now(change: Change) -> dict[str, object]:
    return change.after or change.before


def _both(change: Change, path: str) -> str:
    """The value at a path; where it changes ``old -> new``."""
    return _shift(values.text(change.before, path), values.text(change.after or change.before, path))


def _shift(old: object, new: object) -> str:
    """What is, or ``old -> new``; what is new alone is told alone."""
    was, becomes = str(old), str(new)
    return becomes if was in ("", becomes) or not becomes else f"{was} -> {becomes}"


def _name(value: object) -> str:
    """A network's name from its name, link or expression; empty when it is not known."""
    if not isinstance(value, str) or not value:
        return ""
    return "" if values.is_expression(value) else values.last_part(value)


def _in(subnetwork: Change, network: Change) -> bool:
    name = _name(values.get(_now(subnetwork), "network"))
    return name == network.label if name else without_indices(network.address) in subnetwork.refers


def _subnetworks(ranges: list[str]) -> Iterator[str]:
    if len(ranges) > 2:
        yield f"{len(ranges)} subnetworks, {ranges[0]}"
        yield f"to {ranges[-1]}"
    else:
        yield from ranges
