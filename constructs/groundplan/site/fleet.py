"""Clashes between sites: of one project, of one network, or declared as peers of one another.

A fleet rule takes all sites at once and reports a clash at the later one. Every rule passes once over what it compares,
so that hundreds of profiles are checked in a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from findings import RULES, Problem, ProfilePath, Rule, Severity, Subject, dotted, rule
from groundplan.gpu.values import PoolValues
from groundplan.kernel.addresses import Range
from groundplan.kernel.gke import ReservationPath
from groundplan.network.site_ranges import fabric_ranges, primary_ranges
from groundplan.site.resolve import Site
from groundplan.site.rules.names import names_of

#: How many of many things a message names.
_NAMED = 3


@dataclass(frozen=True)
class Member:
    """A site of a fleet, and the file that its profile stands in."""

    file: str
    site: Site

    def __str__(self) -> str:
        return f"{self.site.name} ({self.file})"


Fleet = Sequence[Member]


def fleet_problems(fleet: Fleet) -> Iterator[tuple[Rule, Problem]]:
    """What every fleet rule says; of a site that is given twice, only that."""
    twins = _twins(fleet)
    once = [number for number in range(len(fleet)) if number not in twins]
    apart = [fleet[number] for number in once]
    for entry in RULES.of(Subject.FLEET).values():
        if entry.slug == "fleet-twice":
            yield from ((entry, problem) for problem in entry.check(fleet))
        else:
            for problem in entry.check(apart):
                yield entry, replace(problem, member=once[problem.member])


def _twins(fleet: Fleet) -> dict[int, int]:
    """The members that are a site met before, and which."""
    first: dict[tuple[str, str, str], list[int]] = {}
    found: dict[int, int] = {}
    for number, member in enumerate(fleet):
        alike = first.setdefault((member.site.name, member.site.project, member.site.zone), [])
        twin = next((n for n in alike if fleet[n].site.profile == member.site.profile), None)
        if twin is None:
            alike.append(number)
        else:
            found[number] = twin
    return found


@rule("fleet-twice", subject=Subject.FLEET)
def fleet_twice(fleet: Fleet) -> Iterator[Problem]:
    """The same site is given twice: one file by two names, or a copy that nothing was changed in.

    Every name and range would clash, so that nothing else is said of the second one.

    Source: groundplan's own limit: the other rules of a fleet would say of one site that it clashes with itself.

    Mend: each file once; in a copy that is to be a site of its own, another `site` name and ranges of its own.
    """
    for number, twin in _twins(fleet).items():
        yield Problem(
            ("site",),
            f"the same site twice: the profile of {fleet[twin]} says the same",
            "give each file once; for a second site change `site` and the ranges",
            member=number,
        )


@rule("fleet-name", subject=Subject.FLEET)
def fleet_name(fleet: Fleet) -> Iterator[Problem]:
    """Two sites would create something of the same name in the same place.

    The second apply fails with "already exists", or worse, takes over what the first one made. Networks, firewall rules
    and service accounts are unique in a project, clusters and subnetworks in a region of it, Lustre instances in a
    zone, buckets in the world.

    Source: Terraform provider documentation, the `id` of google_compute_network, google_compute_subnetwork,
    google_container_cluster, google_service_account and google_lustre_instance (within what a name is unique); Cloud
    Storage documentation, "Bucket names".

    Mend: another `site` name, from which all names follow; or another name where the profile sets one.
    """
    first: dict[tuple[str, str, str], int] = {}
    for number, member in enumerate(fleet):
        clashes: dict[int, list[tuple[str, ProfilePath]]] = {}
        for name in names_of(member.site):
            if not name.created or name.kind in ("node pool", "NAT"):  # a clash of their cluster or router is enough
                continue
            other = first.setdefault((name.kind, name.scope, name.text), number)
            if other != number:
                clashes.setdefault(other, []).append((f"{name.kind} {name.text}", name.path))
        for other, names in clashes.items():
            path = ("site",) if len(names) > _NAMED or fleet[other].site.name == member.site.name else names[0][1]
            yield Problem(
                path,
                f"{_some([text for text, _ in names])} would be made by {fleet[other]} too",
                "give the sites different `site` names, or name these apart",
                member=number,
            )


def _some(items: list[str]) -> str:
    shown = ", ".join(items[:_NAMED])
    return f"{shown} and {len(items) - _NAMED} more" if len(items) > _NAMED else shown


@rule("fleet-state", subject=Subject.FLEET)
def fleet_state(fleet: Fleet) -> Iterator[Problem]:
    """Two sites keep their Terraform states in the same place.

    Each apply would then plan to destroy what the other made. States are told apart by bucket, prefix and stack name,
    by workspace, or for local ones by the stack name alone.

    Source: Terraform documentation, "Backend Type: gcs" (one object for a prefix and a workspace) and "Purpose of
    Terraform State" (each remote object is bound to one resource).

    Mend: another `site` name, `backend.gcs.prefix` or organization.
    """
    first: dict[tuple[str, ...], int] = {}
    for number, member in enumerate(fleet):
        place, path = _state(member.site)
        other = first.setdefault(place, number)
        if other != number:
            yield Problem(
                path,
                f"the states of {fleet[other]} are kept in the same place: {' '.join(place)}",
                "give the sites different `site` names or prefixes",
                member=number,
            )


def _state(site: Site) -> tuple[tuple[str, ...], ProfilePath]:
    """Where the state of one of the site's stacks is kept; the others lie beside it."""
    backend, name = site.profile.backend, site.stack_name("network")
    if backend.gcs:
        prefix = (backend.gcs.prefix or f"groundplan/{site.name}").rstrip("/")
        return (f"gs://{backend.gcs.bucket}/{prefix}/{name}",), ("backend", "gcs")
    if backend.cloud:
        host = backend.cloud.hostname or "app.terraform.io"
        return (f"{host}/{backend.cloud.organization}", f"workspace {name}"), ("backend", "cloud")
    return ("local file", f"terraform.{name}.tfstate"), ("site",)


