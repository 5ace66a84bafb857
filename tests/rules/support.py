"""The table that rules are tested by: for each rule inputs that trip it, and near twins that do not.

Every ``test_<topic>.py`` of this folder holds a list ``CASES`` (or ``FLEETS``); test_table.py runs them all, and
demands that no rule is without. Other folders join by a list in ``TABLES`` of test_table.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

import yaml

from findings import RULES, Finding, Severity
from groundplan.site.check import all_findings
from groundplan.site.profile import parse_profile
from groundplan.site.resolve import resolve

#: The smallest profile. Every case is this with edits.
BASE: dict[str, Any] = {"project": "my-project", "zone": "us-central1-b", "reservation": "my-reservation"}

Edits = Mapping[str, Any]

#: As a value: take the key out.
GONE = object()


@dataclass(frozen=True)
class Case:
    """Edits of BASE that the rule finds at `where`, with the texts `says` in message or hint; and a twin that passes.

    `severity` is the finding's.
    """

    rule: str
    trips: Edits
    passes: Edits
    where: str
    says: tuple[str, ...] = ()
    severity: str = "error"
    as_of: date | None = None

    def __str__(self) -> str:
        return f"{self.rule}-{self.where}"


@dataclass(frozen=True)
class FleetCase:
    """The same for several profiles: the rule finds something in the last of `trips`, and nothing in `passes`."""

    rule: str
    trips: tuple[Edits, ...]
    passes: tuple[Edits, ...]
    where: str
    says: tuple[str, ...] = ()
    severity: str = "error"
    files: tuple[str, ...] = field(default=("a.yaml", "b.yaml", "c.yaml"))

    def __str__(self) -> str:
        return f"{self.rule}-{self.where}"


def edited(edits: Edits, base: Mapping[str, Any] = BASE) -> dict[str, Any]:
    """`base` with dotted keys set: ``{"gpu.pools[0].nodes": 3}``. Lists grow as needed."""
    data: dict[str, Any] = yaml.safe_load(yaml.safe_dump(dict(base)))
    for dotted, value in edits.items():
        value = value if value is GONE else deepcopy(value)  # a later key may go into it, and cases share their parts
        keys: list[str | int] = [int(n) if n else name for name, n in re.findall(r"([^.\[\]]+)|\[(\d+)\]", dotted)]
        here: Any = data
        for key, following in pairwise(keys):
            empty: Any = [] if isinstance(following, int) else {}
            if isinstance(key, int):
                here.extend({} for _ in range(key + 1 - len(here)))
                here = here[key]
            else:
                here = here.setdefault(key, empty)
        last = keys[-1]
        if value is GONE:
            here.pop(last)
        elif isinstance(last, int):
            here.extend({} for _ in range(last + 1 - len(here)))
            here[last] = value
        else:
            here[last] = value
    return data


class Plain(yaml.SafeDumper):
    """Writes a value that stands twice out twice: profiles take no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def text_of(edits: Edits) -> str:
    """The profile as a file holds it."""
    return yaml.dump(edited(edits), Dumper=Plain, sort_keys=False)


#: Topics about the job, which the smallest profile has no secrets for.
ELSEWHERE = {"workload", "kueue"}


def everything(edits: Edits, as_of: date | None = None) -> list[Finding]:
    """All that check says of the profile; its shape must be right."""
    profile, source = parse_profile(text_of(edits))
    return all_findings(resolve(profile, as_of=as_of), source)


def findings(edits: Edits, as_of: date | None = None) -> list[Finding]:
    """The same, the job left out."""
    found = everything(edits, as_of)
    return [finding for finding in found if RULES.of_profiles[finding.rule].topic not in ELSEWHERE]


def slugs(edits: Edits, as_of: date | None = None) -> set[str]:
    """The rules that find something."""
    return {finding.rule for finding in findings(edits, as_of)}


def errors(edits: Edits) -> list[str]:
    """``rule: message`` of every error."""
    return [f"{f.rule}: {f.message}" for f in findings(edits) if f.severity is Severity.ERROR]
