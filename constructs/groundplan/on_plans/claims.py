"""The nouns of a claim that are a site's: ``gpu pool grows 2 -> 4``, ``lustre grows 18000 -> 36000 GiB``."""

from __future__ import annotations

from groundplan.on_plans import capacity, ray
from groundplan.on_plans.operations import SIZE
from plan_review import values
from plan_review.claims import KINDS, Amounts, Kind
from plan_review.model import Change, Resource


def _pool(change: Change, side: dict[str, object]) -> capacity.Pool:
    return capacity.pool(Resource(change.stack, change.address, change.type, side))


def _has_gpus(change: Change) -> bool:
    return bool(_pool(change, change.after or change.before).gpu)


def _nodes(change: Change) -> Amounts:
    was, becomes = _pool(change, change.before), _pool(change, change.after)
    return {"nodes": (was.most, becomes.most), "GPUs": (was.gpus, becomes.gpus)}


def _gib(change: Change) -> Amounts:
    was, becomes = (values.number(side.get("capacity_gib")) or 0 for side in (change.before, change.after))
    return {"GiB": (was, becomes)}


def _master(change: Change) -> Amounts:
    was, becomes = (values.text(side, "min_master_version") for side in (change.before, change.after))
    return {"version": (was, becomes)}


def _has_ray(change: Change) -> bool:
    return bool(ray.ray_work(change.after or change.before))


def _workers(change: Change) -> Amounts:
    was, becomes = (ray.ray_work(side) for side in (change.before, change.after))
    return {
        "workers": (sum(each.workers for each in was), sum(each.workers for each in becomes)),
        "GPUs": (sum(each.gpus for each in was), sum(each.gpus for each in becomes)),
    }


_POOLS = ("google_container_node_pool",)

KINDS |= {
    "cluster": Kind(("google_container_cluster",), amounts=_master, sizing=("min_master_version",)),
    "cpu pool": Kind(_POOLS, lambda change: not _has_gpus(change), _nodes, SIZE),
    "gpu pool": Kind(_POOLS, _has_gpus, _nodes, SIZE),
    "job": Kind(("helm_release",), _has_ray, _workers, ("values",)),
    "lustre": Kind(("google_lustre_instance",), amounts=_gib, sizing=("capacity_gib",)),
    "pool": Kind(_POOLS, amounts=_nodes, sizing=SIZE),
}
