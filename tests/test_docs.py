"""The documentation is true: links lead somewhere, examples work, excerpts are what the program prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import groundplan.site.check  # noqa: F401  (registers the rules)
from findings import RULES
from groundplan.cli import COMMANDS
from sites import ROOT, code_blocks, documentation, documented_profiles, site_of, synthesized

PAGES = documentation()
README = (ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_profiles_in_the_documentation_pass_check(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for profile in documented_profiles(tmp_path, page):
        site_of(profile)


def test_the_machine_type_example_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    entry, use = code_blocks(ROOT / "docs" / "add-a-machine-type.md", "yaml")
    (tmp_path / "my-machines.yaml").write_text(entry)
    profile = "project: my-project\nzone: us-central1-b\nreservation: my-reservation\n" + use
    pool = synthesized(profile).resources("google_container_node_pool")["pool-a4-highgpu-8g-metal"]
    assert pool["node_config"]["machine_type"] == "a4-highgpu-8g-metal"
    assert pool["node_config"]["guest_accelerator"][0]["type"] == "nvidia-b200"


def test_the_readme_shows_what_synth_prints() -> None:
    site = synthesized((ROOT / "profiles" / "nemo-rl-b200.yaml").read_text("utf-8"))
    shown = dict(re.findall(r"^(nemo-rl-b200-\w+) +(\d+)  cdktf\.out", README, re.MULTILINE))
    counted = {
        site.site.stack_name(kind): str(sum(len(entries) for entries in stack["resource"].values()))
        for kind, stack in site.stacks.items()
    }
    assert shown == counted


def test_the_readme_excerpt_is_in_the_output() -> None:
    (excerpt,) = code_blocks(ROOT / "README.md", "json")
    site = synthesized((ROOT / "profiles" / "nemo-rl-b200.yaml").read_text("utf-8"))
    (pool,) = site.stacks["gpu"]["resource"]["google_container_node_pool"].values()
    for key, value in json.loads(f"{{{excerpt}}}").items():
        assert pool["node_config"][key] == value


def test_the_readme_names_every_command() -> None:
    named = set(re.findall(r"`groundplan ([\w-]+)", README))
    assert named >= set(COMMANDS)


def test_every_rule_and_command_the_pages_name_exists() -> None:
    for page in PAGES:
        for command in re.findall(r"`groundplan (\w+)[ `]", page.read_text("utf-8")):
            assert command in COMMANDS, f"{page.name}: groundplan {command}"


def test_every_rule_that_troubleshooting_names_exists() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    named = {
        slug
        for group in re.findall(r"[Rr]ules? ((?:`[-\w]+`(?:, )?)+)", text)
        for slug in re.findall(r"`(.+?)`", group)
    }
    assert len(named) > 5
    assert {slug for slug in named if not RULES.named(slug)} == set()


def test_the_map_names_every_page() -> None:
    named = set(re.findall(r"\]\(([-\w]+\.md)", (ROOT / "docs" / "README.md").read_text("utf-8")))
    assert named == {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
