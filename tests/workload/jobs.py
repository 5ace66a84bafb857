"""Sites with jobs, in memory: a profile's text over the smallest one, resolved but not judged."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from findings import Finding
from groundplan.platform.kueue import kueue_objects
from groundplan.site.profile import parse_profile
from groundplan.site.resolve import Site, resolve

SECRETS = {"hugging_face": {"variable": True}, "wandb": {"variable": True}}
#: GPUs of a node -> a machine that has so many.
BY_GPUS = {8: "h200", 4: "a4x-highgpu-4g"}
MACHINES = {"b200": "a4-highgpu-8g", "h200": "a3-ultragpu-8g"}
RELEASES = ("v0.4.0", "v0.5.0", "v0.6.0", "v0.7.0")
RECIPES = (
    "grpo-gemma3-27b-gsm8k",
    "grpo-qwen2.5-1.5b-gsm8k-smoke",
    "grpo-llama3.1-8b-gsm8k",
    "grpo-llama3.1-8b-megatron",
    "grpo-qwen3-32b-megatron",
    "grpo-llama3.3-70b-megatron",
)


def profile_data(machine: str = "b200", nodes: int = 8, **sections: Any) -> dict[str, Any]:
    """A profile with one pool of `nodes`, both secrets, and `sections` over it."""
    data: dict[str, Any] = {
        "project": "my-project",
        "zone": "us-central1-b",
        "reservation": "my-reservation",
        "gpu": {"pools": [{"machine_type": MACHINES.get(machine, machine), "nodes": nodes}]},
        "secrets": SECRETS,
    }
    return data | sections


def site(machine: str = "b200", nodes: int = 8, workload: dict[str, Any] | None = None, **sections: Any) -> Site:
    """A resolved site; `workload` is that section."""
    data = profile_data(machine, nodes, workload=workload or {}, **sections)
    return _resolved(yaml.safe_dump(data, sort_keys=False))


@cache
def _resolved(text: str) -> Site:
    return resolve(parse_profile(text)[0])


def objects(of: Site) -> dict[str, dict[str, Any]]:
    """The manifest's objects by kind."""
    return {document["kind"]: document for document in of.job_objects}


def train_script(of: Site, image: Path) -> str:
    """The train script with folders of this machine: `image` for NeMo RL's, its file `container` for the container's
    output, its folder `scripts`, where the other scripts are put, for the ConfigMap."""
    data = objects(of)["ConfigMap"]["data"]
    mounted = image / "scripts"
    mounted.mkdir(exist_ok=True)
    (image / "container").touch()
    places = {"/opt/nemo-rl": str(image), "/proc/1/fd/1": str(image / "container"), "/etc/groundplan": str(mounted)}
    for name, text in data.items():
        for place, here in places.items():
            text = text.replace(place, here)
        (mounted / name).write_text(text)
    return (mounted / "train.sh").read_text()


def findings(of: Site) -> list[Finding]:
    """What the workload's rules say."""
    import groundplan.workload.rules  # noqa: F401  (registers them)
    from findings import RULES, Subject

    return [f for rule in RULES.of(Subject.SITE).values() if rule.topic == "workload" for f in rule.findings(of)]


def slugs(of: Site) -> set[str]:
    """Slugs of the rules that speak."""
    return {finding.rule for finding in findings(of)}


def queue_objects(of: Site) -> dict[str, dict[str, Any]]:
    """The objects of the queue of a site that has one."""
    assert of.queue is not None
    return kueue_objects(of.queue)
