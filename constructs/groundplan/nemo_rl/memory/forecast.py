"""The forecast against a GPU: peak and parts, whether it fits, how sure that is, and what a change would save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from groundplan.nemo_rl.memory import dtensor, megatron, replay
from groundplan.nemo_rl.memory.activations import UNMEASURED
from groundplan.nemo_rl.memory.generation import ASLEEP
from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.memory.moments import Moment, peak

GB = 1e9
#: What CUDA's context and NCCL's buffers take beside PyTorch's allocator. Not measured.
CONTEXT = 3e9
#: Error of the forecast as a share: DTensor on measured kinds of layers (docs/memory.md: 4 % at most), on others,
#: Megatron's, which is not measured, and that of a model of which only the size is known.
MEASURED, COUNTED, MEGATRON, GUESSED = 0.06, 0.15, 0.25, 0.4
#: Nearer to the limit than this is warned of.
NEAR = 0.1


@dataclass(frozen=True)
class Forecast:
    """One job on GPUs of `limit` bytes."""

    job: Job
    limit: float

    @cached_property
    def moment(self) -> Moment:
        """The moment of the step that takes most."""
        return peak(moments(self.job))

    @property
    def step_peak(self) -> float:
        """The most that PyTorch holds in a step, in bytes: what torch.cuda.max_memory_allocated reports."""
        return self.moment.bytes

    @cached_property
    def reserved(self) -> float | None:
        """What PyTorch reserves after two steps; None where it is not forecast (Megatron)."""
        if self.job.backend == "megatron":
            return None
        return max(replay.reserved(self.job), self.step_peak)

    @property
    def beside(self) -> dict[str, float]:
        """What takes memory beside PyTorch's allocator of the training."""
        asleep = {"vLLM asleep": ASLEEP} if self.job.colocated else {}
        return {"CUDA and NCCL": CONTEXT, **asleep}

    @property
    def needed(self) -> float:
        """Bytes that the GPU must have. PyTorch gives cached blocks back before it fails, so its peak counts."""
        return self.step_peak + sum(self.beside.values())

    @property
    def error(self) -> float:
        """The forecast's own error, as a share."""
        if not self.job.model.architecture:
            return GUESSED
        if self.job.backend == "megatron":
            return MEGATRON
        return COUNTED if self.job.model.architecture.startswith(UNMEASURED) else MEASURED

    @property
    def fits(self) -> bool:
        """Whether the GPU has what is needed."""
        return self.needed <= self.limit

    @property
    def fails(self) -> bool:
        """Whether it would not fit even if the forecast were too high by its error."""
        return self.needed * (1 - self.error) > self.limit

    @property
    def near(self) -> bool:
        """Whether it is within a tenth of the limit, or beyond."""
        return self.needed > self.limit * (1 - NEAR)

    @property
    def parts(self) -> dict[str, float]:
        """The peak's parts and what lies beside them, in GB."""
        return {name: size / GB for name, size in {**self.moment.parts, **self.beside}.items()}

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """What of this forecast no measurement stands behind."""
        found = ["CUDA and NCCL"]
        if self.job.colocated:
            found.append("vLLM asleep")
        if self.job.backend == "megatron":
            found.append("Megatron")
        elif self.error > MEASURED:
            found.append(f"layers of {self.job.model.architecture or 'a model whose numbers are not known'}")
        return tuple(found)

    def savings(self) -> Iterator[tuple[Change, Forecast]]:
        """Changes that lower the peak, each with its own forecast, the least intrusive first."""
        for change in changes(self.job):
            changed = Forecast(change.job, self.limit)
            if changed.step_peak < self.step_peak * 0.98:
                yield change, changed

    @property
    def mend(self) -> tuple[Change, Forecast] | None:
        """The first change that fits with room; else the first that fits; None when none does."""
        found = list(self.savings())
        good = [each for each in found if not each[1].near] or [each for each in found if each[1].fits]
        return good[0] if good else None


@dataclass(frozen=True)
class Change:
    """Another way to run the same training. `settings` are names of :class:`Job` with their new values."""

    words: str
    job: Job
    settings: Mapping[str, Any]


def saving(change: Change, before: Forecast, after: Forecast) -> str:
    """``activation checkpointing: 83 -> 36 GB``, of what the GPU must have."""
    return f"{change.words}: {before.needed / GB:.0f} -> {after.needed / GB:.0f} GB"


def moments(job: Job) -> list[Moment]:
    """The moments of the job's step, by its backend."""
    return megatron.moments(job) if job.backend == "megatron" else dtensor.moments(job)


def changes(job: Job) -> Iterator[Change]:
    """Other ways to run the same training: first what costs time alone, then other sizes, then more GPUs."""
    saved = {} if job.checkpointing else {"checkpointing": True}
    if saved:
        yield _change("activation checkpointing", job, saved)
    if job.micro_batch > 1:
        yield _change("micro batch 1", job, {"micro_batch": 1})
    for wider in (tp for tp in (2, 4, 8) if tp > job.tp and _divides(job, tp)):
        words = f"tensor parallel {wider}" + (" and activation checkpointing" if saved else "")
        yield _change(words, job, {"tp": wider, **saved})
    for times in (2, 4):
        words = f"{times * job.gpus} GPUs" + (" and activation checkpointing" if saved else "")
        yield _change(words, job, {"gpus": times * job.gpus, **saved})


def _divides(job: Job, tp: int) -> bool:
    return job.model.kv_heads % tp == 0 and job.gpus % (tp * job.cp * job.pp) == 0


def _change(words: str, job: Job, settings: Mapping[str, Any]) -> Change:
    more = {"micro_batches": max(job.micro_batches, 2)} if "micro_batch" in settings else {}
    return Change(words, job.but(**settings, **more), settings)
