"""``groundplan memory``: what a training step takes of a GPU's memory, without a profile."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from findings import UserError
from groundplan.catalog import shipped
from groundplan.commands.accelerators import gpu_by_name
from groundplan.nemo_rl.memory import config_json
from groundplan.nemo_rl.memory.forecast import GB, Forecast
from groundplan.nemo_rl.memory.host import checkpoint_bytes, model_bytes
from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.memory.parameters import count, guess
from groundplan.nemo_rl.memory.report import table
from groundplan.nemo_rl.models import ModelShape, model_shape
from groundplan.nemo_rl.releases import model_of

_SIZE = click.IntRange(1, 1_000_000)


@click.command()
@click.argument("model")
@click.option("--gpus", type=_SIZE, required=True, help="GPUs that train.")
@click.option("--tensor-parallel", "tp", type=_SIZE, default=1, show_default=True, help="Tensor parallel size.")
@click.option("--context-parallel", "cp", type=_SIZE, default=1, show_default=True, help="Context parallel size.")
@click.option("--pipeline-parallel", "pp", type=_SIZE, default=1, show_default=True, help="Of Megatron.")
@click.option("--expert-parallel", "ep", type=_SIZE, default=1, show_default=True, help="Expert parallel size.")
@click.option("--micro-batch", type=_SIZE, default=1, show_default=True, help="Sequences of a micro batch.")
@click.option("--micro-batches", type=_SIZE, default=1, show_default=True, help="Micro batches of an optimizer step.")
@click.option("--sequence", type=click.IntRange(1, 100_000_000), default=4096, show_default=True, help="Tokens.")
@click.option("--activation-checkpointing", "checkpointing", is_flag=True, help="Keep each layer's input alone.")
@click.option("--sequence-parallel", is_flag=True, help="Divide norms and layer inputs over tensor parallel ranks.")
@click.option("--lora", type=click.IntRange(0, 65536), default=0, help="Rank of LoRA adapters.  [default: none]")
@click.option("--colocated", is_flag=True, help="vLLM sleeps on the same GPUs.")
@click.option("--backend", type=click.Choice(["dtensor", "megatron"]), default="dtensor", show_default=True)
@click.option("--accelerator", default="nvidia-b200", show_default=True, help="Kind of GPU, as GKE names it.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How.")
def memory(model: str, accelerator: str, form: str, **sizes: Any) -> None:
    """Forecast the GPU memory of one training step of MODEL, a Hugging Face name or a config.json.

    \b
    groundplan memory google/gemma-3-27b-it --gpus 16 --tensor-parallel 8
    groundplan memory my/config.json --gpus 8 --activation-checkpointing --accelerator nvidia-h200

    Sizes are GB of 10^9 bytes on one GPU. docs/memory.md says how each part is counted, how far the forecast was off on
    a real H200, and what was not measured. Exit code 0 whether it fits or not.
    """
    shape = _model(model)
    job = Job(model=shape, **sizes)
    _check(job)
    gpu = gpu_by_name(accelerator)
    forecast = Forecast(job, gpu.memory_gb * GB)
    report = _report(forecast, gpu.accelerator, gpu.memory_gb)
    click.echo(json.dumps({"model": model} | report, indent=2) if form == "json" else _text(model, forecast, report))


def _model(name: str) -> ModelShape:
    known = model_shape(name) or _short(name)
    if known is not None:
        return known
    file = Path(name)
    if file.suffix == ".json" or file.is_file():
        return config_json.read(file)
    sized = model_of(name)
    if sized.billions is None:
        raise UserError(f"{name}: no model of the catalog, no file, and its name tells no size; give its config.json")
    return guess(sized.billions, min(sized.active or sized.billions, sized.billions))


def _short(name: str) -> ModelShape | None:
    """A model of the catalog by a short name, ``gemma3-27b``; None when none or several are called so."""
    found = [full for full in shipped("models")["models"] if _bare(full) == _bare(name)]
    return model_shape(found[0]) if len(found) == 1 else None


def _bare(name: str) -> str:
    """``google/gemma-3-27b-it`` -> ``gemma327b``."""
    word = re.sub(r"[^a-z0-9]", "", name.rpartition("/")[2].lower())
    return re.sub(r"(instruct|it)$", "", word)


def _check(job: Job) -> None:
    if job.backend == "dtensor" and job.pp > 1:
        raise UserError("--pipeline-parallel is Megatron's; DTensor has none")
    product = job.tp * job.cp * job.pp
    if job.gpus % product:
        raise UserError(f"--gpus {job.gpus} is not divisible by tensor x context x pipeline parallel = {product}")


def _report(forecast: Forecast, name: str, gigabytes: int) -> dict[str, Any]:
    job = forecast.job
    return {
        "parameters": count(job.model).total,
        "accelerator": name,
        "accelerator_gb": gigabytes,
        "step_peak_gb": _gb(forecast.step_peak),
        "reserved_gb": _gb(forecast.reserved),
        "needed_gb": _gb(forecast.needed),
        "fits": forecast.fits,
        "error_percent": round(100 * forecast.error),
        "peak_at": forecast.moment.name,
        "parts": {part.replace(" ", "_"): round(size, 2) for part, size in forecast.parts.items()},
        "beside": {part.replace(" ", "_"): round(size, 2) for part, size in forecast.beside.items()},
        "not_measured": list(forecast.unmeasured),
        "savings": [
            {"change": change.words, "needed_gb": _gb(after.needed), "fits": after.fits}
            for change, after in forecast.savings()
        ],
        "checkpoint_gb": _gb(checkpoint_bytes(job)),
        "model_files_gb": _gb(model_bytes(job.model)),
    }


def _gb(size: float) -> float:
    return round(size / GB, 2)


def _text(model: str, forecast: Forecast, report: dict[str, Any]) -> str:
    job = forecast.job
    name = report["accelerator"]
    ways = f"TP {job.tp}" + (f", PP {job.pp}" if job.pp > 1 else "") + (f", CP {job.cp}" if job.cp > 1 else "")
    kept = "activation checkpointing" if job.checkpointing else "activations kept"
    lines = [
        f"{model}: {report['parameters'] / GB:.2f}B parameters on {job.gpus} GPUs, {job.backend}, {ways}",
        f"{job.micro_batch} x {job.sequence} tokens a micro batch, {kept}; GB of one {name} at {forecast.moment.name}",
        "",
        *table(forecast),
        f"One checkpoint: {report['checkpoint_gb']} GB; the model's own files: {report['model_files_gb']} GB",
    ]
    return "\n".join(lines)
