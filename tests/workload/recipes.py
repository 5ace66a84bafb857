"""NVIDIA's own recipes as profiles: what each sets over grpo_math_1B.yaml, as the overrides of a job."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from findings import Finding
from groundplan.nemo_rl.releases import config_keys
from workload.jobs import SECRETS, findings, site

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
OF_THE_SITE = {"cuda-driver", "gib-nccl"}

#: Tag -> the release that it is judged as, and whose keys are known of it.
RELEASES = {"main": ("v0.8.0", "v0.7.0")}

Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """The recipes of a file, one JSON object a line, without what the site sets."""
    rows: list[Row] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        row
        | {"overrides": {key: value for key, value in row["overrides"].items() if not LEFT_OUT.fullmatch(key)}}
        | {"removed": [key for key in row["removed"] if not LEFT_OUT.fullmatch(key)]}
        for row in rows
    ]


def spelled(key: str, leaves: dict[str, Any]) -> str:
    """Plain where the configuration has the key, or a null or empty parent; else with a plus."""
    if key in leaves or any(leaf.startswith(key + ".") for leaf in leaves):
        return key
    parents = [key[:n] for n, letter in enumerate(key) if letter == "."]
    known = [parent for parent in parents if parent in leaves]
    return key if known and leaves[known[-1]] in (None, {}, []) else "+" + key


def nodes_of(row: Row) -> int:
    script = row["script"] or {}
    on_the_command_line = any(argument.startswith("cluster.num_nodes=") for argument in script.get("arguments", ()))
    return int(script["nodes"] if on_the_command_line and script["nodes"] else row["nodes"])


def changed(row: Row, change: dict[str, Any]) -> Row:
    """The recipe with other values; ``~key`` takes one away, with what is below it."""
    overrides, removed = dict(row["overrides"]), list(row["removed"])
    for key, value in change.items():
        path = key.lstrip("+~")
        overrides = {k: v for k, v in overrides.items() if k != path and not k.startswith(path + ".")}
        removed = [each for each in removed if path != each and not path.startswith(each + ".")]
        if key.startswith("~"):
            removed.append(path)
        else:
            overrides[path] = value
    return {**row, "overrides": overrides, "removed": removed}


def judged(
    row: Row, machine: str, catalog: Path, nodes: int = 0, environment: dict[str, str] | None = None
) -> list[Finding]:
    """What the judge says of a recipe, on as many nodes of that machine as it asks for; `catalog` has `bare`."""
    release, keys = RELEASES.get(row["tag"], (row["tag"], row["tag"]))
    leaves, own = config_keys(keys), nodes_of(row)
    overrides = {spelled(key, leaves): value for key, value in row["overrides"].items()}
    overrides |= {"~" + key: None for key in row["removed"]}
    given = {k: v for k, v in row["environment"].items() if k.startswith("NRL_") and "$" not in v}
    workload = {
        "recipe": "bare",
        "release": release,
        "nodes": nodes or own,
        "overrides": overrides,
        "environment": {**given, **(environment or {})},
    }
    found = findings(site(machine, max(nodes, own), workload=workload, secrets=SECRETS, catalog=[str(catalog)]))
    return [finding for finding in found if finding.rule not in OF_THE_SITE]
