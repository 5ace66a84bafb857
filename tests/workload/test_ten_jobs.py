"""Ten jobs of the catalog's recipes, as they are written: the train script and the Ray object, for people to read.

``scripts/test tests/workload/test_ten_jobs.py --regen-all`` rewrites them; their diff is how a change of the job is
reviewed. Each is held to the CRDs of four KubeRay releases.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from groundplan.kernel.yaml_text import to_yaml
from workload.crds import VERSIONS, problems
from workload.jobs import findings, objects, site

FOLDER = Path(__file__).with_name("ten_jobs")
GEMMA, SMOKE = "grpo-gemma3-27b-gsm8k", "grpo-qwen2.5-1.5b-gsm8k-smoke"
LLAMA, MEGATRON = "grpo-llama3.1-8b-gsm8k", "grpo-llama3.1-8b-megatron"
ON = {"enabled": True}
#: Name -> machine, KubeRay-independent workload.
JOBS: dict[str, tuple[str, dict[str, Any]]] = {
    "the-tutorials": ("b200", {"recipe": GEMMA}),
    "smoke-v0.7.0": ("h200", {"recipe": SMOKE, "release": "v0.7.0"}),
    "data-made-first-v0.5.0": ("h200", {"recipe": SMOKE, "release": "v0.5.0", "prefetch": ON}),
    "export-consolidated-with-retries": ("b200", {"recipe": LLAMA, "export": ON, "retries": 2}),
    "export-by-converter": (
        "b200",
        {"recipe": LLAMA, "export": ON, "overrides": {"checkpointing.model_save_format": "torch_save"}},
    ),
    "export-megatron-v0.7.0": ("b200", {"recipe": MEGATRON, "release": "v0.7.0", "export": ON}),
    "resumed": ("h200", {"recipe": "grpo-qwen3-32b-megatron", "resume_from": "grpo-qwen3-32b-megatron-0a1b2c3d"}),
    "preflight-on-eight-nodes": ("b200", {"recipe": "grpo-llama3.3-70b-megatron", "preflight": ON}),
    "interactive": ("h200", {"recipe": GEMMA, "mode": "cluster"}),
    "submitter-suspended": ("b200", {"recipe": SMOKE, "submission": "K8sJobMode", "suspend": True}),
}


@pytest.mark.parametrize("name", JOBS)
def test_the_job_is_as_it_was_read(name: str, file_regression: FileRegressionFixture) -> None:
    machine, workload = JOBS[name]
    of = site(machine, workload=workload)
    assert [f.message for f in findings(of) if f.severity.value == "error"] == []
    found = objects(of)
    ray = found.get("RayJob") or found["RayCluster"]
    text = found["ConfigMap"]["data"]["train.sh"] + "\n# ---\n" + to_yaml(ray)
    file_regression.check(text, encoding="utf-8", newline="\n", fullpath=FOLDER / f"{name}.txt")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", JOBS)
def test_every_kuberay_takes_it(name: str, version: str) -> None:
    machine, workload = JOBS[name]
    found = objects(site(machine, workload=workload, platform={"kuberay": {"version": version}}))
    assert problems(found.get("RayJob") or found["RayCluster"], version) == []
