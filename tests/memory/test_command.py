"""``groundplan memory``, and a model's own config.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from findings import UserError
from groundplan.cli import cli
from groundplan.nemo_rl.memory.config_json import shape
from groundplan.nemo_rl.memory.parameters import count

GEMMA = ("google/gemma-3-27b-it", "--gpus", "16", "--tensor-parallel", "8", "--micro-batch", "1", "--sequence", "4096")
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
QWEN_MOE = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "hidden_size": 2048,
    "head_dim": 128,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_attention_heads": 32,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
    "sliding_window": None,
    "vocab_size": 151936,
    "tie_word_embeddings": False,
}
DEEPSEEK = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "first_k_dense_replace": 3,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "kv_lora_rank": 512,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_attention_heads": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "vocab_size": 129280,
    "tie_word_embeddings": False,
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["memory", *arguments])


def report(*arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--format", "json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)
    return found


def test_the_issues_own_example() -> None:
    """83.51 GB measured at the peak, 92.97 reserved."""
    found = report(*GEMMA)
    assert found["step_peak_gb"] == pytest.approx(83.51, rel=0.02)
    assert found["reserved_gb"] == pytest.approx(92.97, rel=0.05)
    assert found["fits"] is True
    assert sum(found["parts"].values()) == pytest.approx(found["step_peak_gb"], abs=0.05)
    assert report(*GEMMA, "--accelerator", "nvidia-h100-mega-80gb")["fits"] is False


def test_it_says_what_checkpointing_saves_and_what_is_not_measured() -> None:
    text = run(*GEMMA).output
    assert "activation checkpointing: 86 -> 39 GB" in text
    assert "not measured: CUDA and NCCL" in text
    assert "Megatron" in report(*GEMMA, "--backend", "megatron")["not_measured"]


@pytest.mark.parametrize("name", ["gemma-3-27b-it", "gemma3-27b"])
def test_a_short_name_will_do(name: str) -> None:
    assert report(name, *GEMMA[1:])["step_peak_gb"] == report(*GEMMA)["step_peak_gb"]


def test_a_config_json_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(LLAMA), "utf-8")
    own = report(str(file), "--gpus", "8", "--activation-checkpointing", "--accelerator", "nvidia-h200")
    listed = report(
        "meta-llama/Llama-3.1-8B-Instruct", "--gpus", "8", "--activation-checkpointing", "--accelerator", "nvidia-h200"
    )
    assert {**own, "model": ""} == {**listed, "model": ""}


@pytest.mark.parametrize(
    ("config", "parameters"),
    [(LLAMA, 8_030_261_248), (QWEN_MOE, 30_532_122_624), (DEEPSEEK, 671_026_419_200)],
)
def test_parameters_of_a_config_json(config: dict[str, Any], parameters: int) -> None:
    assert count(shape(config, "config.json")).total == pytest.approx(parameters, rel=1e-6)


def test_gemma_leaves_out_its_defaults() -> None:
    """google/gemma-3-4b-it's file, its vision part left away."""
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    found = shape({"model_type": "gemma3", "text_config": {**text, "sliding_window": 1024}}, "config.json")
    assert count(found).total == 3_880_263_168
    assert found.tied


def test_the_text_part_of_a_model_that_sees() -> None:
    text = {key: value for key, value in LLAMA.items() if key != "architectures"}
    whole = {"architectures": ["Mistral3ForConditionalGeneration"], "text_config": text, "vision_config": {}}
    assert count(shape(whole, "config.json")).total == 8_030_261_248


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not valid JSON"),
        ("[]", "must hold a mapping"),
        (json.dumps({**LLAMA, "hidden_size": None}), "`hidden_size` is missing"),
        (json.dumps({**LLAMA, "num_hidden_layers": True}), "`num_hidden_layers` is missing"),
        (json.dumps({**LLAMA, "num_hidden_layers": 10**6}), "must be 1 to 1000"),
        (json.dumps({**LLAMA, "num_attention_heads": 0}), "must be above 0"),
        (json.dumps({**LLAMA, "layer_types": ["linear_attention"]}), "are not counted here"),
    ],
)
def test_what_a_wrong_config_json_says(content: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(content, "utf-8")
    done = run(str(file), "--gpus", "8")
    assert isinstance(done.exception, UserError)
    assert says in str(done.exception)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("me/mine", "--gpus", "8"), "its name tells no size"),
        (("nowhere.json", "--gpus", "8"), "cannot be read"),
        (("gemma3-27b", "--gpus", "12", "--tensor-parallel", "8"), "is not divisible"),
        (("gemma3-27b", "--gpus", "8", "--pipeline-parallel", "2"), "DTensor has none"),
        (("gemma3-27b", "--gpus", "8", "--accelerator", "tpu"), "is not known; known: "),
    ],
)
def test_what_it_refuses(arguments: tuple[str, ...], says: str) -> None:
    done = run(*arguments)
    assert isinstance(done.exception, UserError)
    assert says in str(done.exception)
