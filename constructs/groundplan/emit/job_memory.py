"""What a job takes of GPU memory, host memory and disk, part by part, for `groundplan rayjob --explain`."""

from __future__ import annotations

from groundplan.nemo_rl.fit_rules import known_model
from groundplan.nemo_rl.memory.forecast import GB, Forecast
from groundplan.nemo_rl.memory.host import checkpoint_bytes, model_bytes, node_bytes, seconds_to_write
from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.memory.of_config import generation_of, job_of
from groundplan.nemo_rl.memory.report import table
from groundplan.nemo_rl.shape import shape_of
from groundplan.site.resolve import Site
from groundplan.workload.training_rules import training_of


def memory_text(site: Site) -> str:
    """The forecast as comment lines; empty where the model or the GPU is not known."""
    if site.job is None:
        return ""
    training = training_of(site.job)
    model, shape = known_model(training.model), shape_of(training.config)
    if model is None or training.gpu_memory_gb is None or not shape.backend or shape.training_gpus <= 0:
        return ""
    limit = training.gpu_memory_gb * GB
    job = job_of(training.config, shape, model)
    forecast = Forecast(job, limit)
    side = generation_of(training.config, shape, model, limit)
    lines = [
        f"GPU memory, GB of one training GPU at {forecast.moment.name} (docs/memory.md):",
        *table(forecast),
        f"vLLM, not measured: {side.weights / GB:.1f} GB of weights, {max(side.cache, 0) / GB:.1f} GB of cache for "
        f"{side.cached_tokens} tokens, of {side.budget / GB:.0f} GB",
        *_disk(site, job, training.gpus),
    ]
    return "".join(f"# {line}".rstrip() + "\n" for line in ["", *lines])


def _disk(site: Site, job: Job, gpus: int) -> list[str]:
    """Host memory and disk, counted and not measured."""
    assert site.job is not None
    config, lustre = site.job.config, site.lustre
    one = checkpoint_bytes(job, optimizer=config.get("checkpointing.save_optimizer") is not False)
    kept = config.count("checkpointing.keep_top_k", 1)
    lines = [f"host memory of a node, counted: {node_bytes(job, gpus) / GB:.0f} GB for what leaves the GPUs at times"]
    if config.on("checkpointing.enabled") and not lustre.is_made:
        lines.append(f"a checkpoint, counted: {one / GB:.0f} GB; {kept} kept and one in writing")
    elif config.on("checkpointing.enabled"):
        seconds = seconds_to_write(one, lustre.capacity_gib, lustre.throughput)
        space = lustre.capacity_gib * 2**30
        lines.append(
            f"a checkpoint, counted: {one / GB:.0f} GB, {seconds:.0f} s at Lustre's full throughput; "
            f"{kept} kept and one in writing: {(kept + 1) * one / space:.0%} of Lustre"
        )
    lines.append(f"the model's own files: {model_bytes(job.model) / GB:.0f} GB")
    return lines
