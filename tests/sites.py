"""What the tests share: profiles in memory, and synthesized sites read back as plain JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from groundplan.checks import check_profile
from groundplan.profile import parse_profile
from groundplan.site import STACKS, Site
from groundplan.synthesis.app import write_site

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = sorted((ROOT / "profiles").glob("*.yaml"))

#: The smallest profile there is.
SMALL = """\
project: my-project
zone: us-central1-b
reservation: my-reservation
"""


def site_of(text: str) -> Site:
    """The checked Site of a profile's text; raises ProfileError when a rule refuses it."""
    return check_profile(*parse_profile(text))[0]


@dataclass(frozen=True)
class Synthesized:
    """A synthesized site: its folder, and each stack's JSON without cdktf's own comments."""

    site: Site
    folder: Path
    stacks: dict[str, dict[str, Any]]

    def resources(self, kind: str) -> dict[str, dict[str, Any]]:
        """Every resource of a type, by logical id, over all stacks."""
        found: dict[str, dict[str, Any]] = {}
        for stack in self.stacks.values():
            found |= stack.get("resource", {}).get(kind, {})
        return found

    def only(self, kind: str) -> dict[str, Any]:
        """The one resource of a type."""
        (resource,) = self.resources(kind).values()
        return resource

    def text(self) -> str:
        """Every generated file, one after the other."""
        return "\n".join(path.read_text("utf-8") for path in sorted(self.folder.rglob("*")) if path.is_file())


@cache
def synthesized(text: str = SMALL) -> Synthesized:
    """Synthesize a profile's text once per test session."""
    site = site_of(text)
    folder = Path(mkdtemp(prefix="groundplan-test-"))
    output = write_site(site, folder)
    stacks = {
        kind: _without_comments(json.loads(stack.file.read_text("utf-8")))
        for kind, stack in zip(STACKS, output.stacks, strict=True)
    }
    return Synthesized(site, folder, stacks)


def _without_comments(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_comments(item) for key, item in value.items() if key != "//"}
    if isinstance(value, list):
        return [_without_comments(item) for item in value]
    return value
