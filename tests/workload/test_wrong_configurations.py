"""One condition of NeMo RL broken in one of NVIDIA's recipes: it is refused, and what the hint says mends it.

A finding names key, value, condition, release and the least mend; followed, nothing is wrong any more.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from findings import Finding, Severity
from groundplan.nemo_rl.conditions_page import TABLES
from groundplan.nemo_rl.stated import catalog, shown
from workload.recipes import BARE, Row, changed, judged, read
from workload.test_hints import alternatives

FOLDER = Path(__file__).parent / "upstream"
RECIPES = {f"{row['tag']} {Path(row['file']).stem}": row for row in read(FOLDER / "recipes.jsonl")}
WRONG: list[dict[str, Any]] = yaml.safe_load((FOLDER / "wrong.yaml").read_text("utf-8"))
#: Conditions without a wrong configuration here -> why.
NOT_HERE = {
    "A6": "what A3 says, once more",
    "B11": "needs a training on one GPU",
    "C6": "none of the recipes here is of Gemma 3 on several copies; a case of the rules' table",
    "C10": "a warning: depends on how long responses get; a case of the rules' table",
    "C11": "follows from A2 and A3",
    "C13": "a warning: not known whether NeMo RL asks; a case of the rules' table",
    "I6": "a warning: an image of one's own may hold the file; a case of the rules' table",
    "J6": "of the export, not of the configuration",
}
#: Steps after which following hints must have led to a configuration that passes.
STEPS = 3


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("catalog") / "bare.yaml"
    path.write_text(BARE, "utf-8")
    return path


def serious(found: list[Finding], condition: str) -> list[Finding]:
    """The errors; for a condition that is a warning, all. The forecast of memory is no condition, and sees more."""
    warned = any(c.name == condition and not c.sure for table in TABLES.values() for c in table)
    judged_by_condition = [each for each in found if each.rule != "model-fit"]
    return [each for each in judged_by_condition if warned or each.severity is Severity.ERROR]


def names(finding: Finding, change: dict[str, Any], condition: str) -> bool:
    """Whether the finding names a key of the change with its value, and the condition."""
    told = condition == "type" or re.search(rf"conditions? [^:]*\b{condition}\b[^:]* of NeMo RL", finding.message)
    return bool(told) and any(_named(finding.message, key, value) for key, value in change.items())


def _named(message: str, key: str, value: Any) -> bool:
    path = key.lstrip("+~")
    if isinstance(value, dict):
        return any(_named(message, f"{path}.{inner}", each) for inner, each in value.items())
    if isinstance(value, list):  # of a mapping or several words, one is told
        return f"`{path}`" in message
    return f"{path}`" in message and (key.startswith("~") or shown(value) in message)


def followed(row: Row, hint: str, number: int) -> tuple[Row, dict[str, Any]] | None:
    """The recipe with one of the ways of a hint done, and the keys of the profile that it names; None when there is
    none."""
    ways = alternatives(hint)
    if number >= len(ways):
        return None
    ours = {key.lstrip("+~"): value for key, value in ways[number].items() if "." in key and key != "workload.nodes"}
    return changed(row, ours), {key: value for key, value in ways[number].items() if key not in ours}


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: f"{w['condition']}-{w['recipe']}-{'-'.join(w['change'])}")
def test_a_broken_condition_is_refused_and_mended(wrong: dict[str, Any], bare: Path) -> None:
    row, condition, change = RECIPES[wrong["recipe"]], wrong["condition"], wrong["change"]
    broken = changed(row, change)
    found = serious(judged(broken, "h200", bare), condition)
    assert [f for f in found if names(f, change, condition)], [f.message for f in found]
    assert all(row["tag"] in f.message for f in found), [f.message for f in found]
    # Every way of the first hint is right; of several findings, the first ways together are.
    for number in range(len(alternatives(found[0].hint)) if len(found) == 1 else 1):
        now, left = broken, found
        nodes, environment = 0, {}
        for _ in range(STEPS):
            done = followed(now, left[0].hint, number)
            if done is None:
                break
            now, profile = done
            nodes, environment = profile.get("workload.nodes", nodes), environment | profile.get("environment", {})
            left, number = serious(judged(now, "h200", bare, nodes, environment), condition), 0
            if not left or len(found) == 1:
                break
        taken_out = any(key.startswith("~") for key in change) and "out" in left[0].hint if left else False
        assert taken_out or [f.message for f in left] == []


def test_every_condition_that_is_judged_is_broken_here() -> None:
    judged_ones = {name for name, entry in catalog().items() if "offline" not in entry}
    assert {wrong["condition"] for wrong in WRONG} - {"type"} | set(NOT_HERE) == judged_ones
    assert len(WRONG) > 100
    assert {wrong["recipe"].split()[0] for wrong in WRONG} == {"v0.4.0", "v0.5.0", "v0.6.0", "v0.7.0"}
