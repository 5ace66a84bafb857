"""The rules that `check`, `diff` and `review` find broken, of one value given to each in its own form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from groundplan.on_plans.assess import Assessment, Provenance, assess, compare_outputs
from groundplan.site.check import all_findings
from groundplan.site.profile import parse_profile
from groundplan.site.resolve import resolve
from review.plans import create, judged

SMALL = {"project": "my-project", "zone": "us-central1-b", "reservation": "my-reservation"}


def check(**sections: Any) -> dict[str, str]:
    """Rule -> severity, of a profile."""
    profile, document = parse_profile(yaml.safe_dump(SMALL | sections))
    return {each.rule: str(each.severity) for each in all_findings(resolve(profile), document)}


def slugs(result: Assessment) -> dict[str, str]:
    return {each.rule: str(each.severity) for each in result.counting}


def review(*resources: tuple[str, dict[str, Any]]) -> dict[str, str]:
    """Rule -> severity, of a plan that creates the resources."""
    return slugs(judged(*(create(address, **values) for address, values in resources)))


def diff(folder: Path, *resources: tuple[str, dict[str, Any]]) -> dict[str, str]:
    """Rule -> severity, of two synth outputs: an empty one and one with the resources."""
    section: dict[str, dict[str, Any]] = {}
    for address, values in resources:
        kind, _, name = address.partition(".")
        section.setdefault(kind, {})[name] = values
    for side, content in (("old", {}), ("new", section)):
        place = folder / side / "stacks" / "site-network"
        place.mkdir(parents=True)
        (place / "cdk.tf.json").write_text(json.dumps({"resource": content}), "utf-8")
    return slugs(assess(compare_outputs(folder / "old", folder / "new"), provenance=Provenance("0")))
