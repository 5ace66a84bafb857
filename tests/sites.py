"""What the tests share: profiles in memory, and synthesized sites read back as plain JSON."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import yaml

from groundplan.emit.app import write_site
from groundplan.site.check import check_profile
from groundplan.site.profile import parse_profile
from groundplan.site.resolve import Site

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = sorted((ROOT / "profiles").glob("*.yaml"))

#: Where the processes of one test run keep what synth writes; set by conftest.
SHARED: Path | None = None

#: The smallest profile there is.
SMALL = """\
project: my-project
zone: us-central1-b
reservation: my-reservation
"""


def run(*arguments: str, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a user would, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "groundplan", *arguments],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


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

    def values(self, stack: str, release: str) -> dict[str, Any]:
        """The values that a Helm release is given; they stand in a file."""
        (read,) = self.stacks[stack]["resource"]["helm_release"][release]["values"]
        assert read == f'${{file("${{path.module}}/manifests/{release}.yaml")}}'
        file = self.folder / "stacks" / self.site.stack_name(stack) / "manifests" / f"{release}.yaml"
        found: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
        return found

    def manifests(self, stack: str, release: str) -> dict[str, dict[str, Any]]:
        """The Kubernetes objects that a release of the pass-through chart brings, by the keys of its values."""
        found: dict[str, dict[str, Any]] = self.values(stack, release)["manifests"]
        return found

    def text(self) -> str:
        """Every generated file, one after the other."""
        return "\n".join(path.read_text("utf-8") for path in sorted(self.folder.rglob("*")) if path.is_file())


@cache
def synthesized(text: str = SMALL) -> Synthesized:
    """Synthesize a profile's text once per test run: its processes share what one of them has written."""
    site = site_of(text)
    folder = _written_once(site, text)
    stacks = {
        entry.name: _without_comments(
            json.loads((folder / "stacks" / site.stack_name(entry.name) / "cdk.tf.json").read_text("utf-8"))
        )
        for entry in site.stacks
    }
    return Synthesized(site, folder, stacks)


def written(text: str, folder: Path) -> Path:
    """A copy of what synth writes for a profile's text, to be changed at will."""
    return Path(shutil.copytree(synthesized(text).folder, folder))


def _written_once(site: Site, text: str) -> Path:
    """The folder of a site's output; two processes that come at once both write, and the first one's stays."""
    root = SHARED or Path(mkdtemp(prefix="groundplan-test-"))
    folder = root / hashlib.sha256(text.encode()).hexdigest()[:16]
    if not folder.exists():
        own = Path(mkdtemp(dir=root))
        write_site(site, own)
        with contextlib.suppress(OSError):  # the other process was faster
            own.rename(folder)
    return folder


def documentation() -> list[Path]:
    """Every page of the documentation."""
    return [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def code_blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def documented_profiles(folder: Path, page: Path) -> list[str]:
    """The whole profiles of a page (the YAML blocks that name a project); the catalog files they use go to `folder`.

    A catalog file is a block with a `source:` whose first line is its name, ``# my-machines.yaml``. The page of the
    rules has none: half of its profiles are wrong on purpose, and the rules' own tables run them.
    """
    if page.name == "rules.md":
        return []
    profiles = []
    for block in code_blocks(page, "yaml"):
        name = re.match(r"# (\S+\.yaml)\n", block)
        if re.search(r"^source:", block, re.MULTILINE):
            if name:
                (folder / name[1]).write_text(block)
        elif re.search(r"^project:", block, re.MULTILINE):
            profiles.append(block)
    return profiles


def _without_comments(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_comments(item) for key, item in value.items() if key != "//"}
    if isinstance(value, list):
        return [_without_comments(item) for item in value]
    return value
