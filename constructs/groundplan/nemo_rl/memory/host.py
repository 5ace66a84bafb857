"""Disk and host memory beside a training: checkpoints, the model's own files, what lies in a node's RAM.

Counted, not measured. A checkpoint holds the training's own states: DTensor float32 weights and two moments, Megatron
bf16 weights, float32 masters and two moments; without the optimizer, the weights alone. Files on the Hub are bf16.
"""

from __future__ import annotations

from groundplan.nemo_rl.memory.activations import FULL, HALF
from groundplan.nemo_rl.memory.dtensor import adapter_parameters
from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.memory.parameters import count
from groundplan.nemo_rl.models import ModelShape


def checkpoint_bytes(job: Job, *, optimizer: bool = True) -> float:
    """One checkpoint of all ranks."""
    trained = adapter_parameters(job) if job.lora else count(job.model).total
    if job.backend == "megatron":
        return trained * (HALF + 3 * FULL if optimizer else HALF)
    return trained * (3 * FULL if optimizer else FULL)


def model_bytes(model: ModelShape) -> float:
    """The model's own files in bf16: the cache of the Hub, an export, and about what Megatron's conversion takes."""
    return float(HALF * count(model).total)


def node_bytes(job: Job, gpus: int) -> float:
    """Host memory of a node of `gpus`: states that are offloaded, vLLM's weights while it sleeps, and the training's
    states while vLLM generates."""
    share = gpus / job.gpus
    states = count(job.model).total * 3 * FULL * share
    if not job.colocated:
        return states if job.cpu_offload else states * job.optimizer_offload
    return states + model_bytes(job.model)


def seconds_to_write(size: float, capacity_gib: int, throughput: int) -> float:
    """Seconds that a Lustre of that capacity takes for `size` bytes, at `throughput` MB/s per TiB and no other load."""
    return size / (capacity_gib / 1024 * throughput * 1e6)
