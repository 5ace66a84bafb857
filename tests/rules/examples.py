"""The example of each rule, from the tables that the rules are tested by: what trips it, and its near twin.

As a program it writes them as YAML (scripts/docs-rules); a test holds what is written to the tables.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from rehearsal.rule_cases import REHEARSAL_CASES
from review.cases_of_claim import CLAIMED
from review.cases_of_risk import ON_WHOLE_PLANS
from review.test_rules import TABLE
from rules.support import Case, FleetCase, Plain, text_of

_HERE = Path(__file__).parent

#: Modules with a table; `CASES` and `FLEETS` are both optional.
TABLES = [f"rules.{file.stem}" for file in sorted(_HERE.glob("test_*.py")) if file.stem != "test_table"]

_MODULES = [importlib.import_module(name) for name in TABLES]
CASES: list[Case] = [case for module in _MODULES for case in getattr(module, "CASES", [])]
FLEETS: list[FleetCase] = [case for module in _MODULES for case in getattr(module, "FLEETS", [])]

#: What Terraform writes of a resource beside these says nothing to a reader of an example.
_SHOWN = ("actions", "before", "after", "after_unknown", "replace_paths")


def examples() -> dict[str, dict[str, str]]:
    """Each rule's first case; of one that tests several rules at once, the shortest text that trips it."""
    found: dict[str, dict[str, str]] = {}
    for case in CASES:
        day = f"# judged with --as-of {case.as_of}\n" if case.as_of else ""
        found.setdefault(case.rule, {"trips": day + _profile(case.trips), "passes": day + _profile(case.passes)})
    for fleet in FLEETS:
        found.setdefault(fleet.rule, {"trips": _profiles(fleet.trips), "passes": _profiles(fleet.passes)})
    for slug, (_, bad, good) in TABLE.items():
        found[f"plan:{slug}"] = {"trips": _resources(bad), "passes": _resources(good)}
    for slug, (bad_plan, good_plan) in ON_WHOLE_PLANS.items():
        found[f"plan:{slug}"] = {"trips": _yaml(bad_plan), "passes": _yaml(good_plan)}
    for slug, (changes, broken, kept) in CLAIMED.items():
        found[f"plan:{slug}"] = {
            "trips": f"# --claim '{broken}'\n{_resources(changes)}",
            "passes": f"# --claim '{kept}'\n{_resources(changes)}",
        }
    for slug, words in REHEARSAL_CASES.items():
        found[f"rehearsal:{slug}"] = {"trips": words[0], "passes": words[1]}
    return found


def _profile(edits: Mapping[str, Any]) -> str:
    return text_of(edits).replace(f"{_HERE}/", "")


def _profiles(all_of_them: tuple[Mapping[str, Any], ...]) -> str:
    return "---\n".join(_profile(edits) for edits in all_of_them)


def _resources(changes: list[dict[str, Any]]) -> str:
    return _yaml(
        [
            {
                "address": each["address"],
                **{k: v for k, v in each["change"].items() if k in _SHOWN and v not in ({}, None)},
            }
            for each in changes
        ]
    )


def _yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=Plain, sort_keys=False, width=110)


class _Blocks(Plain):
    """Texts of several lines as blocks, for a reader of the file."""


_Blocks.add_representer(
    str,
    lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None),
)


def written() -> str:
    """The file's text."""
    head = "# Written by scripts/docs-rules from the tables in tests/: edit those.\n"
    return head + yaml.dump(examples(), Dumper=_Blocks, sort_keys=False, width=10_000)


if __name__ == "__main__":
    sys.stdout.write(written())
