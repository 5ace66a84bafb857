"""What a reviewer reads first, for each kind of change, on plans of the real Terraform (simulated providers)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from groundplan.on_plans.assess import Assessment, Provenance, assess
from groundplan.site.stacks import rank
from plan_review import text
from plan_review.reading import plan_of
from review.sites import EDITS, Standing

GOLDEN = Path(__file__).parent / "golden"

#: Case -> verdict, and what the first ten lines must say: cause and consequence.
EXPECTED: dict[str, tuple[str, list[str]]] = {
    "first-creation": ("SAFE", ["everything is new", "0 -> 16"]),
    "driver": (
        "DANGEROUS",
        [
            "GPU pool a4-highgpu-8g is replaced",
            'gpu_driver_version: "DEFAULT" -> "LATEST"',
            "2 nodes with 16 B200 GPUs are drained",
            "running RayJob is lost",
        ],
    ),
    "zone": (
        "DANGEROUS",
        [
            'Lustre instance rl-lustre is replaced: location: "us-central1-b" -> "us-central1-c"',
            "36,000 GiB and ALL DATA on it are deleted",
            "GPU pool a4-highgpu-8g is replaced: it follows google_compute_network.rdma",
            "2 nodes with 16 B200 GPUs are drained",
            "7 more google_compute_subnetwork",
        ],
    ),
    "scale": (
        "NEEDS A DECISION",
        ["grows from 2 to 16 nodes", "16 -> 128 B200 GPUs", "+81,760 GPU-hours a month", "no running node is touched"],
    ),
    "authorized-network": (
        "NEEDS A DECISION",
        ["authorized network 10.200.0.0/24 (office) added", "a login is still"],
    ),
    "unprotected": (
        "NEEDS A DECISION",
        ["deletion_protection true -> false", "Terraform may destroy it", "the prod cluster rl has no deletion"],
    ),
    "lustre-grow": ("NEEDS A DECISION", ["36,000 -> 54,000", "no data is lost", "never shrink"]),
    "lustre-shrink": ("DANGEROUS", ["is to shrink: capacity_gib 36,000 -> 18,000", "Google refuses it"]),
    "lustre-throughput": (
        "DANGEROUS",
        [
            'Lustre instance rl-lustre is replaced: per_unit_storage_throughput: "500" -> "1000"',
            "ALL DATA on it are deleted",
        ],
    ),
    "kuberay": (
        "NEEDS A DECISION",
        ["kuberay-operator goes from 1.6.2 to 1.7.0", "CRDs stay at 1.6.2", "--version 1.7.0", "--server-side"],
    ),
    "job": (
        "NEEDS A DECISION",
        [
            "grpo.max_num_steps=10",
            "grpo.max_num_steps=300",
            "is deleted; if it still runs, it is lost",
            "1 worker with 8",
        ],
    ),
    "hand-edited": (
        "DANGEROUS",
        [
            "firewall rl-net-lustre admits 0.0.0.0/0",
            "opens every tcp port",
            "bucket my-data is public: allUsers gets roles/storage.objectViewer",
            "user:helper@example.com gets roles/editor on project my-project",
        ],
    ),
}


def reviewed(standing: Standing, case: str) -> Assessment:
    plans = [plan_of(document, name, f"{name}.json") for name, document in standing.plans(case).items()]
    return assess(sorted(plans, key=lambda plan: rank(plan.stack)), provenance=Provenance("0"))


def test_every_case_is_expected() -> None:
    assert set(EXPECTED) == {*EDITS, "first-creation", "hand-edited"}


@pytest.mark.parametrize("case", EXPECTED)
def test_the_first_ten_lines_say_it(standing: Standing, case: str) -> None:
    report = text.render(reviewed(standing, case))
    verdict, said = EXPECTED[case]
    first = "\n".join(report.splitlines()[:10])
    assert first.startswith(f"{verdict}: ")
    for words in said:
        assert words in first, words
    assert "simulated" in first.splitlines()[0]
    _golden(case, report)


def _golden(case: str, report: str) -> None:
    """The report as it was read and approved; set GROUNDPLAN_GOLDEN=write to write it anew."""
    file = GOLDEN / f"{case}.txt"
    body = report.partition("\nTo sign\n")[0] + "\n"
    if os.environ.get("GROUNDPLAN_GOLDEN") == "write":
        file.write_text(body, "utf-8")
    assert body == file.read_text("utf-8")


@pytest.mark.parametrize("case", [*EDITS, "hand-edited"])
def test_a_diff_without_state_says_what_the_plan_says(standing: Standing, case: str) -> None:
    from groundplan.on_plans.assess import compare_outputs

    def actions(plans: list[object]) -> dict[str, str]:
        return {c.address: str(c.action) for plan in plans for c in plan.changes if c.action not in ("no-op", "read")}  # type: ignore[attr-defined]

    planned = [plan_of(document, name) for name, document in standing.plans(case).items()]
    compared = compare_outputs(standing.outputs["base"], standing.outputs[case])
    assert actions(list(compared)) == actions(list(planned))
