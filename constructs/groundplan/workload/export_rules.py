"""Rules of the export: whether the release has a way from what the trainer saves, and the memory for it."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, rule
from groundplan.kernel.quantities import parse_bytes
from groundplan.nemo_rl.places import place
from groundplan.nemo_rl.shape import shape_of
from groundplan.site.resolve import Site
from groundplan.workload.training_rules import training_of
from groundplan.workload.values import SAVE_CONSOLIDATED, JobValues

_FORMAT = "checkpointing.model_save_format"
#: DTensor keeps and saves its weights in 32 bits; the converter holds them once.
_BYTES = 4


@rule("export-backend")
def export_backend(site: Site) -> Iterator[Problem]:
    """The export needs a whole checkpoint, and a way from its form to Hugging Face's in the release.

    DTensor's first worker, and the second with `model_save_format: torch_save` from v0.6.0 on, go through
    `convert_dcp_to_hf.py`; the second with safetensors writes the folder itself (`save_consolidated`, which groundplan
    sets); Megatron goes through `convert_megatron_to_hf.py` on a GPU of the Ray cluster. Adapters (LoRA) have none.
    Without checkpoints, or without an end of the training (mode cluster), there is nothing to export.

    Source: NVIDIA-NeMo/RL v0.6.0, examples/converters, nemo_rl/utils/native_checkpoint.py line 252 (v0.4.0 and v0.5.0:
    237 and 246); NVIDIA-NeMo/RL#1535; NVIDIA-NeMo/nemo-platform PR 1869.

    Mend: leave `checkpointing.save_consolidated` out, or set `checkpointing.model_save_format: torch_save`; or leave
    `workload.export` out.
    """
    job = site.job
    if job is None or not job.spec.export.enabled:
        return
    path = ("workload", "export", "enabled")
    if job.spec.mode == "cluster":
        yield Problem(path, "workload.export: mode cluster has no end of training to export after", "leave it out")
    elif not job.config.on("checkpointing.enabled"):
        at = place(training_of(job), "checkpointing.enabled")
        yield Problem(at, "workload.export needs checkpointing.enabled true", "set it to true, or leave the export out")
    elif not job.export_method:
        key, reason, hint = _no_way(job)
        yield Problem(place(training_of(job), key), f"workload.export: {reason}", hint)


def _no_way(job: JobValues) -> tuple[str, str, str]:
    """Which key stands in the way of an export, why, and what to do."""
    config, version = job.config, job.release.version
    if shape_of(config).backend == "megatron":
        hint = "leave the export out, and run examples/converters/convert_lora_to_hf.py by hand (`mode: cluster`)"
        return "policy.megatron_cfg.peft.enabled", "a Megatron adapter is no whole model (peft.enabled)", hint
    if config.on("policy.dtensor_cfg.lora_cfg.enabled"):
        key = "policy.dtensor_cfg.lora_cfg.enabled"
        return key, f"NeMo RL {version} has no converter for DTensor's adapters ({key})", "leave the export out"
    if config.get(_FORMAT) == "safetensors":
        reason = f"the converter cannot read DTensor v2's sharded safetensors ({SAVE_CONSOLIDATED} is not true)"
        hint = f"set `{SAVE_CONSOLIDATED}: true` or `{_FORMAT}: torch_save`"
        if not job.release.since("v0.6.0"):
            hint = f"set `{SAVE_CONSOLIDATED}: true`"
        return SAVE_CONSOLIDATED, reason, hint
    reason = f"the converter of NeMo RL {version} cannot read what DTensor v2 saves as {config.get(_FORMAT)}"
    return _FORMAT, reason, f"set `{_FORMAT}: safetensors`"


@rule("export-memory")
def export_memory(site: Site) -> Iterator[Problem]:
    """DTensor's converter holds the whole model in one worker's memory, 4 bytes for each parameter.

    DTensor trains on weights of 32 bits and saves them so; `dcp_to_torch_save` gathers them in one process. It runs on
    a worker, and not on the head, whose memory a model of 27 billion parameters exceeds; with less it is killed, after
    a good training. Consolidated folders are written by all workers together.

    Source: NVIDIA-NeMo/RL, nemo_rl/utils/native_checkpoint.py (`convert_dcp_to_hf`); dtensor_policy_worker.py loads
    with torch_dtype float32.

    Mend: `workload.worker.memory`, or DTensor v2 with safetensors, which writes the folder itself.
    """
    job = site.job
    if job is None or not job.spec.export.enabled or job.export_method != "dcp" or job.model.billions is None:
        return
    try:
        shared = parse_bytes(job.worker_shm) / 1e9
        memory = parse_bytes(job.worker_memory) / 1e9 - shared
    except ValueError:
        return
    needed = job.model.billions * _BYTES
    if memory < needed:
        message = (
            f"workload.export: {job.model.name} is converted in a worker's memory, and needs {needed:.0f} GB there; "
            f"it has {memory:.0f} GB beside /dev/shm"
        )
        # A tenth more, for the program itself and what Ray's own services hold; /dev/shm is within the memory.
        hint = (
            f"set `workload.worker.memory: {needed * 1.1 + shared + 8:.0f}G`, or `policy.dtensor_cfg._v2: true` and "
            f"`{_FORMAT}: safetensors`"
        )
        yield Problem(("workload", "worker", "memory"), message, hint)
