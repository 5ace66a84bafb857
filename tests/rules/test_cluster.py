"""The cluster: versions, endpoints, CPU pool, maintenance."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from groundplan.cluster.maintenance import RecurrenceError, least_occurrences
from groundplan.kernel.gke import is_below
from rules.support import Case, findings, slugs

OFFICE = {"name": "office", "cidr": "35.1.2.0/24"}
EXCLUSION = {"name": "long run", "start": "2026-12-01T00:00:00Z", "end": "2026-12-31T00:00:00Z"}
WINDOW = "cluster.maintenance.window"
EXCLUSIONS = "cluster.maintenance.exclusions"


def window(start: str, end: str, recurrence: str) -> dict[str, object]:
    return {f"{WINDOW}.start": start, f"{WINDOW}.end": end, f"{WINDOW}.recurrence": recurrence}


def exclusions(count: int, scope: str) -> dict[str, object]:
    return {EXCLUSIONS: [{**EXCLUSION, "name": f"run {n}", "scope": scope} for n in range(count)]}


CASES = [
    Case(
        "pods-per-node-few",
        {"gpu.pools[0].max_pods_per_node": 16},
        {"gpu.pools[0].max_pods_per_node": 32},
        "gpu.pools[0].max_pods_per_node",
        ("32",),
        "warning",
    ),
    Case(
        "pods-per-node-few",
        {"cluster.max_pods_per_node": 8},
        {"cluster.max_pods_per_node": 8, "gpu.pools[0].max_pods_per_node": 32},
        "cluster.max_pods_per_node",
        (),
        "warning",
    ),
    Case("gke-version-old", {"cluster.version": "1.30"}, {"cluster.version": "1.35"}, "cluster.version", ("1.31",)),
    Case(
        "gke-version-old",
        {"cluster.version": "1.32.2-gke.1422000"},
        {"cluster.version": "1.33.2-gke.1475000"},
        "cluster.version",
        ("RDMA on a4-highgpu-8g", "1.32.2-gke.1475000", "1.33.2-gke.1111000"),
    ),
    Case(
        "gke-version-old",
        {"cluster.version": "1.29"},
        {"cluster.version": "1.34"},
        "cluster.version",
        ("DNS endpoint",),
    ),
    Case(
        "open-control-plane",
        {"cluster.control_plane.authorized_networks": [OFFICE, {"name": "all", "cidr": "0.0.0.0/0"}]},
        {"cluster.control_plane.authorized_networks": [OFFICE, {"name": "vpc", "cidr": "10.0.0.0/8"}]},
        "cluster.control_plane.authorized_networks[1].cidr",
        ("0.0.0.0/0", "DNS endpoint"),
    ),
    Case(
        "open-control-plane",
        {"cluster.control_plane.authorized_networks": [{"name": "half", "cidr": "128.0.0.0/1"}]},
        {"cluster.control_plane.authorized_networks": [{"name": "big", "cidr": "35.0.0.0/8"}]},
        "cluster.control_plane.authorized_networks[0].cidr",
    ),
    Case(
        "public-endpoint-unrestricted",
        {"cluster.control_plane.public_endpoint": True},
        {"cluster.control_plane.public_endpoint": True, "cluster.control_plane.authorized_networks": [OFFICE]},
        "cluster.control_plane.public_endpoint",
        ("authorized_networks",),
    ),
    Case(
        "authorized-networks-count",
        {
            "cluster.control_plane.authorized_networks": [
                {"name": f"n{i}", "cidr": f"10.{i}.0.0/16"} for i in range(101)
            ]
        },
        {
            "cluster.control_plane.authorized_networks": [
                {"name": f"n{i}", "cidr": f"10.{i}.0.0/16"} for i in range(100)
            ]
        },
        "cluster.control_plane.authorized_networks",
        ("101", "100"),
    ),
    Case(
        "endpoint-unreachable",
        {"cluster.control_plane.dns_endpoint": False},
        {
            "cluster.control_plane.dns_endpoint": False,
            "cluster.control_plane.public_endpoint": True,
            "cluster.control_plane.authorized_networks": [OFFICE],
        },
        "cluster.control_plane.dns_endpoint",
        ("VPC",),
        "warning",
    ),
    Case(
        "endpoint-unreachable",
        {"cluster.control_plane.authorized_networks": [OFFICE]},
        {"cluster.control_plane.authorized_networks": [{"name": "vpn", "cidr": "10.100.0.0/24"}]},
        "cluster.control_plane.authorized_networks[0].cidr",
        ("public_endpoint: true",),
        "warning",
    ),
    Case(
        "deletion-unprotected",
        {"environment": "prod", "backend": {"gcs": {"bucket": "states"}}, "cluster.deletion_protection": False},
        {"environment": "dev", "cluster.deletion_protection": False},
        "cluster.deletion_protection",
        ("prod",),
        "warning",
    ),
    Case(
        "cpu-pool-range",
        {"cluster.cpu_pool.min_nodes": 6},
        {"cluster.cpu_pool.min_nodes": 5},
        "cluster.cpu_pool.min_nodes",
        ("6 or more",),
    ),
    Case(
        "cpu-machine",
        {"cluster.cpu_pool.machine_type": "a4-highgpu-8g"},
        {"cluster.cpu_pool.machine_type": "c3-highmem-88"},
        "cluster.cpu_pool.machine_type",
        ("GPU machine",),
    ),
    Case(
        "cpu-machine",
        {"cluster.cpu_pool.machine_type": "n2-himem-80"},
        {"cluster.cpu_pool.machine_type": "n2-highmem-80"},
        "cluster.cpu_pool.machine_type",
        ("n2-highmem-80",),
        "warning",
    ),
    Case(
        "cpu-disk-type",
        {"cluster.cpu_pool.machine_type": "n4-highmem-80"},
        {"cluster.cpu_pool.machine_type": "n4-highmem-80", "cluster.cpu_pool.disk_type": "hyperdisk-balanced"},
        "cluster.cpu_pool.disk_type",
        ("hyperdisk-balanced",),
    ),
    Case(
        "cpu-secure-boot",
        {"cluster.cpu_pool.secure_boot": True},
        {"cluster.cpu_pool.secure_boot": True, "cluster.version": "1.35"},
        "cluster.cpu_pool.secure_boot",
        ("1.34.1-gke.2364000",),
        "warning",
    ),
    Case(
        "maintenance-dates",
        {f"{WINDOW}.start": "2026-02-30T02:00:00Z"},
        {f"{WINDOW}.start": "2026-01-03T03:00:00Z"},
        f"{WINDOW}.start",
        ("calendar",),
    ),
    Case(
        "maintenance-dates",
        {EXCLUSIONS: [{**EXCLUSION, "end": EXCLUSION["start"]}]},
        {EXCLUSIONS: [EXCLUSION]},
        f"{EXCLUSIONS}[0].end",
        ("not after",),
    ),
    Case(
        "maintenance-window-short",
        window("2026-01-03T02:00:00Z", "2026-01-03T05:59:59Z", "FREQ=DAILY"),
        window("2026-01-03T02:00:00Z", "2026-01-03T06:00:00Z", "FREQ=DAILY"),
        f"{WINDOW}.end",
        ("4 hours",),
    ),
    # 13 or 14 Saturdays in 92 days at 4 hours: 52 hours; 4 in 32 days: 16 hours.
    Case(
        "maintenance-window-short",
        window("2026-01-03T02:00:00Z", "2026-01-03T06:00:00Z", "FREQ=WEEKLY;BYDAY=SA"),
        window("2026-01-03T02:00:00Z", "2026-01-03T14:00:00Z", "FREQ=WEEKLY;BYDAY=SA"),
        f"{WINDOW}.recurrence",
        ("16 hours in 32 days",),
        "warning",
    ),
    Case(
        "maintenance-window-short",
        window("2026-01-03T02:00:00Z", "2026-01-03T08:00:00Z", "FREQ=MONTHLY;BYDAY=1SA"),
        window("2026-01-03T02:00:00Z", "2026-01-03T08:00:00Z", "FREQ=DAILY"),
        f"{WINDOW}.recurrence",
        ("92 days",),
    ),
    Case(
        "maintenance-window-short",
        {f"{WINDOW}.recurrence": "FREQ=WEEKLY;BYDAY=SAT"},
        {f"{WINDOW}.recurrence": "FREQ=WEEKLY;BYDAY=SA,SU"},
        f"{WINDOW}.recurrence",
        ("BYDAY=SAT",),
    ),
    Case(
        "maintenance-window-short",
        {f"{WINDOW}.recurrence": "FREQ=HOURLY"},
        {f"{WINDOW}.recurrence": "FREQ=DAILY"},
        f"{WINDOW}.recurrence",
        ("HOURLY",),
    ),
    *(
        Case(
            "maintenance-window-short",
            {f"{WINDOW}.recurrence": wrong},
            {f"{WINDOW}.recurrence": right},
            f"{WINDOW}.recurrence",
            (words,),
        )
        for wrong, right, words in [
            (
                "FREQ=MONTHLY;BYDAY=--1SA",
                "FREQ=MONTHLY;BYDAY=1SA,2SA,3SA,4SA,-1SU,1SU,2SU,3SU,4SU,1FR,2FR",
                "BYDAY=--1SA",
            ),
            ("FREQ=MONTHLY;BYMONTHDAY=--3", "FREQ=MONTHLY;BYMONTHDAY=-3,1,2,5,6,7,8,9,10,11,12", "BYMONTHDAY=--3"),
            ("FREQ=DAILY;BYMONTHDAY=1", "FREQ=DAILY", "92 days"),
        ]
    ),
    Case(
        "maintenance-window-long",
        window("2026-01-03T02:00:00Z", "2026-01-04T08:00:00Z", "FREQ=DAILY"),
        window("2026-01-03T02:00:00Z", "2026-01-04T02:00:00Z", "FREQ=DAILY"),
        f"{WINDOW}.end",
        ("30 hours", "24 hours", "2026-01-04T02:00:00Z"),
    ),
    Case(
        "maintenance-window-long",
        window("2026-01-03T02:00:00Z", "2026-03-03T02:00:00Z", "FREQ=WEEKLY;BYDAY=SA"),
        window("2026-01-03T02:00:00Z", "2026-01-10T02:00:00Z", "FREQ=WEEKLY;BYDAY=SA"),
        f"{WINDOW}.end",
        ("1416 hours", "168 hours"),
    ),
    Case(
        "exclusion-long",
        {EXCLUSIONS: [{**EXCLUSION, "end": "2026-12-31T00:00:01Z", "scope": "NO_UPGRADES"}]},
        {EXCLUSIONS: [{**EXCLUSION, "scope": "NO_UPGRADES"}]},
        f"{EXCLUSIONS}[0].end",
        ("30", "NO_MINOR_OR_NODE_UPGRADES", "2026-12-31T00:00:00Z"),
    ),
    Case(
        "exclusion-long",
        {EXCLUSIONS: [{**EXCLUSION, "end": "2028-02-01T00:00:00Z"}]},
        {EXCLUSIONS: [{**EXCLUSION, "end": "2028-01-31T00:00:00Z"}]},  # 426 days: 14 months
        f"{EXCLUSIONS}[0].end",
        ("427 days", "426", "leave `end` out"),
        "warning",
    ),
    Case(
        "exclusion-long",
        {"cluster.release_channel": "EXTENDED", EXCLUSIONS: [{**EXCLUSION, "end": "2028-12-02T00:00:00Z"}]},
        {"cluster.release_channel": "EXTENDED", EXCLUSIONS: [{**EXCLUSION, "end": "2028-12-01T00:00:00Z"}]},
        f"{EXCLUSIONS}[0].end",
        ("732 days", "731"),  # 24 months
        "warning",
    ),
    Case(
        "exclusion-long",
        {EXCLUSIONS: [{"name": "no end", "start": "2026-12-01T00:00:00Z", "scope": "NO_UPGRADES"}]},
        {EXCLUSIONS: [{"name": "no end", "start": "2026-12-01T00:00:00Z", "scope": "NO_MINOR_UPGRADES"}]},
        f"{EXCLUSIONS}[0].end",
        ("has no end", "30 days"),
    ),
    Case("exclusion-count", exclusions(4, "NO_UPGRADES"), exclusions(3, "NO_UPGRADES"), EXCLUSIONS, ("4", "3")),
    Case(
        "exclusion-count", exclusions(20, "NO_MINOR_UPGRADES"), exclusions(19, "NO_MINOR_UPGRADES"), EXCLUSIONS, ("21",)
    ),
    Case(
        "exclusion-count",
        {EXCLUSIONS: [EXCLUSION, EXCLUSION]},
        {EXCLUSIONS: [EXCLUSION, {**EXCLUSION, "name": "b"}]},
        f"{EXCLUSIONS}[1].name",
        ("long run",),
    ),
    Case(
        "exclusion-expired",
        {EXCLUSIONS: [{**EXCLUSION, "end": "2027-01-31T00:00:00Z"}]},
        {EXCLUSIONS: [{**EXCLUSION, "end": "2027-02-01T00:00:00Z"}]},
        f"{EXCLUSIONS}[0].end",
        ("2027-01-31",),
        as_of=date(2027, 2, 1),
    ),
]


def test_nothing_expires_without_a_date() -> None:
    old = {EXCLUSIONS: [{**EXCLUSION, "start": "2020-12-01T00:00:00Z", "end": "2020-12-31T00:00:00Z"}]}
    assert slugs(old) == set()
    assert slugs(old, date(2020, 12, 31)) == set()
    assert slugs(old, date(2021, 1, 1)) == {"exclusion-expired"}


def test_one_finding_for_each_feature_that_a_version_lacks() -> None:
    found = [f.message for f in findings({"cluster.version": "1.29"}) if f.rule == "gke-version-old"]
    assert len(found) == 4


@pytest.mark.parametrize(
    ("version", "floor", "below"),
    [
        (None, "1.33.2-gke.1111000", False),
        ("1.33", "1.33.2-gke.1111000", False),
        ("1.33.2", "1.33.2-gke.1111000", False),
        ("1.33.1", "1.33.2-gke.1111000", True),
        ("1.32", "1.33.2-gke.1111000", True),
        ("1.33.2-gke.1110999", "1.33.2-gke.1111000", True),
        ("1.33.2-gke.1111000", "1.33.2-gke.1111000", False),
        ("1.33.10-gke.1", "1.33.9-gke.9", False),
        ("1.31", "1.31", False),
        ("1.30.9-gke.1", "1.31", True),
    ],
)
def test_versions(version: str | None, floor: str, below: bool) -> None:
    assert is_below(version, floor) is below


def test_a_floor_that_names_a_minor_version_takes_all_of_it() -> None:
    """`oldest: "1.31"` is the minor version, not its newest patch."""
    assert not is_below("1.31.1-gke.1", "1.31")


@pytest.mark.parametrize(
    ("recurrence", "days", "least"),
    [
        ("FREQ=DAILY", 32, 32),
        ("FREQ=DAILY;INTERVAL=2", 32, 16),
        ("FREQ=WEEKLY", 32, 4),
        ("FREQ=WEEKLY;BYDAY=SA,SU", 32, 8),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SA", 32, 2),
        ("FREQ=MONTHLY;BYMONTHDAY=1,15", 92, 6),
        ("FREQ=MONTHLY;BYDAY=1SA", 92, 2),
        ("FREQ=MONTHLY;BYMONTHDAY=-1", 92, 3),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA,SU", 92, 92),
        ("FREQ=DAILY;BYMONTHDAY=1", 92, 3),  # three months of 30 or 31 days; February makes it no fewer
        ("FREQ=DAILY;BYDAY=SA", 32, 4),
        ("FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=1", 92, 2),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=-1", 92, 3),  # the last day of the month
        ("FREQ=MONTHLY;BYDAY=+1SA", 92, 2),
        ("FREQ=WEEKLY;BYDAY=SA,SU;BYSETPOS=-1", 35, 5),  # Sundays
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,SU;WKST=SU", 28, 4),
        ("FREQ=MONTHLY;BYMONTHDAY=1;BYSETPOS=2", 92, 0),
    ],
)
def test_least_occurrences(recurrence: str, days: int, least: int) -> None:
    assert least_occurrences(recurrence, date(2026, 1, 3), days) == least


@pytest.mark.parametrize(
    "recurrence",
    [
        "FREQ=YEARLY",
        "FREQ=",
        "BYDAY=SA",
        "FREQ=WEEKLY;BYDAY=",
        "FREQ=WEEKLY;FREQ=DAILY",
        "FREQ=DAILY;UNTIL=20270101",
        "FREQ=WEEKLY;BYDAY=1SA",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=MONTHLY;BYMONTHDAY=32",
        "FREQ=MONTHLY;BYMONTHDAY=0",
        "FREQ=MONTHLY;BYDAY=--1SA",
        "FREQ=MONTHLY;BYDAY=6SA",
        "FREQ=MONTHLY;BYMONTHDAY=--3",
        "FREQ=WEEKLY;BYMONTHDAY=1",
        "FREQ=MONTHLY;BYSETPOS=1",
        "FREQ=MONTHLY;BYDAY=SA;BYSETPOS=0",
        "FREQ=MONTHLY;BYDAY=SA;BYSETPOS=--1",
        "FREQ=DAILY;INTERVAL=" + "9" * 5000,
        "FREQ=WEEKLY;WKST=XX",
    ],
)
def test_recurrences_that_gke_refuses(recurrence: str) -> None:
    with pytest.raises(RecurrenceError):
        least_occurrences(recurrence, date(2026, 1, 3), 32)


def test_counting_agrees_with_a_calendar() -> None:
    """Saturdays and Sundays, counted one by one over two years."""
    start = date(2026, 1, 3)
    days = [start + timedelta(days=n) for n in range(760)]
    weekend = [day.weekday() >= 5 for day in days]
    brute = min(sum(weekend[n : n + 32]) for n in range(len(days) - 32))
    assert least_occurrences("FREQ=WEEKLY;BYDAY=SA,SU", start, 32) == brute
