"""What can be wrong with where the machines come from: each capacity mode has its own fixed set of fields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from findings import Problem, ProfilePath, Severity, rule
from groundplan.gpu.rules import pool_path
from groundplan.gpu.spec import Reservation
from groundplan.gpu.values import DYNAMIC, PoolValues
from groundplan.kernel.gke import ReservationPath
from groundplan.kernel.node_pools import (
    auto_upgrade_trouble,
    has_two_counts,
    is_no_range,
    lacks_reservation,
    no_placement_because,
)
from groundplan.site.resolve import Site


@rule("reservation-missing")
def reservation_missing(site: Site) -> Iterator[Problem]:
    """A pool takes its machines from a reservation, and none is named.

    `capacity: reservation` is the default. GKE demands the name with SPECIFIC_RESERVATION; without one the pool would
    ask for machines on demand, which A4 and A3 Ultra hardly ever are.

    Source: GKE API, ReservationAffinity.

    Mend: `reservation:` at the top of the profile or on the pool; or another `capacity`.
    """
    for pool in site.pools:
        names = [pool.reservation.name] if pool.reservation else []
        if lacks_reservation(pool.capacity == "reservation", names):
            yield Problem(
                pool_path(pool, "capacity"),
                f"GPU pool {pool.name} has `capacity: reservation` and no reservation",
                "name it in `reservation:` at the top of the profile or of the pool, or choose another `capacity`",
            )


@rule("reservation-path")
def reservation_path(site: Site) -> Iterator[Problem]:
    """A reservation names a sub-block without its block, or a pool has sub-blocks of a reservation that names none.

    The path is projects/P/reservations/R/reservationBlocks/B/reservationSubBlocks/S: a sub-block stands in a block.

    Source: Compute Engine, "Reservation sub-blocks".

    Mend: name the block too, or leave the sub-block out.
    """
    for pool in {pool.index: pool for pool in site.pools}.values():
        named = pool.reservation
        if pool.spec.sub_blocks and (named is None or not named.block or named.sub_block):
            what = "names one of them too" if named and named.sub_block else "names no block that they are in"
            yield Problem(
                pool_path(pool, "sub_blocks"),
                f"GPU pool {pool.entry} has `sub_blocks`, and its reservation {what}",
                "give the reservation as {name: ..., block: ...}, without `sub_block`",
            )
    for path, reservation in _reservations(site):
        if reservation.sub_block and not reservation.block:
            yield Problem(
                (*path, "sub_block"),
                f"the reservation {reservation.name} names the sub-block {reservation.sub_block} without its block",
                "add `block:`, the block that the sub-block is in",
            )


def _reservations(site: Site) -> Iterator[tuple[ProfilePath, Reservation]]:
    """Every reservation the profile names, at its place."""
    if site.profile.reservation:
        yield ("reservation",), site.profile.reservation
    for index, pool in enumerate(site.profile.gpu.pools):
        if pool.reservation:
            yield ("gpu", "pools", index, "reservation"), pool.reservation


@rule("capacity-conflict")
def capacity_conflict(site: Site) -> Iterator[Problem]:
    """A reservation is named for capacity that must not come from one.

    Spot, on-demand, flex-start and queued pools are created with NO_RESERVATION; GKE rejects queued provisioning with
    any other affinity (terraform-provider-google#18341). A reservation at the top of the profile is for the pools with
    `capacity: reservation`: when there is none of them, one of the two is a mistake.

    Source: GKE documentation, flex-start and queued provisioning, "--reservation-affinity=none".

    Mend: `capacity: reservation`, or no reservation.
    """
    for pool in site.pools:
        if pool.spec.reservation and pool.capacity != "reservation":
            yield Problem(
                pool_path(pool, "reservation"),
                f"GPU pool {pool.name} has `capacity: {pool.capacity}` and the reservation "
                f"{pool.spec.reservation.name}",
                "set `capacity: reservation`, or remove the reservation",
            )
    if site.profile.reservation and all(pool.capacity != "reservation" for pool in site.pools):
        modes = " and ".join(sorted({pool.capacity for pool in site.pools}))
        yield Problem(
            ("reservation",),
            f"the reservation {site.profile.reservation.name} is used by no GPU pool: their capacity is {modes}",
            "set `capacity: reservation` on a pool, or remove the reservation",
        )


@rule("reservation-unused", Severity.WARNING)
def reservation_unused(site: Site) -> Iterator[Problem]:
    """The profile's reservation is used by no pool, because each names its own.

    Source: groundplan's own limit: a pool's own reservation stands before the profile's, which then says nothing.

    Mend: remove the one at the top.
    """
    reserved = [pool for pool in site.pools if pool.capacity == "reservation"]
    if site.profile.reservation and reserved and all(pool.spec.reservation for pool in reserved):
        yield Problem(
            ("reservation",),
            f"the reservation {site.profile.reservation.name} is used by no GPU pool: each names its own",
            "remove it, or remove those of the pools",
        )


@rule("reservation-inactive")
def reservation_inactive(site: Site) -> Iterator[Problem]:
    """A pool wants nodes of a reservation whose machines are not there yet.

    A future reservation, or one of the calendar, holds machines from a day on; before it the pool's creation waits two
    hours and fails. The pool can be made empty, and grow when a job asks.

    Source: Compute Engine, "Future reservations" and "Calendar mode"; cluster-toolkit, gke-node-pool,
    `is_reservation_active`. Judged with `--as-of` alone.

    Mend: `autoscaling: {min: 0, max: N}` until that day.
    """
    for pool in site.pools:
        active = pool.reservation.active_from if pool.reservation else None
        if pool.capacity != "reservation" or active is None or site.as_of is None or active <= site.as_of:
            continue
        if pool.min_nodes:
            yield Problem(
                pool_path(pool, "autoscaling", "min") if pool.spec.autoscaling else pool_path(pool, "nodes"),
                f"GPU pool {pool.name} starts at {pool.min_nodes} nodes, and the reservation {pool.reservation_path} "
                f"has machines from {active} on",
                f"use `autoscaling: {{min: 0, max: {pool.max_nodes}}}` until then",
            )


@rule("reservation-oversubscribed")
def reservation_oversubscribed(site: Site) -> Iterator[Problem]:
    """Pools want more machines than their reservation holds.

    Judged only where the profile states the reservation's `count`. Fixed pools that want more are refused; autoscaled
    ones that could grow beyond it are a warning.

    Source: Compute Engine API, reservations, `specificReservation.count`; that growth is a warning alone is
    groundplan's own limit.

    Mend: fewer nodes, or the right count.
    """
    wanted: dict[ReservationPath, list[PoolValues]] = {}
    for pool in site.pools:
        if pool.capacity == "reservation" and pool.reservation_path:
            # Several sub-blocks of one entry are of the block that its reservation names, and so is its count.
            path = replace(pool.reservation_path, sub_block="") if pool.spec.sub_blocks else pool.reservation_path
            wanted.setdefault(path, []).append(pool)
    for path, pools in wanted.items():
        counts = [pool.reservation.count for pool in pools if pool.reservation and pool.reservation.count]
        if not counts:
            continue
        least, most = sum(pool.min_nodes for pool in pools), sum(pool.max_nodes for pool in pools)
        if most > min(counts):
            names = ", ".join(pool.name for pool in pools)
            key = "autoscaling" if pools[-1].spec.autoscaling else "nodes"
            yield Problem(
                pool_path(pools[-1], key),
                f"the reservation {path} holds {min(counts)} machines; {names} want {most}",
                f"lower the nodes to {min(counts)} in all, or correct `count`",
                None if least > min(counts) else Severity.WARNING,
            )


@rule("node-count-mode")
def node_count_mode(site: Site) -> Iterator[Problem]:
    """A pool has both a fixed number of nodes and autoscaling, or an autoscaling range that is none.

    The two fight: the autoscaler moves a count that the next apply moves back (terraform-provider-google#6901).

    Source: Terraform provider documentation, google_container_node_pool, `node_count` (not beside `autoscaling`) and
    `autoscaling`; terraform-provider-google#6901.

    Mend: one of `nodes` and `autoscaling`, with `min` at most `max`.
    """
    for pool in site.pools:
        spec = pool.spec
        if has_two_counts(spec.nodes, spec.autoscaling is not None):
            yield Problem(
                pool_path(pool, "autoscaling"),
                f"GPU pool {pool.name} has both `nodes: {spec.nodes}` and `autoscaling`",
                "keep one of them",
            )
        if spec.autoscaling and is_no_range(spec.autoscaling.min, spec.autoscaling.max):
            yield Problem(
                pool_path(pool, "autoscaling", "min"),
                f"GPU pool {pool.name}: `autoscaling.min` {spec.autoscaling.min} is above `max` {spec.autoscaling.max}",
                f"set `max` to {spec.autoscaling.min} or more",
            )


@rule("capacity-autoscaling")
def capacity_autoscaling(site: Site) -> Iterator[Problem]:
    """A flex-start or queued pool has a fixed number of nodes, or keeps some for ever.

    With flex_start and queued, GKE makes nodes when a job asks and takes them back: such pools start at zero and
    autoscale. A queued pool's least is zero; with flex_start another least is a warning.

    Source: GKE documentation, "Run GPUs with flex-start provisioning" and "with queued provisioning".

    Mend: `autoscaling: {min: 0, max: N}` instead of `nodes`.
    """
    for pool in site.pools:
        if pool.capacity not in DYNAMIC:
            continue
        if pool.spec.autoscaling is None:
            most = pool.spec.nodes or 2
            yield Problem(
                pool_path(pool, "capacity" if pool.spec.nodes is None else "nodes"),
                f"GPU pool {pool.name} has `capacity: {pool.capacity}` and a fixed number of nodes",
                f"use `autoscaling: {{min: 0, max: {most}}}` instead of `nodes`",
            )
        elif pool.spec.autoscaling.min:
            yield Problem(
                pool_path(pool, "autoscaling", "min"),
                f"GPU pool {pool.name} has `capacity: {pool.capacity}` and keeps {pool.spec.autoscaling.min} nodes",
                "set `min: 0`",
                None if pool.capacity == "queued" else Severity.WARNING,
            )


@rule("capacity-run-time")
def capacity_run_time(site: Site) -> Iterator[Problem]:
    """`max_run_hours` is given for capacity that is not limited in time.

    Flex-start and queued nodes are taken back after at most seven days; other nodes stay, and one that is taken back in
    the middle of a training would only be made again.

    Source: GKE documentation, flex-start provisioning, `--max-run-duration`.

    Mend: remove it, or use flex_start or queued.
    """
    for pool in site.pools:
        if pool.spec.max_run_hours and pool.capacity not in DYNAMIC:
            yield Problem(
                pool_path(pool, "max_run_hours"),
                f"GPU pool {pool.name} has `max_run_hours` and `capacity: {pool.capacity}`",
                "remove it; it is for flex_start and queued",
            )


@rule("placement-conflict")
def placement_conflict(site: Site) -> Iterator[Problem]:
    """A compact placement policy stands where the capacity brings its own, or takes none.

    Dense reservations of A4 and A3 Ultra are co-located already, and a second policy makes the pool fail (xpk#476, PR
    1073). Queued provisioning takes none.

    Source: cluster-toolkit, gke-node-pool preconditions; GKE documentation, "Compact placement".

    Mend: remove `placement` from the pool.
    """
    for pool in site.pools:
        why = no_placement_because(specific=pool.capacity == "reservation", queued=pool.capacity == "queued")
        if pool.spec.placement and why:
            yield Problem(
                pool_path(pool, "placement"),
                f"GPU pool {pool.name} has `placement: {pool.spec.placement}` and `capacity: {pool.capacity}`: {why}",
                "remove `placement`",
            )


@rule("auto-upgrade-channel")
def auto_upgrade_channel(site: Site) -> Iterator[Problem]:
    """Auto-upgrade is off in a cluster with a release channel.

    Channels demand it, and GKE answers 400 (hivemq-mqtt-tensorflow#47). Queued pools are the exception that
    cluster-toolkit makes, and pass with a warning.

    Source: GKE API, NodeManagement; GKE documentation, "Release channels".

    Mend: leave `auto_upgrade` out; hold upgrades off with a maintenance exclusion.
    """
    channel = site.profile.cluster.release_channel
    for pool in site.pools:
        severity = auto_upgrade_trouble(pool.auto_upgrade, channel, queued=pool.capacity == "queued")
        if severity:
            yield Problem(
                pool_path(pool, "auto_upgrade"),
                f"GPU pool {pool.name} has `auto_upgrade: false`; channel {channel} demands it",
                "leave it out, and add a maintenance exclusion for the time of the training",
                severity,
            )


@rule("auto-repair-mode")
def auto_repair_mode(site: Site) -> Iterator[Problem]:
    """Auto-repair does not fit the capacity mode.

    Release channels demand auto-repair; flex-start and queued pools demand that it is off, because GKE could not get
    another machine for a repaired node.

    Source: GKE documentation, flex-start provisioning ("--no-enable-autorepair"); GKE API, NodeManagement.

    Mend: leave `auto_repair` out: it follows from the capacity.
    """
    for pool in site.pools:
        wanted = pool.capacity not in DYNAMIC
        if pool.auto_repair != wanted:
            why = (
                f"channel {site.profile.cluster.release_channel} demands it" if wanted else "GKE demands that it is off"
            )
            yield Problem(
                pool_path(pool, "auto_repair"),
                f"GPU pool {pool.name} has `auto_repair: {str(pool.auto_repair).lower()}` and `capacity: "
                f"{pool.capacity}`: {why}",
                "leave it out",
            )
