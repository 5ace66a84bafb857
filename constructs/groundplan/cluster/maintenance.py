"""When GKE may upgrade, in hours: what a window's recurrence comes to."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate

_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")

#: Days over which occurrences are counted: two rounds of the longest rule that is read, and a window more.
_HORIZON = 800


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

    Reads RFC 5545 rules with FREQ DAILY, WEEKLY or MONTHLY and INTERVAL, BYDAY, BYMONTHDAY, as GKE documents them.
    """
    hits = {(day - start).days for day in _occurrences(_rule(recurrence), start)}
    until = list(accumulate((day in hits for day in range(_HORIZON)), initial=0))
    return min(until[first + days] - until[first] for first in range(_HORIZON - days))


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
    if not parts.get("INTERVAL", "1").isdecimal() or int(parts.get("INTERVAL", "1")) < 1:
        raise RecurrenceError(f"INTERVAL={parts['INTERVAL']} is not a whole number of at least 1")
    for entry in parts.get("BYDAY", "MO").split(","):
        number = entry[:-2].lstrip("+-")
        if entry[-2:] not in _WEEKDAYS or (number and parts["FREQ"] != "MONTHLY") or not (number or "0").isdecimal():
            raise RecurrenceError(f"BYDAY={entry} is not one of {', '.join(_WEEKDAYS)}")
    for entry in parts.get("BYMONTHDAY", "1").split(","):
        if not entry.lstrip("-").isdecimal() or not 1 <= abs(int(entry)) <= 31:
            raise RecurrenceError(f"BYMONTHDAY={entry} is not a day of a month")
    return parts


def _occurrences(rule: dict[str, str], start: date) -> Iterator[date]:
    interval = int(rule.get("INTERVAL", "1"))
    by_day = [(entry[-2:], entry[:-2]) for entry in rule["BYDAY"].split(",")] if "BYDAY" in rule else []
    month_days = [int(entry) for entry in rule["BYMONTHDAY"].split(",")] if "BYMONTHDAY" in rule else []
    week = start - timedelta(days=start.weekday())
    for offset in range(_HORIZON):
        day = start + timedelta(days=offset)
        weekdays = {name for name, _ in by_day}
        name = _WEEKDAYS[day.weekday()]
        if rule["FREQ"] == "DAILY":
            hit = offset % interval == 0 and (not by_day or name in weekdays)
        elif rule["FREQ"] == "WEEKLY":
            hit = ((day - week).days // 7) % interval == 0 and name in (weekdays or {_WEEKDAYS[start.weekday()]})
        else:
            months = (day.year - start.year) * 12 + day.month - start.month
            hit = months % interval == 0 and _in_month(day, by_day, month_days or ([] if by_day else [start.day]))
        if hit:
            yield day


def _in_month(day: date, by_day: list[tuple[str, str]], month_days: list[int]) -> bool:
    """Whether a monthly rule hits `day`: by its number from either end, and by its weekday's."""
    following = (day.replace(day=28) + timedelta(days=4)).replace(day=1)
    left = (following - day).days
    if month_days and not ({day.day, -left} & set(month_days)):
        return False
    if not by_day:
        return True
    numbers = {(day.day + 6) // 7, -((left + 6) // 7)}
    return any(name == _WEEKDAYS[day.weekday()] and (not n or int(n) in numbers) for name, n in by_day)
