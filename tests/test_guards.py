"""Each guard is given something to catch, and numbers are checked against ones worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from findings import UserError
from findings.redaction import MASK, PATTERNS, Pattern, find_secrets, is_secret_name, is_secret_path, mask_secrets
from groundplan.cluster.allocatable import EVICTION_MIB, reserved_cpu_millis, reserved_memory_mib
from groundplan.emit import app
from groundplan.kernel.addresses import pod_block
from groundplan.nemo_rl.config import Config
from groundplan.nemo_rl.memory import Fit, estimate
from groundplan.nemo_rl.shape import Shape


def written(folder: Path, text: str) -> Path:
    file = folder / "stacks" / "lab-gpu" / app.TERRAFORM_FILE
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize("token", ["${TfToken[TOKEN.7]}", "TfToken[name.3]", "${TFTOKEN.12}", "Token[TOKEN.41]"])
def test_an_unresolved_token_is_refused_with_its_line(tmp_path: Path, token: str) -> None:
    text = json.dumps({"resource": {"google_compute_network": {"a": {"name": f"x{token}"}}}}, indent=1)
    line = next(number for number, each in enumerate(text.splitlines(), 1) if token in each)
    with pytest.raises(UserError, match=rf"cdk\.tf\.json:{line} holds an unresolved token"):
        app._inspect("lab-gpu", written(tmp_path, text), tmp_path)


def test_terraform_references_are_no_tokens(tmp_path: Path) -> None:
    text = json.dumps({"resource": {"t": {"a": {"x": "${data.google_project.p.number}", "y": "$${TOKEN}"}, "b": {}}}})
    assert app._inspect("lab-gpu", written(tmp_path, text), tmp_path).resources == {"t": 2}


@pytest.mark.parametrize(("length", "refused"), [(4000, False), (4001, True)])
def test_a_text_that_no_reviewer_sees_change_is_refused(tmp_path: Path, length: int, refused: bool) -> None:
    text = json.dumps({"resource": {"helm_release": {"job": {"values": ["short", "x" * length]}}}})
    out = written(tmp_path, text)
    if not refused:
        assert app._inspect("lab-gpu", out, tmp_path).resources == {"helm_release": 1}
        return
    with pytest.raises(UserError, match=r"resource\.helm_release\.job\.values\.1 is a text of 4001 characters"):
        app._inspect("lab-gpu", out, tmp_path)


@pytest.mark.parametrize(
    "secret",
    ["hf_" + "a1" * 10, "nvapi-" + "b2" * 12, "ghp_" + "c3" * 12, "glpat-" + "d4" * 10, "AKIA" + "A2" * 8, "0f" * 20],
)
def test_secrets_are_masked(secret: str) -> None:
    assert mask_secrets(f"before {secret} after") == f"before {MASK} after"


@pytest.mark.parametrize(
    ("pods", "addresses"), [(8, 16), (9, 32), (32, 64), (33, 128), (64, 128), (110, 256), (256, 512)]
)
def test_pod_addresses_of_a_node(pods: int, addresses: int) -> None:
    """The table of cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr: 8 pods a /28, 110 a /24."""
    assert pod_block(pods) == addresses


@pytest.mark.parametrize(
    ("vcpus", "pods", "millis"),
    [
        (1, 110, 60),
        (2, 110, 70),  # 60 + 10
        (4, 110, 80),  # 60 + 10 + 5 + 5
        (5, 110, 83),  # 80 + 2.5, rounded up
        (16, 110, 110),  # 80 + 12 x 2.5
        (224, 110, 630),  # 80 + 220 x 2.5
        (16, 111, 510),  # 400 more above 110 pods
    ],
)
def test_cpu_that_gke_keeps(vcpus: int, pods: int, millis: int) -> None:
    assert reserved_cpu_millis(vcpus, pods) == millis


@pytest.mark.parametrize(
    ("gib", "mib"),
    [
        (4, 1024),  # a quarter of 4 GiB
        (8, 1844),  # 1024 + 819.2, rounded up
        (16, 2663),  # 1843.2 + 819.2 = 2662.4
        (128, 9544),  # 2662.4 + 6881.28 = 9543.68
        (228, 11592),  # 9543.68 + 2048 = 11591.68
    ],
)
def test_memory_that_gke_keeps(gib: int, mib: int) -> None:
    assert reserved_memory_mib(gib * 1024) == mib
    assert EVICTION_MIB == 100


#: Eight GPUs, DTensor, one sample of 100,000 tokens.
SHAPE = Shape(
    nodes=1, gpus_per_node=8, colocated=True, generation_gpus=8, training_gpus=8, backend="dtensor",
    tp=1, pp=1, cp=1, ep=1, etp=1, vllm_tp=1, vllm_pp=1, vllm_ep=1,
    prompts=8, generations=4, global_batch=32, micro_batch=1, logprob_batch=1, sequence=100_000,
)  # fmt: skip


def fit(**changed: int | str | bool | float) -> Fit:
    """Of a model of 0.96 billion parameters: width 2000 (2000^3 = 8e9 = 0.96e9 / 0.12), depth 20; 100 GB a GPU."""
    values: dict[str, object] = {"policy.generation.vllm_cfg.gpu_memory_utilization": changed.pop("share", 0.5)}
    saved = changed.pop("checkpointing", False)
    values |= {f"policy.{b}_cfg.activation_checkpointing": saved for b in ("dtensor", "megatron")}
    return estimate(0.96, 0.96, replace(SHAPE, **changed), Config(values), 100)  # type: ignore[arg-type]


def test_memory_of_a_small_model() -> None:
    found = fit()
    assert found.states == pytest.approx(1.92)  # 0.96 x 16 bytes / 8 GPUs
    assert found.activations == pytest.approx(136)  # 1e5 tokens x 2000 wide x 34 x 20 layers
    assert found.logits == pytest.approx(182.4)  # 1e5 x 152,000 x 4 bytes x 3
    assert found.generation == pytest.approx(1.92)  # 0.96 x 2 bytes
    assert found.generation_budget == pytest.approx(50)
    assert found.training == pytest.approx(1.92 + 136 + 182.4 + 6)


def test_memory_divides_by_tensor_and_context_parallel() -> None:
    assert (fit(cp=4).activations, fit(cp=4).logits) == pytest.approx((34, 45.6))
    assert (fit(tp=2).activations, fit(tp=2).logits) == pytest.approx((68, 91.2))
    assert (fit(tp=2, cp=4).activations, fit(tp=2, cp=4).logits) == pytest.approx((17, 22.8))
    assert fit(vllm_tp=2, vllm_pp=2).generation == pytest.approx(0.48)


def test_memory_grows_with_the_micro_batch() -> None:
    assert (fit(micro_batch=2).activations, fit(micro_batch=2).logits) == pytest.approx((272, 364.8))


def test_checkpointing_keeps_one_layer_and_the_borders() -> None:
    assert fit(checkpointing=True).activations == pytest.approx(14.8)  # 1e5 x 2000 x (2 x 20 + 34)


def test_megatron_states() -> None:
    # 0.96 x 6 over TP 2 x PP 2, and 0.96 x 12 over all 8.
    assert fit(backend="megatron", tp=2, pp=2).states == pytest.approx(1.44 + 1.44)


@pytest.mark.parametrize(("share", "budget"), [(0.8, 80), (1, 100), (1.1, 60), (0, 60)])
def test_share_of_vllm(share: float, budget: float) -> None:
    """A share that vLLM would refuse counts as the usual 0.6; a rule of its own refuses it."""
    assert fit(share=share).generation_budget == pytest.approx(budget)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda each: each.name)
def test_a_pattern_catches_its_example_and_not_its_near_miss(pattern: Pattern) -> None:
    assert [what for _, _, what in find_secrets(f"key = {pattern.example}")] == [pattern.name]
    assert mask_secrets(f"key = {pattern.example[:200]}").startswith(f"key = {MASK}")
    assert find_secrets(f"key = {pattern.near_miss}") == []
    assert mask_secrets(f"key = {pattern.near_miss}") == f"key = {pattern.near_miss}"


@pytest.mark.parametrize(
    "word", ["MON", "TUR", "DON", "HOC", "JOC", "WHIS", "HOT", "PUB", "PUBLIC_", "SORT_", "FOREIGN_", "PRIMARY_"]
)
def test_words_that_end_like_a_key_are_none(word: str) -> None:
    assert not is_secret_name(f"{word}KEY")
    assert is_secret_name("MYKEY")


def test_places_that_are_never_shown() -> None:
    assert is_secret_path(("secrets", "hugging_face", "revision"))
    assert is_secret_path(("workload", "environment", "HF_TOKEN"))
    assert not is_secret_path(("workload", "secrets", 0))
    assert not is_secret_path(())
