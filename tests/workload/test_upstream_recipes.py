"""False alarms over NVIDIA's own GRPO recipes: each is composed as a profile's overrides, and nothing may be said.

The recipes are data that the project does not hold: one JSON object a line, with tag, nodes, and what the composed
configuration sets over grpo_math_1B.yaml and takes away. What the site sets itself is left out.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from findings import Finding, Severity
from groundplan.nemo_rl.releases import config_keys
from workload.jobs import SECRETS, findings, site

RECIPES = Path(__file__).parents[2].parent / "shared" / "reference" / "nemo" / "upstream-recipes.jsonl"
TAGS = ("v0.4.0", "v0.5.0", "v0.6.0", "v0.7.0")
#: What the site sets.
LEFT_OUT = re.compile(
    r"cluster\.(num_nodes|gpus_per_node)|checkpointing\.checkpoint_dir|logger\.log_dir|logger\.wandb_enabled"
    r"|logger\.(wandb|swanlab|mlflow|tensorboard)\..*"
)
#: A recipe that sets nothing over grpo_math_1B.yaml.
BARE = """\
recipes:
  bare: {summary: the base config alone, config: examples/configs/grpo_math_1B.yaml, nodes: 1, overrides: {}}
"""
#: About the machine, whatever the recipe.
OF_THE_SITE = {"cuda-driver"}


def spelled(key: str, leaves: dict[str, Any]) -> str:
    """Plain where the configuration has the key, or a null or empty parent; else with a plus."""
    if key in leaves or any(leaf.startswith(key + ".") for leaf in leaves):
        return key
    parents = [key[:n] for n, letter in enumerate(key) if letter == "."]
    known = [parent for parent in parents if parent in leaves]
    return key if known and leaves[known[-1]] in (None, {}, []) else "+" + key


def nodes_of(row: dict[str, Any]) -> int:
    script = row["script"] or {}
    on_the_command_line = any(argument.startswith("cluster.num_nodes=") for argument in script.get("arguments", ()))
    return int(script["nodes"] if on_the_command_line and script["nodes"] else row["nodes"])


def judged(row: dict[str, Any], machine: str, catalog: Path) -> list[Finding]:
    """What the judge says of a recipe, on as many nodes of that machine as it asks for; `catalog` has `bare`."""
    leaves, nodes = config_keys(row["tag"]), nodes_of(row)
    overrides = {spelled(k, leaves): v for k, v in row["overrides"].items() if not LEFT_OUT.fullmatch(k)}
    overrides |= {"~" + key: None for key in row["removed"] if not LEFT_OUT.fullmatch(key)}
    environment = {k: v for k, v in row["environment"].items() if k.startswith("NRL_") and "$" not in v}
    workload = {
        "recipe": "bare",
        "release": row["tag"],
        "nodes": nodes,
        "overrides": overrides,
        "environment": environment,
    }
    found = findings(site(machine, nodes, workload=workload, secrets=SECRETS, catalog=[str(catalog)]))
    return [finding for finding in found if finding.rule not in OF_THE_SITE]


@pytest.mark.skipif(not RECIPES.exists(), reason="NVIDIA's recipes are not at hand (../shared/reference/nemo)")
@pytest.mark.parametrize("tag", TAGS)
def test_no_false_alarm_over_nvidias_recipes(tag: str, tmp_path: Path) -> None:
    bare = tmp_path / "bare.yaml"
    bare.write_text(BARE, "utf-8")
    rows = [json.loads(line) for line in RECIPES.read_text("utf-8").splitlines()]
    ours = [row for row in rows if row["tag"] == tag and row["gpus_per_node"] == 8]
    assert len(ours) > 20
    told = [(row["file"], finding) for row in ours for finding in judged(row, "h200", bare)]
    alarms = [f"{file}: {finding.rule}: {finding.message}" for file, finding in told]
    assert [a for a, (_, finding) in zip(alarms, told, strict=True) if finding.severity is Severity.ERROR] == []
    assert alarms == []
