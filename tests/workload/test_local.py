"""Models by folder, caches and environments, and working offline."""

from __future__ import annotations

from typing import Any

import pytest

from workload.jobs import findings, objects, site

SMOKE = {"recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke", "release": "v0.6.0"}
SLUGS = ("local-model", "local-caches", "offline-models")


def told(**workload: Any) -> list[str]:
    found = findings(site("b200", workload=SMOKE | workload))
    return [f"{f.rule} {f.severity}: {f.message}" for f in found if f.rule in SLUGS]


@pytest.mark.parametrize("folder", ["/models/x", "./models/x", "~/x", "/database/x", "/data/../x"])
def test_a_model_off_the_volume_is_refused(folder: str) -> None:
    (line,) = told(overrides={"policy.model_name": folder, "policy.tokenizer.name": "/data/models/x"})
    assert line.startswith(f"local-model error: `policy.model_name` is {folder}")
    (line,) = told(overrides={"policy.model_name": folder, "policy.tokenizer.name": "/data/x"}, image="r.io/a/b:v0.6.0")
    assert line.startswith("local-model warning")


def test_the_tokenizer_follows_the_model_and_is_told_once() -> None:
    (line,) = told(overrides={"policy.model_name": "/models/x"})
    assert line.split("`")[1] == "policy.model_name"
    assert told(overrides={"policy.model_name": "/data/models/x"}) == []
    assert told(overrides={"policy.tokenizer.name": "/path/to/tokenizer"}) == []


def test_a_prefetch_fetches_no_folder_and_is_never_offline() -> None:
    of = site(
        "b200",
        workload=SMOKE
        | {
            "overrides": {"policy.model_name": "/data/models/x"},
            "prefetch": {"enabled": True, "models": ["a/b"]},
            "environment": {"HF_HUB_OFFLINE": "1", "MINE": "1"},
        },
    )
    assert of.job is not None
    assert of.job.models == ("a/b",)
    (container,) = objects(of)["Job"]["spec"]["template"]["spec"]["containers"]
    names = [each["name"] for each in container["env"]]
    assert "HF_HUB_OFFLINE" not in names
    assert "MINE" in names


def test_environments_and_caches() -> None:
    assert told(environment={"NEMO_RL_VENV_DIR": "/opt/ray_venvs"}) == []
    (line,) = told(environment={"NEMO_RL_VENV_DIR": "/data/venvs"})
    assert "built once, on the shared volume, from the network" in line
    assert told(environment={"NEMO_RL_VENV_DIR": "/x"}, image="r.io/a/b:v0.6.0") == []
    assert told(environment={"HF_DATASETS_CACHE": "/data/cache"}) == []
    (line,) = told(environment={"TRANSFORMERS_CACHE": "/tmp/x"})
    assert "each node downloads anew" in line


def test_offline() -> None:
    (line,) = told(environment={"HF_HUB_OFFLINE": "yes"})
    assert "HF_HUB_OFFLINE keeps the job from downloading Qwen/Qwen2.5-1.5B, data set gsm8k" in line
    (line,) = told(environment={"TRANSFORMERS_OFFLINE": "1"}, prefetch={"enabled": True})
    assert line.endswith("downloading data set gsm8k")
    (line,) = told(environment={"HF_DATASETS_OFFLINE": "1"})
    assert line.endswith("downloading data set gsm8k")
    (line,) = told(environment={"HF_HUB_OFFLINE": "1"}, prefetch={"enabled": True}, release="v0.5.0")
    assert line.endswith("downloading openai/gsm8k")
    local = {
        "policy.model_name": "/data/models/x",
        "data.train.dataset_name": "ResponseDataset",
        "++data.train.data_path": "/data/train.jsonl",
        "data.validation": {"dataset_name": "ResponseDataset", "data_path": "/data/test.jsonl"},
    }
    assert told(environment={"HF_HUB_OFFLINE": "1"}, overrides=local) == []
    assert told(environment={"HF_HUB_OFFLINE": "0"}) == []
