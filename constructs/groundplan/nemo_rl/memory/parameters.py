"""Parameters of a model by part, counted from the numbers of its config.json.

The counts equal the published ones of 54 models (tests/nemo_rl/test_parameters.py). Sources: the modelling files of
Transformers 5.17 and, for Mamba-2, multi-head latent attention and gated delta net, their papers' tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from groundplan.nemo_rl.models import ModelShape

#: Head size, vocabulary and experts of a model of which only the size is known.
HEAD, VOCABULARY, EXPERTS, ACTIVE = 128, 152_000, 64, 8
#: Billions of parameters below which models usually tie their embeddings.
TIED_BELOW = 5
#: Weights of the convolution before a state-space or delta layer, per channel.
CONVOLUTION = 4


@dataclass(frozen=True)
class Parameters:
    """How many parameters a model has. `experts` and `active_experts` are of the routed experts of all layers."""

    embedding: int
    """One embedding matrix; the output layer has as many where it is not tied."""
    layers: tuple[int, ...]
    """Of each kind of layer once, its routed experts included, the largest first."""
    total: int
    experts: int
    active_experts: int

    @property
    def active(self) -> int:
        """Parameters that one token passes, all embeddings counted."""
        return self.total - self.experts + self.active_experts

    @property
    def body(self) -> int:
        """All but embedding and output layer."""
        return self.total - self.ends

    @property
    def ends(self) -> int:
        """Embedding and output layer."""
        return self.embedding * (1 if self._tied else 2)

    _tied: bool = False


def count(model: ModelShape) -> Parameters:
    """The parameters of a model, from its numbers."""
    mixers = dict(model.mixers) or {"attention": model.layers}
    kinds: list[tuple[int, int]] = []
    if "mlp" in mixers or "mamba" in mixers:  # Nemotron-H: a layer is one mixer with its norm
        kinds = [(number, model.hidden + _MIXERS[kind](model)) for kind, number in mixers.items()]
    else:
        dense = model.layers if not model.experts else model.dense_layers
        for kind, number in mixers.items():
            mixer = norms(model) + _MIXERS[kind](model)
            first = dense if model.experts else number
            kinds += [(first, mixer + mlp(model)), (number - first, mixer + experts(model))]
    embedding = model.vocabulary * model.hidden
    with_experts = mixers.get("experts", model.layers - model.dense_layers if model.experts else 0)
    one = expert(model) if model.experts else 0
    body = sum(number * size for number, size in kinds)
    return Parameters(
        embedding=embedding,
        layers=tuple(sorted((size for number, size in kinds if number), reverse=True)),
        total=embedding * (1 if model.tied else 2) + body + model.hidden,
        experts=with_experts * model.experts * one,
        active_experts=with_experts * model.active_experts * one,
        _tied=model.tied,
    )


def guess(billions: float, active: float) -> ModelShape:
    """A model of that many billions of parameters, of which one token passes `active`, by the usual proportions.

    Width^3 = parameters / 0.12 and depth = width / 100, as in dense models of 1 to 70 billion; what one token does not
    pass is experts'. Its architecture is empty, which marks it as guessed.
    """
    hidden = max(round((active * 1e9 / 0.12) ** (1 / 3) / HEAD), 1) * HEAD
    layers = max(round(hidden / 100), 1)
    heads = hidden // HEAD
    tied = active < TIED_BELOW
    inside = max(active * 1e9 - (1 if tied else 2) * VOCABULARY * hidden, 0) / layers - 2.5 * hidden**2
    intermediate = max(int(inside / (3 * hidden)), hidden)
    routed = (billions - active) * 1e9 / layers
    shape = ModelShape("", heads, max(heads // 4, 1), layers, VOCABULARY)
    shape = replace(shape, tied=tied, hidden=hidden, head_size=HEAD, intermediate=intermediate)
    if routed <= 0:
        return shape
    width = int(routed / (EXPERTS - ACTIVE) / (3 * hidden))
    return replace(shape, experts=EXPERTS, active_experts=ACTIVE, expert_width=max(width, 1))


def norms(model: ModelShape) -> int:
    """The norms of a layer outside its attention: two, and four in Gemma 2 and 3."""
    return (4 if model.architecture.startswith(("Gemma2", "Gemma3")) else 2) * model.hidden


def attention(model: ModelShape) -> int:
    """Projections of one layer's attention with their biases and norms."""
    if model.latent:
        return _latent(model)
    q, kv = model.heads * model.head_size, model.kv_heads * model.head_size
    gate = q if "delta" in model.mixers else 0  # Qwen3.5: the query projection carries an output gate
    weights = model.hidden * (2 * q + gate + 2 * kv)
    name = model.architecture
    if name.startswith(("Qwen2", "Glm4MoeFor")):
        weights += q + 2 * kv
    if name.startswith("GptOss"):
        weights += q + 2 * kv + model.hidden + model.heads  # biases and the sinks of the heads
    if name.startswith(("Qwen3", "Gemma3")):
        weights += 2 * model.head_size
    if name.startswith("MiniMaxM2"):
        weights += q + kv
    return weights


def _latent(model: ModelShape) -> int:
    """Multi-head latent attention: low ranks for queries (where `q` is not 0) and for keys and values."""
    at, heads, width = model.latent, model.heads, model.hidden
    query = at["plain"] + at["rotary"]
    q = at["q"] * (width + heads * query + 1) if at["q"] else width * heads * query
    kv = width * (at["kv"] + at["rotary"]) + at["kv"] + at["kv"] * heads * (at["plain"] + at["value"])
    return q + kv + heads * at["value"] * width


def _mamba(model: ModelShape) -> int:
    at = model.mamba
    inner, groups = at["heads"] * at["head_size"], 2 * at["groups"] * at["state"]
    projections = model.hidden * (2 * inner + groups + at["heads"]) + inner * model.hidden
    return projections + (inner + groups) * (CONVOLUTION + 1) + 3 * at["heads"] + inner


def _delta(model: ModelShape) -> int:
    at = model.delta
    keys, values = at["key_heads"] * at["head_size"], at["value_heads"] * at["head_size"]
    projections = model.hidden * (2 * keys + 2 * values + 2 * at["value_heads"]) + values * model.hidden
    return projections + (2 * keys + values) * CONVOLUTION + at["head_size"] + 2 * at["value_heads"]


def matrices(model: ModelShape) -> int:
    """Matrices of a feed-forward part: three with a gate, two without (Nemotron-H)."""
    return 2 if model.architecture.startswith("NemotronH") else 3


def mlp(model: ModelShape) -> int:
    """A dense feed-forward part."""
    return matrices(model) * model.hidden * model.intermediate


def expert(model: ModelShape) -> int:
    """One routed expert."""
    width = model.expert_hidden or model.hidden
    bias = 2 * model.expert_width + width if model.architecture.startswith("GptOss") else 0
    return matrices(model) * width * model.expert_width + bias


def experts(model: ModelShape) -> int:
    """All experts of a layer with their router; zero of a model without."""
    if not model.experts:
        return 0
    router = model.hidden * model.experts + (model.experts if model.architecture.startswith("GptOss") else 0)
    shared = matrices(model) * model.hidden * model.shared_width
    shared += model.hidden if "delta" in model.mixers else 0  # Qwen3.5: a gate of the shared expert
    latent = 2 * model.hidden * model.expert_hidden
    return model.experts * expert(model) + router + shared + latent


_MIXERS: dict[str, Callable[[ModelShape], int]] = {
    "attention": attention,
    "mamba": _mamba,
    "delta": _delta,
    "mlp": mlp,
    "experts": experts,
}
