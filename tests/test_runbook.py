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
    assert re.findall(r"^step (\S+)$", text, re.MULTILINE) == stacks
    assert "auto-approve" not in text
    steps = re.findall(r"^(\d+)\. (?:`(.*?)`|the (peering) )", text.partition("one stack at a time")[2], re.MULTILINE)
    # The peering goes once the Lustre instance has, and before the network that it holds.
    peering = ["peering"] if site.site.network.access_created else []
    assert [name or what for _, name, what in steps] == [*stacks[:0:-1], *peering, stacks[0]]
    assert [int(number) for number, _, _ in steps] == list(range(1, len(steps) + 1))
    assert "-target" not in text
    assert "{{" not in text
    assert "None" not in text
    assert not re.search(r"[ \t]$", text, re.MULTILINE)


def test_crds_are_applied_server_side() -> None:
    text = (synthesized(SMALL).folder / "runbook.md").read_text("utf-8")
    applies = [line for line in text.splitlines() if "kubectl apply" in line and "crds" in line]
    assert applies
    assert all("--server-side" in line for line in applies)
    assert "--version 1.7.0" in text


def test_what_a_site_does_not_have_is_not_spoken_of() -> None:
    small = (synthesized(SMALL).folder / "runbook.md").read_text("utf-8")
    existing = (synthesized(EXISTING).folder / "runbook.md").read_text("utf-8")
    full = (synthesized(FULL).folder / "runbook.md").read_text("utf-8")
    cloud = (synthesized(TERRAFORM_CLOUD).folder / "runbook.md").read_text("utf-8")
    assert "## Shared VPC: the host project first" in existing
    assert "peerings delete" not in existing
    assert "Shared VPC" not in small
    peering = "gcloud compute networks peerings delete servicenetworking-googleapis-com --network="
    assert f"{peering}nemo-rl-net --project=my-project" in small
    assert peering in full
    assert "Set `prevent_destroy: false`" not in small
    assert "1. Set `prevent_destroy: false` and `cluster.deletion_protection: false` in the profile" in full
    assert "**protected**: set `cluster.deletion_protection: false`" in full
    assert "read -rs TF_VAR_hugging_face" in full
    assert "TF_VAR_wandb" not in full
    assert "The Secret `team-wandb` with key `api-key`" in full
    assert "organization `acme` (project `rl-sites`)" in cloud
    assert "terraform login" not in small


def test_nodes_are_upgraded_by_hand_while_upgrades_are_held() -> None:
    held = (synthesized(SMALL).folder / "runbook.md").read_text("utf-8")
    for pool in ("cpu-pool", "a4-highgpu-8g"):
        command = f"gcloud container clusters upgrade nemo-rl --node-pool={pool} --region=us-central1"
        assert f"{command} --project=my-project" in held
    free = SMALL + "cluster: {maintenance: {hold_upgrades: false}}\n"
    text = (synthesized(free).folder / "runbook.md").read_text("utf-8")
    assert "clusters upgrade" not in text
    assert "**it drains the GPU nodes**" in text


def test_prod_says_how_a_replacement_gets_past_its_guard() -> None:
    full = (synthesized(FULL).folder / "runbook.md").read_text("utf-8")
    small = (synthesized(SMALL).folder / "runbook.md").read_text("utf-8")
    sentence = "Where the table says **replaced**, the plan fails first: set `prevent_destroy: false`"
    assert sentence in full
    assert sentence not in small
    assert "All three are guarded, so that a plan to replace one fails: untaint is the only way on." in full
