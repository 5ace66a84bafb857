"""Rules of keys, types, resources, names, image, driver, environment: one input that trips each, one that does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from findings import Finding, Severity
from groundplan.site.profile import Profile
from groundplan.site.resolve import resolve
from workload.jobs import findings, profile_data, site, slugs

SMOKE = "grpo-qwen2.5-1.5b-gsm8k-smoke"


def one(
    rule: str, workload: dict[str, Any] | None = None, machine: str = "h200", nodes: int = 8, **more: Any
) -> Finding:
    """The one finding of a rule."""
    found = [f for f in findings(site(machine, nodes, {"recipe": SMOKE} | (workload or {}), **more)) if f.rule == rule]
    assert len(found) == 1, found
    assert found[0].hint
    return found[0]


def overridden(path: str, value: Any, rule: str, release: str = "v0.6.0") -> Finding:
    return one(rule, {"overrides": {path: value}, "release": release})


def silent(workload: dict[str, Any], *rules: str, **more: Any) -> None:
    assert not slugs(site(workload={"recipe": SMOKE} | workload, **more)) & set(rules)


def test_a_plain_site_is_silent() -> None:
    assert findings(site()) == []
    assert findings(site("h200", workload={"recipe": SMOKE}, secrets={})) == []


def test_unknown_names_have_a_near_match() -> None:
    (recipe,) = findings(site(workload={"recipe": "grpo-gemma3-27b-gsm8"}))
    assert (recipe.rule, recipe.hint) == ("unknown-recipe", "did you mean `grpo-gemma3-27b-gsm8k`?")
    (release,) = findings(site(workload={"release": "v0.6.1"}))
    assert (release.rule, release.hint) == ("unknown-release", "did you mean `v0.6.0`?")


@pytest.mark.parametrize(
    ("path", "release", "hint"),
    [
        ("grpo.max_num_step", "v0.6.0", "did you mean `grpo.max_num_steps`?"),
        ("policy.train_global_batchsize", "v0.6.0", "did you mean `policy.train_global_batch_size`?"),
        ("policy.tensor_parallel_size", "v0.6.0", "policy."),
        ("data.dataset_name", "v0.6.0", "from v0.6.0 on it is `data.train.dataset_name`"),
        ("data.train.dataset_name", "v0.5.0", "before v0.6.0 it is `data.dataset_name`"),
        ("cluster.segment_size", "v0.6.0", "write `+cluster.segment_size`"),
        ("policy.model_name.revision", "v0.6.0", ""),
        ("grpo", "v0.6.0", ""),
    ],
)
def test_unknown_keys(path: str, release: str, hint: str) -> None:
    value: Any = {} if path == "grpo" else 1
    assert hint in overridden(path, value, "config-key", release).hint


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("+grpo.seed", 1),
        ("~grpo.sed", None),
        ("+++a.b", 1),
        ("a b", 1),
        ("policy.x=1 policy.y", 1),
    ],
)
def test_wrong_prefixes_and_paths(path: str, value: Any) -> None:
    overridden(path, value, "config-key")


@pytest.mark.parametrize(
    "overrides",
    [
        {"+policy.new_key": 1},
        {"++grpo.seed": 1},
        {"~grpo.seed": None},
        {"cluster.segment_size": None},
        {"policy.generation.vllm_kwargs.anything": 1},
        {"policy.generation.vllm_kwargs": {"a": {"b": 1}}},
        {"policy.dtensor_cfg.custom_parallel_plan": "my.module"},
        {"policy.optimizer": None},
        {"data.validation": {"dataset_name": "gsm8k", "split": "test"}},
        {"data.train.subset": "main"},
        {"policy.logprob_batch_size": "${policy.train_micro_batch_size}"},
    ],
)
def test_good_keys(overrides: dict[str, Any]) -> None:
    silent({"overrides": overrides, "release": "v0.7.0"}, "config-key", "config-type", "config-sweep")


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("grpo.max_num_steps", "10", "must be a whole number"),
        ("grpo.max_num_steps", 10.5, "must be a whole number"),
        ("grpo.max_num_steps", True, "must be a whole number"),
        ("grpo.max_num_steps", None, "must be a whole number"),
        ("checkpointing.enabled", "yes", "must be true or false"),
        ("checkpointing.enabled", 1, "must be true or false"),
        ("policy.model_name", 5, "must be text"),
        ("policy.optimizer.kwargs.lr", "small", "must be a number"),
        ("policy.optimizer.kwargs.eps", "tiny", "must be a number"),
        ("policy.optimizer.kwargs.betas", 0.9, "must be a list"),
        ("policy.optimizer", "adam", "must be a group"),
        ("policy.generation.vllm_cfg", 4, "must be a group"),
    ],
)
def test_wrong_types(path: str, value: Any, words: str) -> None:
    assert words in overridden(path, value, "config-type").message


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("policy.optimizer.kwargs.lr", 1),
        ("policy.max_grad_norm", 2),
        ("policy.megatron_cfg.optimizer.adam_eps", 1e-6),
        ("grpo.batch_multiplier", 1.5),
        ("policy.precision", "float16"),
    ],
)
def test_right_types(path: str, value: Any) -> None:
    silent({"overrides": {path: value}}, "config-type")


def test_sweeps_are_refused() -> None:
    assert "sweep" in overridden("policy.train_micro_batch_size", "1,2", "config-type").hint
    assert "is a sweep" in overridden("grpo.seed", "choice(1,2)", "config-sweep").message
    assert "is a sweep" in overridden("logger.wandb.name", "range(1, 9)", "config-sweep").message


@pytest.mark.parametrize(
    ("workload", "rule", "words"),
    [
        ({"worker": {"cpu": 16}}, "worker-resources", "2 x 8 GPUs + 1 = 17"),
        ({"worker": {"cpu": 224}}, "worker-resources", "workload.worker.cpu 224 is more than 222"),
        ({"worker": {"memory": "2900Gi"}}, "worker-resources", "2900 GiB is more than"),
        ({"worker": {"memory": "2400"}}, "worker-resources", "is below 4Gi"),
        ({"worker": {"shm": "2400Gi"}}, "worker-resources", "leaves none of it"),
        ({"worker": {"shm": "240"}}, "worker-resources", "is below 1Gi"),
        ({"head": {"cpu": 16}}, "head-resources", "the head's CPUs 16 is more than 14"),
        ({"head": {"memory": "500G"}}, "head-resources", "500G = 465.7 GiB is more than"),
        ({"nodes": 9}, "job-pool", "9 workers need 9 nodes; pool a3-ultragpu-8g has at most 8"),
        ({"pool": "other"}, "job-pool", "there is no GPU pool `other`"),
        ({"name": "a" * 39}, "job-name", "39 characters is above 38"),
        ({"image": "nvcr.io/nvidia/nemo-rl:v0.5.0"}, "job-image", "tag v0.5.0 is not NeMo RL v0.6.0"),
        ({"environment": {"HF_TOKEN": "x"}}, "job-environment", "names a secret"),
        ({"environment": {"LD_LIBRARY_PATH": "/x"}}, "job-environment", "sets `LD_LIBRARY_PATH` itself"),
        ({"environment": {"ENABLE_LOGIN_SHELL": "1"}}, "job-environment", "not on the path"),
        ({"export": {"enabled": True}, "mode": "cluster"}, "export-backend", "no end of training"),
        (
            {"export": {"enabled": True}, "overrides": {"policy.dtensor_cfg.lora_cfg.enabled": True}},
            "export-backend",
            "DTensor's adapters",
        ),
    ],
)
def test_errors(workload: dict[str, Any], rule: str, words: str) -> None:
    found = one(rule, workload)
    assert found.severity is Severity.ERROR
    assert words in found.message


def test_verls_memory_fits_a4_and_not_a3_ultra() -> None:
    """tutorial.md 16: GKE keeps some 66 of the 2952 GiB of an A3 Ultra; an A4 has 3968."""
    asked = {"worker": {"memory": "2830Gi", "cpu": 220}}
    silent(asked, "worker-resources")
    one("worker-resources", {"worker": {"memory": "2890Gi", "cpu": 220}})


def test_half_the_cpus_do_apart_from_generation() -> None:
    recipe = {"recipe": "grpo-gemma3-27b-gsm8k"}
    assert "worker-resources" not in slugs(site(workload={**recipe, "worker": {"cpu": 9}}))
    assert "worker-resources" in slugs(site(workload={**recipe, "worker": {"cpu": 8}}))


@pytest.mark.parametrize(("environment", "severity"), [("prod", Severity.ERROR), ("dev", Severity.WARNING)])
@pytest.mark.parametrize("image", ["registry.example/nemo-rl:latest", "registry.example/nemo-rl", "x/y:nightly"])
def test_moving_images(environment: str, severity: Severity, image: str) -> None:
    assert one("job-image", {"image": image}, environment=environment).severity is severity


def test_mirrors_and_digests_pass() -> None:
    silent({"image": "registry.example:5000/nemo-rl:v0.6.0"}, "job-image")
    silent({"image": "registry.example/nemo-rl:v0.6.0-patched.3"}, "job-image")
    silent({"image": "registry.example/nemo-rl@sha256:" + "a" * 64}, "job-image")


def test_cuda_13_needs_a_newer_driver() -> None:
    found = one("cuda-driver", {"release": "v0.7.0"})
    assert found.severity is Severity.WARNING
    assert "CUDA 13.2, which needs driver R580" in found.message
    latest = [{"machine_type": "a4-highgpu-8g", "nodes": 2, "driver": "LATEST"}]
    silent({"release": "v0.7.0"}, "cuda-driver", gpu={"pools": latest})
    silent({"release": "v0.5.0"}, "cuda-driver")


def test_keys_for_gated_models_and_wandb() -> None:
    assert (
        "google/gemma-3-27b-it is a gated model"
        in one("gated-model", {"recipe": "grpo-gemma3-27b-gsm8k"}, secrets={"hugging_face": None}).message
    )
    one("gated-model", {"overrides": {"policy.model_name": "meta-llama/Llama-9-9B"}}, secrets={"hugging_face": None})
    one("wandb-key", {"overrides": {"logger.wandb_enabled": True}}, secrets={})
    silent({}, "gated-model", "wandb-key", secrets={})


def test_retries_need_checkpoints() -> None:
    off = {"retries": 2, "overrides": {"checkpointing.enabled": False}}
    assert "starts from nothing" in one("retries-checkpoints", off).message
    silent({"retries": 2}, "retries-checkpoints")


@pytest.mark.parametrize("name", ["NCCL_CUMEM_ENABLE", "NCCL_NVLS_ENABLE", "NCCL_SOCKET_IFNAME"])
def test_doubtful_variables_are_warned_of(name: str) -> None:
    assert one("job-environment", {"environment": {name: "1"}}).severity is Severity.WARNING


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 10**6) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
_PATHS = st.sampled_from(
    [
        "cluster.num_nodes",
        "cluster.gpus_per_node",
        "policy",
        "policy.generation",
        "policy.generation.colocated.resources.num_nodes",
        "policy.generation.colocated.enabled",
        "policy.dtensor_cfg.tensor_parallel_size",
        "policy.dtensor_cfg.enabled",
        "policy.megatron_cfg",
        "policy.model_name",
        "policy.train_global_batch_size",
        "grpo.num_prompts_per_step",
        "grpo.val_period",
        "data.validation",
        "data.train",
        "checkpointing.checkpoint_dir",
        "logger",
        "~grpo",
        "+x.y",
    ]
) | st.text(max_size=12)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    overrides=st.dictionaries(_PATHS, _VALUES, max_size=4),
    release=st.sampled_from(["v0.4.0", "v0.7.0", "v9.9.9"]),
    nodes=st.integers(1, 40),
    memory=st.sampled_from(["1", "0", "96Gi", "1.5Ti", "100m"]),
    shm=st.sampled_from(["0", "1Gi", "5000Gi"]),
    machine=st.sampled_from(["a4-highgpu-8g", "n2-highmem-8", "unheard-of"]),
)
def test_rules_never_raise(
    overrides: dict[str, Any], release: str, nodes: int, memory: str, shm: str, machine: str
) -> None:
    workload = {
        "overrides": overrides,
        "release": release,
        "nodes": nodes,
        "worker": {"memory": memory, "shm": shm},
        "head": {"memory": memory, "shm": shm},
        "preflight": {"enabled": True},
    }
    data = profile_data(workload=workload, gpu={"pools": [{"machine_type": machine, "nodes": 0}]})
    of = resolve(Profile.model_validate(data))
    for finding in findings(of):
        assert finding.message and finding.hint
