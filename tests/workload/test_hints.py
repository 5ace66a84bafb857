"""What a hint says, when it is done, passes: the finding is gone, and no other error is in its place."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

import pytest
import yaml

from findings import Finding, Severity
from rules.support import Case, everything
from rules.test_conditions import CASES as CONDITIONS
from rules.test_job import CASES as OF_THE_JOB

#: A setting in a hint: a path and a value, in backticks.
SETTING = re.compile(r"`([a-z_~+][\w.+~]*): ([^`]+)`")
#: Sections of a profile, under which the setting stands; any other is a key of NeMo RL's configuration.
SECTIONS = ("workload.", "platform.", "gpu.", "secrets")
#: Keys of a pool, which a hint names without its place.
OF_A_POOL = ("driver", "capacity")


def alternatives(hint: str) -> list[dict[str, Any]]:
    """The settings that a hint offers, one mapping for each ``or``; ``and`` joins two."""
    offered = [dict(SETTING.findall(part)) for part in re.split(r",? or |; or", hint)]
    return [{path: yaml.safe_load(value) for path, value in settings.items()} for settings in offered if settings]


def followed(trips: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """The edits of a profile with what a hint says over them."""
    edits = {key: dict(value) if isinstance(value, dict) else value for key, value in trips.items()}
    for path, value in settings.items():
        if path == "environment":
            edits["workload.environment"] = {**edits.get("workload.environment", {}), **value}
        elif path in OF_A_POOL:
            edits[f"gpu.pools[0].{path}"] = value
        elif path == "secrets":
            edits |= {f"secrets.{name}": reference for name, reference in value.items()}
        elif path.startswith(SECTIONS):
            edits[path] = value
        else:
            edits.setdefault("workload.overrides", {})
            written = [key for key in edits["workload.overrides"] if key.lstrip("+~") == path.lstrip("+~")]
            for key in written:
                del edits["workload.overrides"][key]
            edits["workload.overrides"][path] = value
    return edits


def hinted(found: list[Finding], case: Case) -> list[tuple[str, dict[str, Any]]]:
    """Message and settings of each hint of the case's rule."""
    return [
        (finding.message, settings)
        for finding in found
        if finding.rule == case.rule
        for settings in alternatives(finding.hint)
    ]


CASES = [*OF_THE_JOB, *CONDITIONS]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_hint_that_is_followed_passes(case: Case) -> None:
    found = everything(case.trips)
    before = {f.rule for f in found}
    for message, settings in hinted(found, case):
        after = everything(followed(dict(case.trips), settings))
        assert message not in [f.message for f in after if f.rule == case.rule], settings
        new = [f"{f.rule}: {f.message}" for f in after if f.severity is Severity.ERROR and f.rule not in before]
        assert new == [], settings


@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_generation_is_put_apart_on_any_number_of_nodes(nodes: int) -> None:
    trips = {
        "gpu.pools[0].nodes": 4,
        "workload.recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke",
        "workload.nodes": nodes,
        "workload.overrides": {
            "grpo.async_grpo.enabled": True,
            "policy.generation.vllm_cfg.async_engine": True,
            "loss_fn.use_importance_sampling_correction": True,
        },
    }
    (found,) = [finding for finding in everything(trips) if finding.severity is Severity.ERROR]
    settings, *_ = alternatives(found.hint)
    assert [f.message for f in everything(followed(trips, settings)) if f.severity is Severity.ERROR] == []


def test_there_are_hints_to_follow() -> None:
    followed = (hint for case in CASES for hint in hinted(everything(case.trips), case))
    assert len(list(islice(followed, 16))) == 16
