"""Conditions of NeMo RL as tables: each is a name of ``catalog/nemo_rl_conditions.yaml`` and what breaks it.

The catalog says what must hold, from which release on, when a job stops and in which line of NeMo RL; a table says how
a configuration breaks it and the least mend. A condition that a release does not have is not judged there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from findings import Problem, Severity
from groundplan.nemo_rl.bounds_rules import unjudged
from groundplan.nemo_rl.config import Config
from groundplan.nemo_rl.models import ModelShape, model_shape
from groundplan.nemo_rl.places import given, place
from groundplan.nemo_rl.shape import Shape, shape_of
from groundplan.nemo_rl.stated import FIRST, catalog, shown, stated
from groundplan.nemo_rl.training import Training

_PACKING, _DYNAMIC = "policy.sequence_packing.enabled", "policy.dynamic_batching.enabled"


@dataclass(frozen=True)
class Facts:
    """A training as the conditions read it."""

    training: Training

    @cached_property
    def config(self) -> Config:
        return self.training.config

    @cached_property
    def shape(self) -> Shape:
        return shape_of(self.config)

    @cached_property
    def model(self) -> ModelShape | None:
        """Numbers of the model; None when they are not known."""
        return model_shape(self.training.model.name)

    @property
    def megatron(self) -> bool:
        return self.shape.backend == "megatron"

    @property
    def dtensor(self) -> bool:
        return self.shape.backend == "dtensor"

    @property
    def second(self) -> bool:
        """DTensor's second worker, which is built on Automodel; the first reads plain Transformers models."""
        return self.dtensor and self.on("policy.dtensor_cfg._v2")

    @property
    def packed(self) -> bool:
        return self.on(_PACKING)

    @property
    def batched(self) -> bool:
        """Whether micro batches are made by length, and not by count."""
        return self.packed or self.on(_DYNAMIC)

    @property
    def vllm(self) -> bool:
        return self.config.text("policy.generation.backend") in ("vllm", "")

    @property
    def gym(self) -> bool:
        """Whether NeMo Gym rolls out."""
        return self.on("env.should_use_nemo_gym")

    @property
    def experts(self) -> bool:
        """Whether the model is a mixture of experts, by its numbers or its name."""
        if self.model is not None:
            return self.model.experts > 0
        known = self.training.model
        return known.active is not None and known.billions is not None and known.active < known.billions

    def get(self, path: str, default: Any = None) -> Any:
        return self.config.get(path, default)

    def on(self, path: str) -> bool:
        return self.config.on(path)

    def number(self, path: str) -> float | None:
        """The number at `path`; None when there is none."""
        value = self.config.get(path)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def since(self, release: str) -> bool:
        return self.training.release.since(release)


@dataclass(frozen=True)
class Broken:
    """How a condition is broken. `keys`: the key that is wrong, then others whose override would have done it."""

    keys: tuple[str, ...]
    reason: str
    mend: str


def broken(keys: str, reason: str, mend: str) -> Broken:
    """`keys` are divided by blanks."""
    return Broken(tuple(keys.split()), reason, mend)


Finder = Callable[[Facts], Broken | None]


@dataclass(frozen=True)
class Condition:
    """One condition: its name in the catalog, and what finds it broken. `sure` is false for what may go well."""

    name: str
    find: Finder
    sure: bool = True
    entry: dict[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entry", catalog()[self.name])

    def holds_at(self, facts: Facts) -> bool:
        """Whether the release has the condition."""
        since, until = self.entry.get("since", FIRST), self.entry.get("until")
        return facts.since(since) and (until is None or not facts.since(_after(until)))

    def judge(self, facts: Facts) -> Iterator[Problem]:
        """The finding, when the release has the condition and the configuration breaks it."""
        found = self.find(facts) if self.holds_at(facts) else None
        if found is None:
            return
        told = stated(facts.training.release, self.name)
        message = f"{_named(facts, found.keys)}: {found.reason} ({told})"
        severity = None if self.sure else Severity.WARNING
        yield Problem(place(facts.training, *found.keys), message, found.mend, severity)


def judged(training: Training, table: Iterable[Condition]) -> Iterator[Problem]:
    """What breaks the conditions of a table; nothing while the shape cannot be told."""
    if unjudged(training) or not shape_of(training.config).backend:
        return
    facts = Facts(training)
    for condition in table:
        yield from condition.judge(facts)


def _named(facts: Facts, keys: tuple[str, ...]) -> str:
    """The key that is wrong with its value, and the others that the user wrote with theirs."""
    own = given(facts.training)
    named = [keys[0], *(key for key in keys[1:] if key in own)]
    there = facts.config.values
    return ", and ".join(f"`{key}` is {shown(facts.get(key)) if key in there else 'not set'}" for key in named)


def divisor(value: int, of: int) -> int:
    """The greatest number up to `value` that divides `of`; 1 when there is no greater."""
    return next((n for n in range(min(value, of), 1, -1) if of % n == 0), 1)


def _after(version: str) -> str:
    """The release after v0.N.0."""
    major, minor, _ = version.split(".")
    return f"{major}.{int(minor) + 1}.0"
