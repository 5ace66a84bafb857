"""When GKE may upgrade, in hours: what a window's recurrence comes to."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, pairwise

#: Name of the exclusion that `hold_upgrades` makes.
HELD = "no-minor-or-node-upgrades"

_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")

#: Days over which occurrences are counted: two rounds of the longest rule that is read, and a window more.
_HORIZON = 800
_LONGEST_MONTH = 31


def moment(text: str) -> datetime | None:
    """A profile's timestamp; None for one that no calendar has, such as 30 February."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return None


class RecurrenceError(ValueError):
    """A recurrence that GKE would refuse; the message says why."""


@functools.lru_cache(maxsize=256)
def least_occurrences(recurrence: str, start: date, days: int) -> int:
    """The fewest occurrences of a window in any `days` days from `start` on. Raises RecurrenceError.

    Reads RFC 5545 rules with FREQ DAILY, WEEKLY or MONTHLY and INTERVAL, BYDAY, BYMONTHDAY, BYSETPOS and WKST.
    """
    hits = {(day - start).days for day in _occurrences(recurrence, start)}
    until = list(accumulate((day in hits for day in range(_HORIZON)), initial=0))
    return min(until[first + days] - until[first] for first in range(_HORIZON - days))


def shortest_gap(recurrence: str, start: date) -> timedelta | None:
    """The time between the two occurrences that are closest; None when there are not two. Raises RecurrenceError."""
    return min((later - day for day, later in pairwise(_occurrences(recurrence, start))), default=None)


_BY_DAY = re.compile(r"([+-]?[1-5])?(MO|TU|WE|TH|FR|SA|SU)")
_MONTH_DAY = re.compile(r"[+-]?(?:0?[1-9]|[12][0-9]|3[01])")
_POSITION = re.compile(r"[+-]?[0-9]{0,2}[1-9][0-9]{0,2}")


def _rule(recurrence: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for item in recurrence.split(";"):
        key, equals, value = item.partition("=")
        if not equals or not value:
            raise RecurrenceError(f"`{item}` is not KEY=VALUE")
        if key in parts:
            raise RecurrenceError(f"{key} stands twice")
        parts[key] = value
    unknown = parts.keys() - {"FREQ", "INTERVAL", "BYDAY", "BYMONTHDAY", "BYSETPOS", "WKST"}
    if unknown:
        raise RecurrenceError(
            f"{min(unknown)} is not understood; a window recurs for ever, by FREQ, INTERVAL and BYDAY"
        )
    if parts.get("FREQ") not in ("DAILY", "WEEKLY", "MONTHLY"):
        raise RecurrenceError(f"FREQ={parts.get('FREQ', '')} is not DAILY, WEEKLY or MONTHLY")
    _check_values(parts)
    if parts["FREQ"] == "WEEKLY" and "BYMONTHDAY" in parts:
        raise RecurrenceError("BYMONTHDAY does not go with FREQ=WEEKLY (RFC 5545)")
    if "BYSETPOS" in parts and not parts.keys() & {"BYDAY", "BYMONTHDAY"}:
        raise RecurrenceError("BYSETPOS needs BYDAY or BYMONTHDAY to pick from (RFC 5545)")
    return parts


def _check_values(parts: dict[str, str]) -> None:
    if not re.fullmatch(r"[1-9][0-9]{0,3}", parts.get("INTERVAL", "1")):
        raise RecurrenceError(f"INTERVAL={parts['INTERVAL']} is not a whole number of at least 1")
    if parts.get("WKST", "MO") not in _WEEKDAYS:
        raise RecurrenceError(f"WKST={parts['WKST']} is not one of {', '.join(_WEEKDAYS)}")
    for entry in parts.get("BYDAY", "MO").split(","):
        match = _BY_DAY.fullmatch(entry)
        if not match or (match[1] and parts["FREQ"] != "MONTHLY"):
            raise RecurrenceError(f"BYDAY={entry} is not one of {', '.join(_WEEKDAYS)}")
    for entry in parts.get("BYMONTHDAY", "1").split(","):
        if not _MONTH_DAY.fullmatch(entry):
            raise RecurrenceError(f"BYMONTHDAY={entry} is not a day of a month")
    for entry in parts.get("BYSETPOS", "1").split(","):
        if not _POSITION.fullmatch(entry) or abs(int(entry)) > 366:
            raise RecurrenceError(f"BYSETPOS={entry} is not a position from either end")


@functools.lru_cache(maxsize=256)
def _occurrences(recurrence: str, start: date) -> tuple[date, ...]:
    """The days of the window over the horizon, in order."""
    rule = _rule(recurrence)
    positions = [int(entry) for entry in rule["BYSETPOS"].split(",")] if "BYSETPOS" in rule else []
    found: list[date] = []
    for days in _periods(rule, start):
        chosen = {days[n - 1 if n > 0 else n] for n in positions if abs(n) <= len(days)} if positions else days
        found += sorted(chosen)
    end = start + timedelta(days=_HORIZON)
    return tuple(day for day in found if start <= day < end)


def _periods(rule: dict[str, str], start: date) -> Iterator[list[date]]:
    """The days that a rule hits in each of its days, weeks or months, from the whole one that `start` is in."""
    interval = int(rule.get("INTERVAL", "1"))
    by_day = [(entry[-2:], entry[:-2]) for entry in rule["BYDAY"].split(",")] if "BYDAY" in rule else []
    month_days = [int(entry) for entry in rule["BYMONTHDAY"].split(",")] if "BYMONTHDAY" in rule else []
    if rule["FREQ"] == "WEEKLY" and not by_day:
        by_day = [(_WEEKDAYS[start.weekday()], "")]
    if rule["FREQ"] == "MONTHLY" and not by_day and not month_days:
        month_days = [start.day]
    into_week = (start.weekday() - _WEEKDAYS.index(rule.get("WKST", "MO"))) % 7
    back = {"DAILY": 0, "WEEKLY": into_week, "MONTHLY": start.day - 1}[rule["FREQ"]]
    periods: dict[int, list[date]] = {}
    for offset in range(_HORIZON + 2 * _LONGEST_MONTH):
        day = start + timedelta(days=offset - back)
        if rule["FREQ"] == "MONTHLY":
            period = (day.year - start.year) * 12 + day.month - start.month
        else:
            period = offset if rule["FREQ"] == "DAILY" else offset // 7
        if period % interval == 0 and _in_month(day, by_day, month_days):
            periods.setdefault(period, []).append(day)
    yield from periods.values()


def _in_month(day: date, by_day: list[tuple[str, str]], month_days: list[int]) -> bool:
    """Whether a rule hits `day`: by its number from either end of its month, and by its weekday's."""
    following = (day.replace(day=28) + timedelta(days=4)).replace(day=1)
    left = (following - day).days
    if month_days and not ({day.day, -left} & set(month_days)):
        return False
    if not by_day:
        return True
    numbers = {(day.day + 6) // 7, -((left + 6) // 7)}
    return any(name == _WEEKDAYS[day.weekday()] and (not n or int(n) in numbers) for name, n in by_day)
