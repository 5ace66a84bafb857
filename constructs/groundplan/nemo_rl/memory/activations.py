"""What one layer keeps in GPU memory for its backward pass, in bytes a token of one rank.

DTensor trains the modules of Transformers as they stand, so each tensor that autograd saves is counted: the float32
copy inside an RMS norm, inputs of the matrix products, queries and keys after their rotation, what attention returns.
Tensor parallel divides what follows a column-wise product by TP; norms and layer inputs stay whole on every rank unless
sequence parallel divides them too. Megatron's layers are Transformer Engine's, fused, and not measured.

Measured for Llama, Qwen 2 and 3, Gemma 2 and 3, Mistral, Phi 3 and Qwen 3 MoE (docs/memory.md); multi-head latent
attention, Mamba and gated delta net are counted the same way and not measured.
"""

from __future__ import annotations

from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.models import ModelShape

HALF, FULL = 2, 4

#: Architectures whose layers are counted but not measured.
UNMEASURED = ("Deepseek", "Glm4", "NemotronH", "Qwen3_5", "MiniMax", "GptOss")


def checkpoint(job: Job) -> float:
    """A layer's input, all that is kept of it with activation checkpointing."""
    return HALF * job.model.hidden / _shared(job)


def final_norm(job: Job) -> float:
    """The last norm before the output layer: its float32 input, normalised copy, output and the last layer's sum."""
    return (2 * FULL + HALF if _gemma(job.model) else FULL + 3 * HALF) * job.model.hidden / _shared(job)


def kept(job: Job) -> float:
    """All that a layer keeps without checkpointing, on average over its kinds of layers."""
    return _megatron(job) if job.backend == "megatron" else _transformers(job)


def mask(job: Job) -> float:
    """Bytes that a layer keeps, on average, of its sliding window's mask, whatever the tokens: bf16, sequence squared.

    Transformers hands SDPA a mask for each sliding layer once the sequence fills the window; SDPA keeps it as bf16.
    """
    return HALF * job.sequence**2 * job.micro_batch * _masked(job)


def _masked(job: Job) -> float:
    """Share of the layers that get a mask: five of six in Gemma 3, all of Mistral's, every other one elsewhere."""
    model = job.model
    if job.backend != "dtensor" or not model.window or job.sequence < model.window:
        return 0.0
    if model.architecture.startswith("Gemma3"):
        return (model.layers - model.layers // 6) / model.layers
    return 1.0 if model.architecture.startswith("Mistral") else 0.5


def _gemma(model: ModelShape) -> bool:
    return model.architecture.startswith("Gemma")


def _shared(job: Job) -> int:
    """Over how many ranks norms and layer inputs are divided."""
    return job.tp if job.sequence_parallel else 1


def _transformers(job: Job) -> float:
    return _norms(job) + (_mixer(job) + _feed_forward(job)) / job.tp


def _norms(job: Job) -> float:
    """Norms before and after attention: float32 input and normalised copy divide over sequence parallel ranks, what
    they hand to the next product does not."""
    model, parts = job.model, _shared(job)
    inside, out = (2 * FULL, HALF) if _gemma(model) else (FULL + HALF, HALF)
    before = 2 * (inside / parts + out)
    after = 2 * inside / parts if _gemma(model) else 0  # Gemma 2 and 3: two more, whose output is added and not kept
    if model.architecture.startswith("Phi3"):
        after = 2  # the masks of its two dropouts, a byte each
    if model.architecture.startswith("NemotronH"):
        before /= 2  # a layer is one mixer with one norm
    return (before + after) * model.hidden


def _mixer(job: Job) -> float:
    """Attention, or what stands in its place, on average over the layers."""
    model = job.model
    attention = _latent(model) if model.latent else _attention(job)
    if not model.mixers:
        return attention
    inner = model.mamba.get("heads", 0) * model.mamba.get("head_size", 0)
    groups = 2 * model.mamba.get("groups", 0) * model.mamba.get("state", 0)
    each = {"attention": attention, "mamba": HALF * (2 * inner + groups) + (HALF * 3 + FULL) * inner}
    values = model.delta.get("value_heads", 0) * model.delta.get("head_size", 0)
    keys = model.delta.get("key_heads", 0) * model.delta.get("head_size", 0)
    each["delta"] = HALF * (4 * keys + 2 * values) + (HALF * 3 + FULL) * values
    return sum(each.get(kind, 0) * number for kind, number in model.mixers.items()) / model.layers


def _attention(job: Job) -> float:
    model = job.model
    q, kv = model.heads * model.head_size, model.kv_heads * model.head_size
    rotated = HALF * (q + kv)
    if model.architecture.startswith(("Qwen3", "Glm4MoeFor", "MiniMax")):
        rotated += (FULL + HALF) * (q + kv)  # the norms of queries and keys
    elif model.architecture.startswith("Gemma3"):
        rotated += 2 * FULL * (q + kv)
    gathered = HALF * 2 * kv * job.cp if job.cp > 1 else 0  # context parallel: keys and values of all ranks
    repeated = HALF * 2 * (q - kv) * _masked(job)  # beside a mask, SDPA takes keys and values repeated for each head
    fused = HALF * (q + kv) if model.architecture.startswith("Phi3") else 0  # a view holds the whole projection
    return rotated + HALF * kv + HALF * q + FULL * model.heads + gathered + repeated + fused


def _latent(model: ModelShape) -> float:
    at, heads = model.latent, model.heads
    query = heads * (at["plain"] + at["rotary"])
    ranks = (FULL + HALF) * (at["q"] + at["kv"])
    return ranks + HALF * (2 * query + 2 * heads * at["value"] + heads * at["plain"]) + FULL * heads


def _feed_forward(job: Job) -> float:
    """Gate, up, the activated gate and the product; of experts also the routed inputs and outputs."""
    model = job.model
    tensors = 4 if not model.architecture.startswith("NemotronH") else 2
    dense = tensors * HALF * model.intermediate
    if not model.experts:
        number = model.mixers.get("mlp", model.layers)
        return dense * number / model.layers
    width = model.expert_hidden or model.hidden
    routed = model.active_experts * (tensors * HALF * model.expert_width + 2 * HALF * width)
    routed += 3 * FULL * model.experts  # the router's scores
    sparse = routed + tensors * HALF * model.shared_width
    number = model.mixers.get("experts", model.layers - model.dense_layers)
    return (sparse * number + dense * model.dense_layers) / model.layers


def _megatron(job: Job) -> float:
    """Transformer Engine: bf16 inputs of norms and products, the rotated queries and keys, and the fused SwiGLU's."""
    model, parts = job.model, _shared(job)
    q, kv = model.heads * model.head_size, model.kv_heads * model.head_size
    inputs = HALF * 4 * model.hidden / parts
    attention = _mixer(job) if model.mixers or model.latent else HALF * (2 * q + 2 * kv) + FULL * model.heads
    return inputs + (attention + _feed_forward(job) * 3 / 4) / job.tp
