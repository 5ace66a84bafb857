"""Maintenance: windows, exclusions, and how often a recurrence comes."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from groundplan.cluster.maintenance import RecurrenceError, least_occurrences
from rules.support import Case, slugs

EXCLUSION = {"name": "long run", "start": "2026-12-01T00:00:00Z", "end": "2026-12-31T00:00:00Z"}
WINDOW = "cluster.maintenance.window"
EXCLUSIONS = "cluster.maintenance.exclusions"


def window(start: str, end: str, recurrence: str) -> dict[str, object]:
    return {f"{WINDOW}.start": start, f"{WINDOW}.end": end, f"{WINDOW}.recurrence": recurrence}


def exclusions(count: int, scope: str) -> dict[str, object]:
    return {EXCLUSIONS: [{**EXCLUSION, "name": f"run {n}", "scope": scope} for n in range(count)]}


CASES = [
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
