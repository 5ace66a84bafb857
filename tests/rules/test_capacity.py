"""Where the machines come from: capacity modes, reservations, node counts, placement, upgrades."""

from __future__ import annotations

import pytest

from rules.support import GONE, Case, slugs

POOL = "gpu.pools[0]"
ELASTIC = {f"{POOL}.autoscaling": {"min": 0, "max": 4}}
NONE = {"reservation": GONE}


def mode(capacity: str) -> dict[str, object]:
    """A pool of that capacity, with the least that is right for it."""
    edits: dict[str, object] = {f"{POOL}.capacity": capacity}
    if capacity in ("flex_start", "queued"):
        edits |= ELASTIC
    if capacity != "reservation":
        edits |= NONE
    return edits


CASES = [
    # Capacity: each mode and the fields that it must not have.
    Case("reservation-missing", NONE, {**NONE, f"{POOL}.reservation": "mine"}, f"{POOL}", ("capacity",)),
    Case(
        "reservation-path",
        {"reservation": {"name": "r", "sub_block": "s"}},
        {"reservation": {"name": "r", "block": "b", "sub_block": "s"}},
        "reservation.sub_block",
        ("block",),
    ),
    Case(
        "reservation-path",
        {f"{POOL}.reservation": {"name": "r", "sub_block": "s", "project": "owner-project"}},
        {f"{POOL}.reservation": {"name": "r", "block": "b", "sub_block": "s", "project": "owner-project"}},
        f"{POOL}.reservation.sub_block",
        ("block",),
    ),
    *(
        Case(
            "capacity-conflict",
            {**mode(capacity), f"{POOL}.reservation": "mine"},
            mode(capacity),
            f"{POOL}.reservation",
            (capacity,),
        )
        for capacity in ("spot", "on_demand", "flex_start", "queued")
    ),
    Case("capacity-conflict", {f"{POOL}.capacity": "queued", **ELASTIC}, mode("queued"), "reservation", ("queued",)),
    Case(
        "reservation-unused",
        {f"{POOL}.reservation": "mine"},
        {f"{POOL}.reservation": "mine", **NONE},
        "reservation",
        ("its own",),
        "warning",
    ),
    Case(
        "reservation-oversubscribed",
        {"reservation": {"name": "r", "count": 2}, f"{POOL}.nodes": 3},
        {"reservation": {"name": "r", "count": 3}, f"{POOL}.nodes": 3},
        f"{POOL}.nodes",
        ("holds 2",),
    ),
    Case(
        "reservation-oversubscribed",
        {"reservation": {"name": "r", "count": 3}, **ELASTIC},
        {"reservation": {"name": "r", "count": 4}, **ELASTIC},
        f"{POOL}.autoscaling",
        ("want 4",),
        "warning",
    ),
    Case("node-count-mode", {f"{POOL}.nodes": 2, **ELASTIC}, ELASTIC, f"{POOL}.autoscaling", ("keep one",)),
    Case(
        "node-count-mode",
        {f"{POOL}.autoscaling": {"min": 3, "max": 2}},
        {f"{POOL}.autoscaling": {"min": 2, "max": 2}},
        f"{POOL}.autoscaling.min",
        ("3 or more",),
    ),
    *(
        Case(
            "capacity-autoscaling",
            {**NONE, f"{POOL}.capacity": capacity, f"{POOL}.nodes": 2},
            mode(capacity),
            f"{POOL}.nodes",
            ("{min: 0, max: 2}",),
        )
        for capacity in ("flex_start", "queued")
    ),
    Case(
        "capacity-autoscaling",
        {**mode("queued"), f"{POOL}.autoscaling": {"min": 1, "max": 4}},
        mode("queued"),
        f"{POOL}.autoscaling.min",
        ("min: 0",),
    ),
    Case(
        "capacity-autoscaling",
        {**mode("flex_start"), f"{POOL}.autoscaling": {"min": 1, "max": 4}},
        mode("flex_start"),
        f"{POOL}.autoscaling.min",
        ("min: 0",),
        "warning",
    ),
    *(
        Case(
            "capacity-run-time",
            {**mode(capacity), f"{POOL}.max_run_hours": 24},
            {**mode(limited), f"{POOL}.max_run_hours": 24},
            f"{POOL}.max_run_hours",
            (capacity,),
        )
        for capacity, limited in [("reservation", "flex_start"), ("spot", "queued"), ("on_demand", "queued")]
    ),
    Case(
        "placement-conflict",
        {f"{POOL}.placement": "compact"},
        {**mode("spot"), f"{POOL}.placement": "compact"},
        f"{POOL}.placement",
        ("policy of its own",),
    ),
    Case(
        "placement-conflict",
        {**mode("queued"), f"{POOL}.placement": "compact"},
        {**mode("flex_start"), f"{POOL}.placement": "compact"},
        f"{POOL}.placement",
        ("queued",),
    ),
    Case(
        "auto-upgrade-channel",
        {f"{POOL}.auto_upgrade": False},
        {f"{POOL}.auto_upgrade": True},
        f"{POOL}.auto_upgrade",
        ("REGULAR", "exclusion"),
    ),
    Case(
        "auto-upgrade-channel",
        {**mode("queued"), f"{POOL}.auto_upgrade": False},
        mode("queued"),
        f"{POOL}.auto_upgrade",
        (),
        "warning",
    ),
    Case(
        "auto-repair-mode",
        {f"{POOL}.auto_repair": False},
        {**mode("flex_start"), f"{POOL}.auto_repair": False},
        f"{POOL}.auto_repair",
        ("REGULAR",),
    ),
    Case(
        "auto-repair-mode",
        {**mode("queued"), f"{POOL}.auto_repair": True},
        {**mode("spot"), f"{POOL}.auto_repair": True},
        f"{POOL}.auto_repair",
        ("off",),
    ),
]


@pytest.mark.parametrize("capacity", ["reservation", "spot", "on_demand", "flex_start", "queued"])
def test_the_least_of_every_mode_passes(capacity: str) -> None:
    assert slugs(mode(capacity)) == set()
