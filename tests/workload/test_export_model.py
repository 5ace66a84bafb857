"""The export program with stand-ins of NVIDIA's converters: which one runs, and what it takes for whole."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from groundplan.workload import export_model
from workload.jobs import findings, objects, site

CONVERTER = """\
import pathlib, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
target = pathlib.Path(given["--hf-ckpt-path"])
target.mkdir()
(target.parent / "given").write_text(" ".join(sys.argv))
for name in FILES:
    (target / name).write_text('{"model_type": "qwen2"}')
"""
#: What was asked of Ray.
ASKED: list[dict[str, int]] = []
WHOLE = ("config.json", "pytorch_model.bin", "tokenizer.json")


@pytest.fixture
def step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The newest of three steps, in an image's folder, with a `transformers` that reads a config."""

    def load(folder: str, trust_remote_code: bool) -> Any:
        return SimpleNamespace(**json.loads((Path(folder) / "config.json").read_text()))

    transformers = SimpleNamespace(AutoConfig=SimpleNamespace(from_pretrained=load))
    monkeypatch.setitem(sys.modules, "transformers", transformers)  # type: ignore[arg-type]
    ASKED.clear()

    def remote(**options: int) -> Any:
        ASKED.append(options)
        return lambda run: SimpleNamespace(remote=run)

    ray = SimpleNamespace(init=lambda **_: None, remote=remote, get=lambda found: found)
    monkeypatch.setitem(sys.modules, "ray", ray)  # type: ignore[arg-type]
    monkeypatch.chdir(tmp_path)
    for name in ("step_9", "step_10", "step_100", "tmp_step_110"):
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
    return tmp_path / "checkpoints/step_100"


def converter(folder: Path, name: str, files: tuple[str, ...]) -> None:
    path = folder / "examples/converters" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(CONVERTER.replace("FILES", repr(files)))


def test_dtensor_goes_through_its_converter(step: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    converter(tmp_path, "convert_dcp_to_hf.py", WHOLE)
    (step / "hf.partial").mkdir()  # half of an earlier attempt, which the converter would refuse
    assert export_model.main(["dcp", str(step.parent)]) == 0
    said = capsys.readouterr().out
    assert f"export: {step}/hf" in said and "its config loads: qwen2" in said
    assert all(name in said for name in WHOLE)
    assert (step / "given").read_text() == (
        f"examples/converters/convert_dcp_to_hf.py --config {step}/config.yaml --hf-ckpt-path {step}/hf.partial "
        f"--dcp-ckpt-path {step}/policy/weights"
    )
    (step / "given").unlink()  # once more: it is there, and nothing is converted
    assert export_model.main(["dcp", str(step.parent)]) == 0
    assert not (step / "given").exists()


@pytest.mark.parametrize("absent", WHOLE)
def test_what_is_not_whole_is_refused(
    step: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], absent: str
) -> None:
    converter(tmp_path, "convert_dcp_to_hf.py", tuple(name for name in WHOLE if name != absent))
    assert export_model.main(["dcp", str(step.parent)]) == 1
    assert "export FAILED: " in capsys.readouterr().out
    assert not (step / "hf").exists()


def test_a_shard_that_the_index_names_is_missed(tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "model-1.safetensors"):
        (tmp_path / name).write_text("{}")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(export_model.Failed, match=r"not all of them: model-2\.safetensors"):
        export_model.check(tmp_path)


def test_a_consolidated_folder_is_the_export(step: Path) -> None:
    made = step / "policy/weights/model/consolidated"
    made.mkdir(parents=True)
    assert export_model.main(["consolidated", str(step.parent)]) == 1
    for name in WHOLE:
        (made / name).write_text('{"model_type": "llama"}')
    assert export_model.main(["consolidated", str(step.parent)]) == 0
    assert (step / "hf").resolve() == made


def test_megatron_is_converted_in_its_own_environment(
    step: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (step / "policy/weights/iter_0000000").mkdir(parents=True)
    converter(tmp_path, "convert_megatron_to_hf.py", WHOLE)
    monkeypatch.setattr(export_model, "MEGATRON_PYTHON", sys.executable)
    assert export_model.main(["megatron", str(step.parent)]) == 0
    assert f"--megatron-ckpt-path {step}/policy/weights/iter_0000000" in (step / "given").read_text()
    assert ASKED == [{"num_gpus": 1, "max_retries": 0}]


def test_no_checkpoint_no_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export_model.main(["dcp", str(tmp_path)]) == 1
    assert "there is no checkpoint in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("workload", "method"),
    [
        ({"recipe": "grpo-gemma3-27b-gsm8k"}, "dcp"),
        ({"recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke"}, "consolidated"),
        ({"recipe": "grpo-llama3.1-8b-megatron"}, "megatron"),
        (
            {
                "recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke",
                "overrides": {"policy.dtensor_cfg._v2": True, "checkpointing.model_save_format": "safetensors"},
            },
            "consolidated",
        ),
        (
            {
                "recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke",
                "overrides": {"policy.dtensor_cfg._v2": True, "checkpointing.model_save_format": "torch_save"},
            },
            "dcp",
        ),
    ],
)
def test_the_method_follows_what_the_trainer_saves(workload: dict[str, Any], method: str) -> None:
    of = site(workload={**workload, "export": {"enabled": True}})
    assert of.job and of.job.export_method == method
    text = objects(of)["ConfigMap"]["data"]["train.sh"]
    assert f"export_model.py {method} " in text
    assert ("checkpointing.save_consolidated=true" in text) == (method == "consolidated")
    assert not [found for found in findings(of) if found.rule.startswith("export")]
