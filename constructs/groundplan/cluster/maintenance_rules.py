"""What can be wrong with the maintenance window and exclusions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from findings import Problem, ProfilePath, Severity, dotted, rule
from groundplan.cluster.maintenance import HELD, RecurrenceError, least_occurrences, moment, shortest_gap
from groundplan.site.resolve import Site

_MAINTENANCE: ProfilePath = ("cluster", "maintenance")
_WINDOW: ProfilePath = (*_MAINTENANCE, "window")

_LEAST_WINDOW = timedelta(hours=4)

#: Hours of window that GKE demands, and the days within which: two ages of its page.
_LEAST_HOURS = 48
_OLDER_DAYS, _NEWER_DAYS = 32, 92

#: Longest exclusion in days with scope NO_UPGRADES, and the most exclusions.
_LONGEST_FULL = 30
#: Days from a version's release to its end of support, and to the end of extended support: 14 and 24 months.
_SUPPORTED, _EXTENDED = 426, 731
_MOST_NO_UPGRADES, _MOST_EXCLUSIONS = 3, 20


@rule("maintenance-dates")
def maintenance_dates(site: Site) -> Iterator[Problem]:
    """A time of the maintenance window or of an exclusion is no real date, or ends before it starts.

    Source: RFC 3339; GKE API, MaintenancePolicy.

    Mend: real times, the end after the start.
    """
    spec = site.profile.cluster.maintenance
    entries: list[tuple[ProfilePath, str, str | None]] = [(_WINDOW, spec.window.start, spec.window.end)]
    entries += [((*_MAINTENANCE, "exclusions", n), e.start, e.end) for n, e in enumerate(spec.exclusions)]
    for path, start, end in entries:
        first, last = moment(start), moment(end) if end else None
        for name, text, value in (("start", start, first), ("end", end, last)):
            if text and value is None:
                yield Problem(
                    (*path, name), f"`{dotted((*path, name))}` {text} is no date of any calendar", "correct the day"
                )
        if first and last and last <= first:
            yield Problem(
                (*path, "end"),
                f"`{dotted((*path, 'end'))}` {end} is not after its start {start}",
                "correct one of the two",
            )


@rule("maintenance-window-short")
def maintenance_window_short(site: Site) -> Iterator[Problem]:
    """The maintenance window leaves GKE too little time.

    An occurrence counts from four hours on, and GKE wants 48 hours of them within 92 days (its older page: within 32
    days; between the two this is a warning). A recurrence that GKE does not understand is refused too.

    Source: GKE documentation, "Maintenance windows and exclusions" and "Configure maintenance windows" (two ages).

    Mend: longer or more occurrences, e.g. six hours on Saturdays and Sundays.
    """
    window = site.profile.cluster.maintenance.window
    start, end = moment(window.start), moment(window.end)
    if not start or not end or end <= start:
        return
    length = end - start
    if length < _LEAST_WINDOW:
        hours = length / timedelta(hours=1)
        yield Problem(
            (*_WINDOW, "end"),
            f"`cluster.maintenance.window` lasts {hours:g} hours; GKE counts occurrences from 4 hours on",
            "move `end` or `start`",
        )
        return
    path = (*_WINDOW, "recurrence")
    try:
        found = {days: least_occurrences(window.recurrence, start.date(), days) for days in (_OLDER_DAYS, _NEWER_DAYS)}
    except RecurrenceError as error:
        yield Problem(path, f"`cluster.maintenance.window.recurrence`: {error}", "e.g. FREQ=WEEKLY;BYDAY=SA,SU")
        return
    hours_by_days = {days: count * (length / timedelta(hours=1)) for days, count in found.items()}
    for days, severity in ((_NEWER_DAYS, Severity.ERROR), (_OLDER_DAYS, Severity.WARNING)):
        if hours_by_days[days] < _LEAST_HOURS:
            yield Problem(
                path,
                f"`cluster.maintenance.window` gives {hours_by_days[days]:g} hours in {days} days; GKE wants "
                f"{_LEAST_HOURS}",
                "let it recur more often, or last longer",
                severity,
            )
            return


@rule("maintenance-window-long")
def maintenance_window_long(site: Site) -> Iterator[Problem]:
    """The maintenance window is longer than the time until it recurs.

    Its occurrences would overlap: a window of 30 hours every day. Mostly `end` has the wrong day or month. A window of
    24 hours every day is open always, and passes.

    Source: GKE API, RecurringTimeWindow; RFC 5545.

    Mend: an earlier `end`, or a recurrence that leaves room.
    """
    window = site.profile.cluster.maintenance.window
    start, end = moment(window.start), moment(window.end)
    try:
        gap = shortest_gap(window.recurrence, start.date()) if start and end else None
    except RecurrenceError:
        return  # maintenance-window-short says so
    if start and end and gap and end - start > gap:
        yield Problem(
            (*_WINDOW, "end"),
            f"`cluster.maintenance.window` lasts {_hours(end - start)}, and recurs after {_hours(gap)}",
            f"end it by {start + gap:%Y-%m-%dT%H:%M:%SZ} at the latest",
        )


def _hours(length: timedelta) -> str:
    return f"{length / timedelta(hours=1):.6g} hours"


@rule("exclusion-long")
def exclusion_long(site: Site) -> Iterator[Problem]:
    """A maintenance exclusion lasts longer than its scope allows.

    NO_UPGRADES may last 30 days, and needs an end. NO_MINOR_UPGRADES and NO_MINOR_OR_NODE_UPGRADES reach to the end of
    support of the cluster's version at most: 14 months after its release, 24 on channel EXTENDED. When that is cannot
    be told from a profile, so that a longer one is a warning; an exclusion without an end follows it by itself.

    Source: GKE documentation, "Maintenance windows and exclusions", scope of maintenance to exclude; "GKE versioning
    and support", lifecycle of a minor version.

    Mend: an earlier end, none at all, or a scope that lets patches through.
    """
    spec = site.profile.cluster
    supported = _EXTENDED if spec.release_channel == "EXTENDED" else _SUPPORTED
    for index, entry in enumerate(spec.maintenance.exclusions):
        path: ProfilePath = (*_MAINTENANCE, "exclusions", index, "end")
        full = entry.scope == "NO_UPGRADES"
        if entry.end is None:
            if full:
                message = f"exclusion {entry.name} has no end; NO_UPGRADES may last {_LONGEST_FULL} days"
                yield Problem(path, message, "give it an `end`, or use NO_MINOR_OR_NODE_UPGRADES")
            continue
        start, end = moment(entry.start), moment(entry.end)
        most = _LONGEST_FULL if full else supported
        if start and end and end - start > timedelta(days=most):
            days = (end - start) / timedelta(days=1)
            limit = f"may last {most}" if full else f"ends with the version's support, after {most} at most"
            until = f"end it by {start + timedelta(days=most):%Y-%m-%dT%H:%M:%SZ}"
            yield Problem(
                path,
                f"exclusion {entry.name} lasts {days:.4g} days; {entry.scope} {limit}",
                f"{until}, or use NO_MINOR_OR_NODE_UPGRADES" if full else "leave `end` out: it follows the version",
                Severity.ERROR if full else Severity.WARNING,
            )


@rule("exclusion-count")
def exclusion_count(site: Site) -> Iterator[Problem]:
    """There are more maintenance exclusions than a cluster takes, or two of one name.

    A cluster takes 20, of which three may have scope NO_UPGRADES; their names are its keys.

    Source: GKE documentation, "Maintenance windows and exclusions", limitations.

    Mend: remove those that have passed; give each a name of its own.
    """
    spec = site.profile.cluster.maintenance
    entries = spec.exclusions
    held = int(spec.hold_upgrades)
    full = sum(entry.scope == "NO_UPGRADES" for entry in entries)
    for count, most, what in (
        (full, _MOST_NO_UPGRADES, "NO_UPGRADES exclusions"),
        (len(entries) + held, _MOST_EXCLUSIONS, "exclusions, the one of `hold_upgrades` included,"),
    ):
        if count > most:
            yield Problem(
                (*_MAINTENANCE, "exclusions"),
                f"{count} {what} are more than {most}, the most a cluster takes",
                "remove those that have passed",
            )
    seen: set[str] = {HELD} if held else set()
    for index, entry in enumerate(entries):
        if entry.name in seen:
            path = (*_MAINTENANCE, "exclusions", index, "name")
            yield Problem(path, f"two exclusions are called {entry.name}", "give each a name of its own")
        seen.add(entry.name)


@rule("exclusion-expired")
def exclusion_expired(site: Site) -> Iterator[Problem]:
    """A maintenance exclusion has ended before the date given by --as-of.

    An exclusion that has passed protects nothing while it looks as if it did (xpk ships one). Judged against `--as-of`
    alone and never against the clock, so that the same profile gives the same findings on any day.

    Source: GKE documentation, "Maintenance windows and exclusions"; AI-Hypercomputer/xpk, blueprint_generator.py.
    Whether GKE refuses to create a cluster with such an exclusion is not confirmed.

    Mend: remove it, or move its end.
    """
    if site.as_of is None:
        return
    for index, entry in enumerate(site.profile.cluster.maintenance.exclusions):
        end = moment(entry.end) if entry.end else None
        if end and end.date() < site.as_of:
            yield Problem(
                (*_MAINTENANCE, "exclusions", index, "end"),
                f"exclusion {entry.name} ended on {end:%Y-%m-%d}, before {site.as_of}",
                "remove it, or move its end",
            )
