"""YAML text: stable, literal blocks for scripts, and the same from libyaml's emitter and from the pure one."""

from __future__ import annotations

import pytest
import yaml

from groundplan.kernel import yaml_text
from groundplan.kernel.yaml_text import to_yaml
from groundplan.platform.objects import network_objects
from sites import synthesized
from synth_sites import SITES


class _Pure(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


_Pure.add_representer(str, yaml_text._text)


def pure(data: object) -> str:
    return yaml.dump(data, Dumper=_Pure, sort_keys=False, default_flow_style=False, width=1000, allow_unicode=True)


@pytest.mark.parametrize("name", sorted(SITES))
def test_both_emitters_write_the_same(name: str) -> None:
    site = synthesized(SITES[name]).site
    for data in ({"manifests": network_objects(site.fabrics[0].all_nics())}, *site.job_objects):
        assert to_yaml(data) == pure(data)
        assert yaml.safe_load(to_yaml(data)) == data


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\nset -eu\n",
        "no newline at the end\nhere",
        "",
        "yes",
        "0123",
        "1e3",
        "~",
        "- dash",
        "a: b",
        "ünïcode",
        "${x}",
        "x" * 500,
        "tab\there",
        "trailing \nspace\n",
    ],
)
def test_texts_survive(text: str) -> None:
    data = {"value": text}
    assert yaml.safe_load(to_yaml(data)) == data
    assert to_yaml(data) == pure(data)


@pytest.mark.parametrize(
    "text", ["1e3", "y", "N", "0o17", "+1E5", "08", "3", "0x1F", "1_000", "12:30", "2026-01-01", ".5", "On", "~", "1.7"]
)
def test_what_go_would_read_as_another_type_is_quoted(text: str) -> None:
    """Go's YAML, which kubectl and Helm use, reads more words as numbers and booleans than PyYAML does."""
    assert to_yaml({text: text}) == f"'{text}': '{text}'\n"


def test_scripts_are_literal_blocks_and_shared_parts_are_written_out() -> None:
    shared = {"app": "x"}
    assert to_yaml({"a": shared, "b": shared, "run.sh": "echo 1\necho 2\n"}) == (
        "a:\n  app: x\nb:\n  app: x\nrun.sh: |\n  echo 1\n  echo 2\n"
    )
