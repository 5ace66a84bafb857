"""The run-book is about this very site, in the right order, with nothing left unfilled."""

from __future__ import annotations

import re

import pytest

from sites import SMALL, synthesized
from synth_sites import EXISTING, FULL, SITES, TERRAFORM_CLOUD


@pytest.mark.parametrize("name", sorted(SITES))
def test_stacks_in_order_and_reverse(name: str) -> None:
    site = synthesized(SITES[name])
    text = (site.folder / "runbook.md").read_text("utf-8")
    stacks = [f"{site.site.name}-{kind}" for kind in ("network", "storage", "cluster", "gpu", "platform", "workload")]
    assert f"for stack in {' '.join(stacks)}; do" in text
    assert [re.search(rf"^{n}\. `(.*?)`", text, re.MULTILINE)[1] for n in range(1, 7)] == stacks[::-1]  # type: ignore[index]
    assert "-target" not in text
    assert "{{" not in text
    assert "None" not in text
    assert not re.search(r"[ \t]$", text, re.MULTILINE)


def test_crds_are_applied_server_side() -> None:
    text = (synthesized(SMALL).folder / "runbook.md").read_text("utf-8")
    applies = [line for line in text.splitlines() if "kubectl apply" in line]
    assert applies
    assert all("--server-side" in line for line in applies)
    assert "--version 1.7.0" in text


def test_what_a_site_does_not_have_is_not_spoken_of() -> None:
    small = (synthesized(SMALL).folder / "runbook.md").read_text("utf-8")
    existing = (synthesized(EXISTING).folder / "runbook.md").read_text("utf-8")
    full = (synthesized(FULL).folder / "runbook.md").read_text("utf-8")
    cloud = (synthesized(TERRAFORM_CLOUD).folder / "runbook.md").read_text("utf-8")
    assert "## Shared VPC: the host project first" in existing
    assert "vpc-peerings delete" not in existing
    assert "Shared VPC" not in small
    assert "only abandoned by Terraform" in small
    assert "only abandoned by Terraform" not in full
    assert "**protected**: set `cluster.deletion_protection: false`" in full
    assert "read -rs TF_VAR_hugging_face" in full
    assert "TF_VAR_wandb" not in full
    assert "The Secret `team-wandb` with key `api-key`" in full
    assert "organization `acme` (project `rl-sites`)" in cloud
    assert "terraform login" not in small
