"""Shapes near one that is refused: what a hint names, when followed, passes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import gcd
from typing import Any

from groundplan.nemo_rl.shape import Shape


def holds(shape: Shape) -> bool:
    """Whether GPUs, batch and samples divide as NeMo RL asserts."""
    engine, experts = shape.vllm_tp * shape.vllm_pp, shape.pp * shape.ep * shape.etp
    dp = shape.data_parallel
    return bool(
        dp
        and (shape.backend != "megatron" or shape.training_gpus % experts == 0)
        and shape.generation_gpus > 0
        and shape.generation_gpus % engine == 0
        and shape.global_batch % dp == 0
        and shape.samples % shape.global_batch == 0
    )


def with_nodes(shape: Shape, nodes: int, generating: int) -> Shape:
    """The shape on that many nodes, of which `generating` generate when generation is apart."""
    total = nodes * shape.gpus_per_node - shape.others
    gpus = total if shape.colocated else generating * shape.gpus_per_node
    return replace(shape, nodes=nodes, generation_gpus=gpus, training_gpus=total - (0 if shape.colocated else gpus))


def colocated(shape: Shape) -> Shape:
    """The shape with generation beside training, on the same GPUs."""
    total = shape.nodes * shape.gpus_per_node - shape.others
    return replace(shape, colocated=True, generation_gpus=total, training_gpus=total)


def node_counts(shape: Shape, most: int, generating: int) -> list[int]:
    """The counts of nodes next to the shape's own, below and above, at which it holds."""
    least = 1 if shape.colocated else 2
    good = [n for n in range(least, most + 1) if n != shape.nodes and holds(with_nodes(shape, n, generating))]
    below, above = [n for n in good if n < shape.nodes], [n for n in good if n > shape.nodes]
    return below[-1:] + above[:1]


def generating_gpus(shape: Shape) -> int | None:
    """How many GPUs of one node may generate while the others train; None when no number does."""
    total = shape.gpus_per_node - (shape.others if shape.nodes == 1 else 0)
    split = (replace(shape, generation_gpus=g, training_gpus=total - g) for g in range(1, total))
    return _nearest((s.generation_gpus for s in split if holds(s)), total // 2)


def generating_nodes(shape: Shape) -> int | None:
    """How many of several nodes may generate while the others train; None when no number does."""
    split = (
        n for n in range(1, shape.policy_nodes) if holds(with_nodes(replace(shape, colocated=False), shape.nodes, n))
    )
    return _nearest(split, shape.policy_nodes // 2)


def batch_near(shape: Shape, micro: int) -> int | None:
    """The batch size nearest to the shape's that divides its samples, over all copies in whole micro batches."""
    unit = shape.data_parallel * micro
    if shape.samples % unit:
        return None
    parts = shape.samples // unit
    return _nearest((unit * n for n in range(1, parts + 1) if parts % n == 0), shape.global_batch)


def prompts_near(shape: Shape, micro: int) -> tuple[int, int]:
    """Prompts and batch size next to the shape's that divide; batches a step stay as many as they are if they can."""
    dp = shape.data_parallel * micro
    batches = max(1, round(shape.samples / shape.global_batch))
    for count in dict.fromkeys((batches, 1)):
        step = dp * count // gcd(dp * count, shape.generations)
        below = shape.prompts // step * step
        prompts = below or step
        if prompts <= 2 * shape.prompts or count == 1:
            break
    return prompts, prompts * shape.generations // count


def _nearest(values: Iterable[int], wanted: int) -> int | None:
    return min(values, key=lambda value: abs(value - wanted), default=None)


#: End of a key -> the field of a shape that holds its size; vLLM's own are told apart by their group.
_FIELDS = {
    "tensor_parallel_size": "tp",
    "tensor_model_parallel_size": "tp",
    "pipeline_model_parallel_size": "pp",
    "context_parallel_size": "cp",
    "expert_model_parallel_size": "ep",
    "expert_tensor_parallel_size": "etp",
}
_VLLM_FIELDS = {"tensor_parallel_size": "vllm_tp", "pipeline_parallel_size": "vllm_pp"}


def parallel_sizes(shape: Shape) -> dict[str, int]:
    """Key -> size of the training's parallel sizes, as the backend spells them."""
    group = f"policy.{shape.backend}_cfg"
    if shape.backend == "dtensor":
        return {f"{group}.tensor_parallel_size": shape.tp, f"{group}.context_parallel_size": shape.cp}
    return {
        f"{group}.tensor_model_parallel_size": shape.tp,
        f"{group}.pipeline_model_parallel_size": shape.pp,
        f"{group}.context_parallel_size": shape.cp,
        f"{group}.expert_model_parallel_size": shape.ep,
        f"{group}.expert_tensor_parallel_size": shape.etp,
    }


def sizes_near(shape: Shape, keys: Iterable[str]) -> dict[str, int]:
    """Key -> the nearest smaller size by which all GPUs divide, if one key alone can mend it.

    One that lets the batches divide as well goes before one that does not.
    """
    found: dict[str, int] = {}
    for key in keys:
        last = key.rpartition(".")[2]
        field = _VLLM_FIELDS[last] if ".vllm_cfg." in key else _FIELDS[last]
        smaller = [_sized(shape, field, n) for n in range(getattr(shape, field) - 1, 0, -1)]
        good = [each for each in smaller if holds(each)] or [each for each in smaller if _divides(each)]
        if good:
            found[key] = getattr(good[0], field)
    return found


def _sized(shape: Shape, field: str, size: int) -> Shape:
    changed: dict[str, Any] = {field: size}
    return replace(shape, **changed)


def _divides(shape: Shape) -> bool:
    experts, engine = shape.pp * shape.ep * shape.etp, shape.vllm_tp * shape.vllm_pp
    whole = shape.data_parallel and (shape.backend != "megatron" or shape.training_gpus % experts == 0)
    return bool(whole) and shape.generation_gpus % engine == 0