@rule("fleet-overlap", subject=Subject.FLEET)
def fleet_overlap(fleet: Fleet) -> Iterator[Problem]:
    """Ranges of two sites overlap that can meet.

    Two sites meet when they use the same VPC, or when one names the other as its peer (`network.peers` with the other's
    `site` as name). Then no range of one may overlap a range of the other. What two sites share by name is no clash:
    the subnetwork of the nodes, a secondary range of pods, the range of private service access that one of them
    reserves.

    Source: VPC documentation, "VPC Network Peering", subnet ranges; GKE, "Sharing IP address ranges across clusters".

    Mend: other ranges for one of the two.
    """
    by_network: dict[tuple[str, str], list[int]] = {}
    by_name: dict[str, list[int]] = {}
    for number, member in enumerate(fleet):
        by_network.setdefault((member.site.network.project, member.site.network.vpc), []).append(number)
        by_name.setdefault(member.site.name, []).append(number)
    groups = [numbers for numbers in by_network.values() if len(numbers) > 1]
    for number, member in enumerate(fleet):
        for peer in member.site.profile.network.peers:
            groups += [sorted((number, other)) for other in by_name.get(peer.name, []) if other != number]
    found: dict[int, dict[int, tuple[Range, Range]]] = {}
    for group in groups:
        for earlier, one, later, two in _clashes(fleet, group):
            if not _shared(fleet[earlier].site, one, fleet[later].site, two):
                found.setdefault(later, {}).setdefault(earlier, (one, two))
    for later, clashes in found.items():
        earlier, (one, two) = next(iter(clashes.items()))
        more = f", and with ranges of {len(clashes) - 1} more sites" if len(clashes) > 1 else ""
        yield Problem(
            two.path,
            f"`{dotted(two.path)}` {two.cidr} ({two.role}) overlaps {one.cidr} ({one.role}) of {fleet[earlier]}{more}",
            "move one of them",
            member=later,
        )


@rule("fleet-ranges-alike", Severity.WARNING, subject=Subject.FLEET)
def fleet_ranges_alike(fleet: Fleet) -> Iterator[Problem]:
    """Two sites of one project use the same addresses in networks of their own.

    They work side by side, but their networks can never be peered, nor connected to the same office or transit network.

    Source: VPC documentation, "VPC Network Peering", subnet ranges.

    Mend: ranges of its own for each site, while nothing is built yet; or ignore this rule.
    """
    by_project: dict[str, list[int]] = {}
    for number, member in enumerate(fleet):
        by_project.setdefault(member.site.project, []).append(number)
    for group in by_project.values():
        told: set[int] = set()
        for earlier, one, later, two in _clashes(fleet, group):
            apart = fleet[earlier].site.network.vpc_path != fleet[later].site.network.vpc_path
            if apart and later not in told:
                told.add(later)
                yield Problem(
                    two.path,
                    f"`{dotted(two.path)}` {two.cidr} ({two.role}) overlaps {one.cidr} ({one.role}) of "
                    f"{fleet[earlier]}, in "
                    "the same project: the two networks can never be peered",
                    "give each site ranges of its own",
                    member=later,
                )


