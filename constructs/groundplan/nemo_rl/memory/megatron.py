"""A step of Megatron training as the moments that can be its peak. Not measured: no package was at hand.

bf16 weights of the rank's part (TP x PP, experts EP x ETP x PP), a gradient buffer of as many elements, and 12 bytes a
parameter of optimizer states, spread over the copies of the model by the distributed optimizer. The first pipeline
stage keeps the activations of as many micro batches as there are stages.
Source: NVIDIA-NeMo/RL v0.7.0, defaults of policy.megatron_cfg; Megatron-LM, distributed optimizer.
"""

from __future__ import annotations

from groundplan.nemo_rl.memory.activations import FULL, HALF, checkpoint, final_norm, kept
from groundplan.nemo_rl.memory.dtensor import adapter_parameters, logit_bytes
from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.memory.moments import SMALL, Moment, at
from groundplan.nemo_rl.memory.parameters import count

#: Bytes a parameter of master weights and Adam's moments.
OPTIMIZER = 3 * FULL


def rank_parameters(job: Job) -> tuple[float, float]:
    """Parameters of one rank that are no experts', and its experts'."""
    counted = count(job.model)
    ends = counted.embedding if job.pp > 1 or job.model.tied else 2 * counted.embedding
    dense = (counted.body - counted.experts) / (job.tp * job.pp) + ends / job.tp
    return dense, counted.experts / (job.ep * job.etp * job.pp)


def moments(job: Job) -> list[Moment]:
    """The moments of a step that can be its peak."""
    dense, experts = rank_parameters(job)
    adapters = adapter_parameters(job) / (job.tp * job.pp)
    trained = adapters if job.lora else dense + experts
    spread = job.data_parallel * job.cp if job.distributed_optimizer else 1
    expert_spread = max(job.gpus // (job.ep * job.etp * job.pp), 1) if job.distributed_optimizer else 1
    shares = adapters / spread if job.lora else dense / spread + experts / expert_spread
    states = {
        "weights": HALF * (dense + experts + (adapters if job.lora else 0)) + SMALL,
        "gradients": (FULL if job.gradients_float32 else HALF) * trained,
        "optimizer": OPTIMIZER * shares * (1 - job.optimizer_offload),
    }
    flights = min(job.pp, job.micro_batches)
    layers = job.model.layers / job.pp * job.tokens
    one = job.tokens * (kept(job) if job.checkpointing else 0)
    activations = layers * flights * (checkpoint(job) if job.checkpointing else kept(job))
    last = layers * (checkpoint(job) if job.checkpointing else kept(job)) + job.tokens * final_norm(job)
    return [
        at("forward of the first stage", **states, activations=activations + one),
        at("log-probabilities", **states, activations=last, logits=logit_bytes(job)),
    ]
