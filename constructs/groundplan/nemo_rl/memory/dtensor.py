"""A step of DTensor training (FSDP2 and torch's tensor parallel) as the moments that can be its peak.

float32 master weights, gradients and Adam's two moments are spread over all GPUs. FSDP2 gathers one layer in bf16 at a
time, and its root group (embedding, output layer, last norm) for the whole step; gradients are reduced in float32.
Log-probabilities come from float32 logits, of which the vocabulary is divided by TP: logits, shifted logits,
log-softmax and softmax stand side by side (nemo_rl/distributed/model_utils.py, DistributedLogprob). Tied embeddings are
one matrix at TP 1, and two as soon as tensor parallel has made each its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from groundplan.nemo_rl.memory.activations import FULL, HALF, checkpoint, final_norm, kept, mask
from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.memory.moments import SMALL, Moment, at
from groundplan.nemo_rl.memory.parameters import Parameters, count

#: float32 copies of the logits while log-probabilities are made.
LOGIT_COPIES = 4
#: Copies of a layer, in units of its bf16 size, while its gradients are reduced: itself, the gathered buffer, bf16
#: gradients, and their float32 copy (2).
LAYER_COPIES = 5
#: Bytes an element that the backward of a norm holds: the incoming gradient and three float32 tensors.
NORM_BACKWARD = HALF + 3 * FULL
#: Gemma 2 squeezes its logits by a hyperbolic tangent, whose output autograd keeps in bf16.
SOFTCAP = HALF


@dataclass(frozen=True)
class Rank:
    """What one rank holds, in bytes unless it says otherwise."""

    parameters: float
    """Of its shard, a number."""
    trained: float
    """Of these, those that are trained."""
    root: float
    """The root group, gathered in bf16."""
    layer: float
    """The largest layer, gathered in bf16."""
    largest: float
    """Parameters of the largest tensor of its shard."""
    head: float
    """The output layer in bf16, for its gradient."""


def rank_of(job: Job, counted: Parameters) -> Rank:
    """The shares of one rank."""
    twice = not job.model.tied or job.tp > 1
    ends = counted.embedding * (2 if twice else 1)
    total = (counted.total - counted.ends + ends) / job.gpus
    adapters = adapter_parameters(job) / job.gpus
    experts = counted.experts / max(len(counted.layers) and job.model.layers, 1)
    layer = (counted.layers[0] - experts) / job.tp + experts / (job.ep if job.ep > 1 else job.tp)
    return Rank(
        parameters=total + adapters,
        trained=adapters if job.lora else total,
        root=HALF * ends / job.tp,
        layer=HALF * layer,
        largest=max(counted.embedding, job.model.hidden * job.model.intermediate) / job.gpus,
        head=0 if job.lora else HALF * counted.embedding / job.tp,
    )


def adapter_parameters(job: Job) -> float:
    """Parameters of LoRA's adapters on all products of all layers."""
    model = job.model
    q, kv = model.heads * model.head_size, model.kv_heads * model.head_size
    sides = 2 * (model.hidden + q) + 2 * (model.hidden + kv) + 3 * (model.hidden + model.intermediate)
    return float(job.lora * model.layers * sides)


def moments(job: Job) -> list[Moment]:
    """The moments of a step that can be its peak."""
    rank = rank_of(job, count(job.model))
    states = {} if job.cpu_offload else _states(rank)
    grads = 0.0 if job.cpu_offload else FULL * rank.trained
    again = grads if job.micro_batches > 1 else 0.0
    gathered = rank.root + LAYER_COPIES * rank.layer + rank.head
    one = (job.tokens * kept(job) + mask(job)) if job.checkpointing else 0.0
    one += NORM_BACKWARD * job.tokens * job.model.hidden
    layers = _layers(job)
    step = FULL * (rank.trained if job.foreach else rank.largest)
    return [
        at(
            "log-probabilities",
            **states,
            gradients=again,
            gathered_weights=rank.root,
            activations=layers + job.tokens * final_norm(job),
            logits=logit_bytes(job),
        ),
        at(
            "backward of the last layer",
            **states,
            gradients=again,
            gathered_weights=gathered,
            activations=layers,
            layer_backward=one,
        ),
        at("backward of the first layer", **states, gradients=grads, gathered_weights=gathered, layer_backward=one),
        at(
            "reduction of the embeddings' gradients",
            **states,
            gradients=grads,
            gathered_weights=rank.layer + (0 if job.lora else 3 * rank.root),
        ),
        at("optimizer step", **states, gradients=grads, optimizer_temporaries=0 if job.cpu_offload else step),
    ]


def _layers(job: Job) -> float:
    """What all layers keep; checkpointed ones share one boolean mask."""
    if job.checkpointing:
        return job.model.layers * job.tokens * checkpoint(job) + mask(job) / HALF
    return job.model.layers * (job.tokens * kept(job) + mask(job))


def logit_bytes(job: Job) -> float:
    """Logits while log-probabilities are made; in chunks, the bf16 logits and their gradient stay whole."""
    elements = job.tokens * job.model.vocabulary / job.tp
    softcap = SOFTCAP * elements if job.model.architecture.startswith("Gemma2") else 0
    if not job.logprob_chunk:
        return LOGIT_COPIES * FULL * elements + softcap
    share = min(job.logprob_chunk * job.cp / job.sequence, 1.0)
    return (LOGIT_COPIES * FULL * share + 2 * HALF) * elements + softcap


def _states(rank: Rank) -> dict[str, float]:
    return {"weights": FULL * rank.parameters + SMALL, "optimizer": 2 * FULL * rank.trained}