def _clashes(fleet: Fleet, group: list[int]) -> Iterator[tuple[int, Range, int, Range]]:
    """Overlaps between ranges of different members: the earlier member and its range, the later member and its own.

    The GPU networks of two sites never meet, but each meets the other's primary network on its own GPU nodes.
    """
    owned = [(number, item, False) for number in group for item in primary_ranges(fleet[number].site)]
    owned += [(number, item, True) for number in group for item in fabric_ranges(fleet[number].site)]
    owned.sort(key=lambda entry: (int(entry[1].cidr.network_address), entry[1].cidr.prefixlen, entry[0]))
    around: list[tuple[int, Range, bool]] = []
    for number, item, fabric in owned:
        first = int(item.cidr.network_address)
        around = [entry for entry in around if int(entry[1].cidr.broadcast_address) >= first]
        for other, outer, other_fabric in around:
            if other == number or (fabric and other_fabric):
                continue
            pair = (other, outer, number, item) if other < number else (number, item, other, outer)
            yield pair
        around.append((number, item, fabric))


def _shared(one: Site, a: Range, two: Site, b: Range) -> bool:
    """Whether two equal ranges are one and the same thing, which both sites use."""
    if a.cidr != b.cidr or a.role != b.role or one.network.vpc_path != two.network.vpc_path:
        return False
    same_subnetwork = one.region == two.region and one.network.subnetwork == two.network.subnetwork
    if a.role == "nodes":
        return same_subnetwork
    if a.role == "pods":
        return same_subnetwork and one.network.pods_range == two.network.pods_range
    return a.role == "private service access" and not (one.network.access_created and two.network.access_created)


@rule("fleet-reservation", Severity.WARNING, subject=Subject.FLEET)
def fleet_reservation(fleet: Fleet) -> Iterator[Problem]:
    """Pools of several sites draw on the same reservation.

    Whoever scales second waits for machines that the first one has. Blocks and sub-blocks of one reservation are apart,
    a whole reservation holds them all. Where the profiles state the `count` of the part that they share, fixed pools
    that want more of it together are refused, and those that fit pass; otherwise this is a warning. The count of a
    block says nothing of the whole reservation.

    Source: Compute Engine API, reservations, `specificReservation.count` and `inUseCount`; Compute Engine, "Reservation
    sub-blocks". That an unknown count is a warning is groundplan's own limit.

    Mend: `count` on the reservation, fewer nodes, or blocks of its own for each site.
    """
    users: dict[ReservationPath, list[tuple[int, PoolValues]]] = {}
    for number, member in enumerate(fleet):
        for pool in member.site.pools:
            if pool.capacity == "reservation" and pool.reservation_path:
                users.setdefault(pool.reservation_path.whole, []).append((number, pool))
    for whole, pools in users.items():
        for number in sorted({number for number, _ in pools})[1:]:
            mine = [pool for owner, pool in pools if owner == number]
            theirs = [
                (owner, pool) for owner, pool in pools if owner < number and any(_within(pool, own) for own in mine)
            ]
            if theirs:
                yield from _oversubscribed(fleet, number, whole, mine, theirs)


def _within(a: PoolValues, b: PoolValues) -> bool:
    """Whether one pool's part of a reservation holds the other's."""
    one, two = a.reservation_path, b.reservation_path
    return one is not None and two is not None and (one.holds(two) or two.holds(one))


def _oversubscribed(
    fleet: Fleet, number: int, whole: ReservationPath, mine: list[PoolValues], theirs: list[tuple[int, PoolValues]]
) -> Iterator[Problem]:
    pools = mine + [pool for _, pool in theirs]
    most = sum(pool.max_nodes for pool in pools)
    path: ProfilePath = ("reservation",)
    if mine[0].spec.reservation is not None:
        path = ("gpu", "pools", mine[0].index, "reservation")
    hint = "give the reservation's `count`, or a block of its own to each site"
    others = _some(sorted({str(fleet[owner]) for owner, _ in theirs}))
    told = enough = False
    for part, count in _counts(pools).items():
        ours, drawing = _beneath(part, mine), _beneath(part, pools)
        least, greatest = sum(p.min_nodes for p in drawing), sum(p.max_nodes for p in drawing)
        enough = enough or (len(drawing) == len(pools) and greatest <= count)
        if greatest > count and len(drawing) > len(ours) > 0:
            told = True
            message = f"the reservation {part} holds {count}; with {others} the pools want up to {greatest}"
            yield Problem(path, message, hint, Severity.ERROR if least > count else None, member=number)
    if not told and not enough:
        message = f"the reservation {whole} is used by {others} too; together they want up to {most}"
        yield Problem(path, message, hint, member=number)


def _beneath(part: ReservationPath, pools: list[PoolValues]) -> list[PoolValues]:
    """The pools that draw on a part of a reservation, or on a part of that."""
    return [pool for pool in pools if pool.reservation_path and part.holds(pool.reservation_path)]


def _counts(pools: list[PoolValues]) -> dict[ReservationPath, int]:
    """How many machines each part of a reservation holds, where a profile says so: the greatest that is said."""
    counts: dict[ReservationPath, int] = {}
    for pool in pools:
        if pool.reservation and pool.reservation_path and pool.reservation.count:
            counts[pool.reservation_path] = max(counts.get(pool.reservation_path, 0), pool.reservation.count)
    return counts
