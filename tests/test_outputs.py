"""Every stack tells what somebody needs next; nothing secret, and the same as the run-book says."""

from __future__ import annotations

import json

import pytest

from findings.redaction import printable_report
from groundplan.site.outputs import connect_command, outputs_of
from sites import SMALL, site_of, synthesized
from synth_sites import EXISTING, FULL


@pytest.mark.parametrize("text", [SMALL, FULL, EXISTING], ids=["small", "full", "existing"])
def test_each_stack_says_how_to_go_on(text: str) -> None:
    site = site_of(text)
    told = {entry.name: outputs_of(site, entry.name) for entry in site.stacks}
    for entry, after in zip(site.stacks, site.stacks[1:], strict=False):
        assert f"plan and apply {site.stack_name(after.name)} " in str(told[entry.name]["next_step"].value)
    assert "kubectl -n nemo-rl get pods" in str(told["workload"]["next_step"].value)
    words = json.dumps({kind: {n: each.value for n, each in found.items()} for kind, found in told.items()})
    assert printable_report(words)[1] == 0
    for secret in ("hugging_face", "wandb", "token"):
        assert secret not in words


def test_outputs_of_the_stacks() -> None:
    site = synthesized(SMALL)
    shown = {kind: stack["output"] for kind, stack in site.stacks.items()}
    assert shown["storage"]["lustre_mount_point"]["value"] == "${google_lustre_instance.lustre.mount_point}"
    assert "lustre" in site.stacks["storage"]["resource"]["google_lustre_instance"]
    assert shown["cluster"]["connect_command"]["value"] == connect_command(site.site)
    assert connect_command(site.site) in (site.folder / "runbook.md").read_text("utf-8")
    account = site.stacks["cluster"]["resource"]["google_service_account"]["nodes"]["account_id"]
    assert shown["cluster"]["nodes_account"]["value"] == f"{account}@my-project.iam.gserviceaccount.com"
    assert site.site.job
    assert shown["workload"]["job"]["value"] == site.site.job.name
    assert all(each["description"].endswith(".") for stack in shown.values() for each in stack.values())
