"""What a release takes as the value of a key: the type, null or not, and the words of a closed set.

Up to v0.6.0 NeMo RL enforces no types: a wrong one shows where the value is used. v0.7.0 builds a pydantic model of the
composed configuration before it asks Ray for anything, and takes a value as pydantic does in its lax mode: "5" is a
whole number, "yes" is true, and 5 is no text.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from groundplan.nemo_rl.releases import Release

#: How a type is called in a finding.
TRUTH, WHOLE, NUMBER, LIST, TEXT, GROUP = (
    "true or false",
    "a whole number",
    "a number",
    "a list",
    "text",
    "a group of keys",
)
_DECLARED = {"int": WHOLE, "float": NUMBER, "str": TEXT, "list": LIST}

#: Keys whose whole-number default means a count; others take fractions too (grpo.batch_multiplier).
_COUNTED = re.compile(
    r"(num_|size|period|steps|length|batch_size|nodes|gpus|tokens|epochs|seed|workers|turns|iters|dim)"
)
#: Takes a list of schedulers or a mapping of milestones.
_EITHER = "policy.scheduler"
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")
#: Words that pydantic takes for true or false.
_TRUTHS = ("0", "1", "f", "false", "n", "no", "off", "on", "t", "true", "y", "yes")


@dataclass(frozen=True)
class Choice:
    """A closed set of values; `at` is where NeMo RL looks, at the release's tag."""

    values: tuple[str | None, ...]
    at: str


@dataclass(frozen=True)
class Types:
    """What a release declares. `enforced`: it builds a model of the configuration first, and stops on a wrong type."""

    enforced: bool = False
    nullable: frozenset[str] = frozenset()
    unchecked: frozenset[str] = frozenset()
    declared: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, Choice] = field(default_factory=dict)

    def takes_null(self, path: str, default: Any, group: bool) -> bool:
        """Whether null is taken for a key with that default; for a group, unless the release says otherwise."""
        return path in self.nullable or default is None or (group and not self.enforced)

    def wanted(self, path: str, default: Any) -> str:
        """What a value of the key must be, in words; empty when anything goes."""
        if self.enforced and path in self.unchecked:
            return ""
        if path == _EITHER:
            return ""
        if path in self.declared:
            return _DECLARED[self.declared[path]]
        return _of_default(path, default)


@functools.cache
def _shipped(version: str) -> Types:
    file = resources.files("groundplan.catalog").joinpath("nemo_rl_types", f"{version}.json")
    try:
        facts: dict[str, Any] = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return Types()
    return Types(
        enforced=facts["enforced"],
        nullable=frozenset(facts["nullable"]),
        unchecked=frozenset(facts["unchecked"]),
        declared=facts["declared"],
        choices={key: Choice(tuple(entry["values"]), entry["at"]) for key, entry in facts["choices"].items()},
    )


def types_of(release: Release) -> Types:
    """What the release declares; a user's own release has what `keys_of` has, and nothing is declared without."""
    return _shipped(release.keys_of or release.version)


def _of_default(path: str, default: Any) -> str:
    if isinstance(default, bool):
        return TRUTH
    if isinstance(default, int):
        return WHOLE if _COUNTED.search(path) and not path.endswith("_gb") else NUMBER
    if isinstance(default, float) or (isinstance(default, str) and _NUMBER.fullmatch(default)):
        return NUMBER
    if isinstance(default, list):
        return LIST
    return TEXT if isinstance(default, str) and "${" not in default else ""


def fits(wanted: str, value: Any, *, lax: bool = False) -> bool:
    """Whether `value`, which is not null, is of that kind; a reference such as ``${policy.precision}`` always is.

    `lax`: as pydantic takes it where it is not strict.
    """
    if isinstance(value, str) and "${" in value:
        return True
    match wanted:
        case "true or false":
            return isinstance(value, bool) or (lax and str(value).lower() in _TRUTHS)
        case "a whole number":
            return _whole(value) or (lax and _whole_after_all(value))
        case "a number":
            return _number(value) or (lax and (isinstance(value, bool) or _reads_as_number(value)))
        case "a list":
            return isinstance(value, list)
        case "text":
            return isinstance(value, str)
        case _:
            return bool(value == {})


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _whole_after_all(value: Any) -> bool:
    return isinstance(value, bool) or (_reads_as_number(value) and float(value).is_integer())


def _reads_as_number(value: Any) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and bool(_NUMBER.fullmatch(value.strip())))
