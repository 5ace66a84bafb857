"""The allocations of two DTensor steps, tensor by tensor, played to the allocator: what it ends up reserving.

The first step makes Adam's moments in the gaps that its own backward pass leaves, so that the second finds fewer large
blocks; it is the second that is measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from groundplan.nemo_rl.memory.activations import FULL, HALF, checkpoint, kept, mask
from groundplan.nemo_rl.memory.allocator import Allocator, Block
from groundplan.nemo_rl.memory.dtensor import adapter_parameters, rank_of
from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.memory.parameters import count

Blocks = list[Block | None]


@dataclass(frozen=True)
class Layer:
    """Sizes of a layer on one rank: parameters of each matrix under TP, bytes of what it keeps and of what passes."""

    matrices: tuple[float, ...]
    kept: tuple[float, ...]


def reserved(job: Job) -> float:
    """Bytes that the allocator holds after two steps."""
    return Replay(job).run()


class Replay:
    """One rank's two steps."""

    def __init__(self, job: Job) -> None:
        self.job, self.allocator = job, Allocator()
        self.layer, self.rank = layer_of(job), rank_of(job, count(job.model))
        ends = self.rank.root / HALF
        self.ends = (ends,) if job.model.tied and job.tp == 1 else (ends / 2, ends / 2)
        self.shards = job.gpus // job.tp
        self.grads: Blocks = []
        self.adds = False

    def run(self) -> float:
        """Weights, then two steps."""
        if self.job.cpu_offload:
            self._step(first=False)
        else:
            for size in self._parameters():
                self.take(FULL * size / self.shards)
            self._step(first=True)
            self._step(first=False)
        return float(self.allocator.reserved)

    def take(self, size: float, stream: str = "compute") -> Block | None:
        """A block of the allocator."""
        return self.allocator.take(size, stream)

    def give(self, blocks: Blocks) -> None:
        """Blocks back, in order."""
        for block in blocks:
            self.allocator.give(block)

    def _parameters(self) -> list[float]:
        layers = [size for _ in range(self.job.model.layers) for size in self.layer.matrices]
        return [self.ends[0], *layers, *self.ends[1:]]

    def _step(self, *, first: bool) -> None:
        job = self.job
        for micro in range(min(job.micro_batches, 2)):
            self.adds = micro > 0
            self._pass()
        sizes = self._parameters() if not job.lora else [adapter_parameters(job) / job.model.layers] * job.model.layers
        if first:
            for size in sizes:
                self.take(FULL * size / self.shards)
                self.take(FULL * size / self.shards)
        if not job.cpu_offload:
            self.give([self.take(FULL * size / self.shards) for size in (sizes if job.foreach else sizes[:1])])
        self.give(self.grads)
        self.grads = []

    def _pass(self) -> None:
        """Forward and backward of one micro batch."""
        job, tokens = self.job, self.job.tokens
        root = self._gather(self.ends)
        hidden = [self.take(tokens * checkpoint(job))]
        saved: list[Blocks] = []
        for _ in range(job.model.layers):
            weights = self._gather(self.layer.matrices)
            inside = self._activations()
            out = self.take(tokens * checkpoint(job))
            if job.checkpointing:
                self.give(inside)
                saved.append([out])
            else:
                saved.append(inside)
                self.give(hidden)
                hidden = [out]
            self.give(weights)
        norm = [self.take(tokens * job.model.hidden * size) for size in (FULL, HALF, HALF)]
        gradient = self._logits()
        head = [self.take(HALF * self.ends[-1])]
        flow = [self.take(HALF * tokens * job.model.hidden)]
        self.give(gradient)
        self.give(self._norm_backward())
        self.give(norm)
        for inside in reversed(saved):
            flow = self._layer_backward(inside, flow)
        embedding = [self.take(HALF * self.ends[0])]
        self.give(flow)
        self.give(root)
        if not job.lora:
            buffer = self.take(FULL * sum(self.ends))
            self._gradient(sum(self.ends))
            self.give([buffer])
        self.give(embedding + head + hidden)

    def _gather(self, sizes: tuple[float, ...]) -> Blocks:
        """FSDP gathers into one buffer on its own stream, and copies out into one tensor each."""
        buffer = self.take(HALF * sum(sizes), "gather")
        weights = [self.take(HALF * size) for size in sizes]
        self.give([buffer])
        return weights

    def _activations(self) -> Blocks:
        """What a layer keeps, and two tensors that pass: the norm's float32 product and a sum."""
        tokens, hidden = self.job.tokens, self.job.model.hidden
        blocks: Blocks = []
        for position, size in enumerate(self.layer.kept):
            passing = self.take(FULL * tokens * hidden) if position % 8 == 0 else None
            blocks.append(self.take(tokens * size))
            self.give([passing])
        blocks.append(self.take(mask(self.job)))
        return blocks

    def _logits(self) -> Blocks:
        """Logits in bf16 and float32, shifted, their log-softmax and softmax; then the gradient in both types."""
        elements = self.job.tokens * self.job.model.vocabulary / self.job.tp
        half, full = HALF * elements, FULL * elements
        raw, cap = self.take(half), None
        if self.job.model.architecture.startswith("Gemma2"):
            cap = self.take(half)
        logits = self.take(full)
        self.give([raw])
        shifted = self.take(full)
        self.give([self.take(full)])
        logp = self.take(full)
        softmax = self.take(full)
        self.give([shifted, logp, logits])
        gradient = self.take(full)
        self.give([softmax])
        out = self.take(half)
        self.give([gradient, cap])
        return [out]

    def _norm_backward(self) -> Blocks:
        return [self.take(FULL * self.job.tokens * self.job.model.hidden) for _ in range(3)]

    def _layer_backward(self, inside: Blocks, flow: Blocks) -> Blocks:
        job, tokens = self.job, self.job.tokens
        weights = self._gather(self.layer.matrices)
        if job.checkpointing:
            self.give(inside)
            inside = self._activations()
        grads: Blocks = []
        share = max(len(inside) // max(len(self.layer.matrices), 1), 1)
        for position, size in enumerate(reversed(self.layer.matrices)):
            grads.append(None if job.lora else self.take(HALF * size))
            through = self.take(tokens * max(self.layer.kept[-1], HALF * job.model.hidden))
            self.give(inside[position * share : (position + 1) * share][::-1])
            self.give([through])
        self.give(inside[len(self.layer.matrices) * share :])
        self.give(self._norm_backward())
        self.give(flow)
        flow = [self.take(HALF * tokens * job.model.hidden)]
        if not job.lora:
            buffer = self.take(FULL * sum(self.layer.matrices))
            self._gradient(sum(self.layer.matrices))
            self.give(grads)
            self.give([buffer])
        self.give(weights)
        return flow

    def _gradient(self, size: float) -> None:
        """The reduced gradient of a group, on the stream of reductions: it stays, or is added to the one that is
        there."""
        block = self.take(FULL * size / self.shards, "reduce")
        if self.adds:
            self.give([block])
        else:
            self.grads.append(block)


def layer_of(job: Job) -> Layer:
    """Matrices of an average layer and the tensors that it keeps, in the order of the forward pass, bytes a token."""
    model, tp = job.model, job.tp
    counted = count(model)
    q, kv = model.heads * model.head_size, model.kv_heads * model.head_size
    attention = [model.hidden * q / tp, model.hidden * kv / tp, model.hidden * kv / tp, model.hidden * q / tp]
    rest = max(counted.body / model.layers / tp - sum(attention), 0)
    parts = 2 if model.experts else 3
    matrices = (*attention, *[rest / parts] * parts)
    norm = [FULL * model.hidden, HALF * model.hidden, HALF * model.hidden]
    inner = [HALF * q / tp, HALF * kv / tp, HALF * kv / tp, HALF * q / tp]
    known = sum(norm) * 2 + sum(inner)
    left = max(kept(job) - known, 0)
    return Layer(matrices, (*norm, *inner, *norm, *[left / 4] * 4))
