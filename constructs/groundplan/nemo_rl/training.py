"""A training to be judged: the composed configuration, and the machines and keys that it will find.

The rules of this folder take a :class:`Training` and know nothing else; who has one registers them.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from findings import Problem, Severity
from groundplan.nemo_rl.config import Config
from groundplan.nemo_rl.releases import Model, Recipe, Release


@dataclass(frozen=True, kw_only=True)
class Training:
    """What a NeMo RL training is started with, and on. Counts are whole numbers."""

    config: Config
    """The configuration as NeMo RL will compose it."""
    release: Release
    recipe: Recipe
    model: Model
    overrides: dict[str, Any]
    """The user's own overrides as written, nested or dotted; :mod:`groundplan.nemo_rl.places` finds their places."""
    environment: Mapping[str, str]
    """Environment variables of head and workers."""
    nodes: int
    """Workers, one a node."""
    nodes_written: bool
    """Whether the user wrote the number of nodes; else it is the recipe's."""
    most_nodes: int
    """Nodes that could be had; 0 when that is not known."""
    gpus: int
    """GPUs of each worker."""
    gpu_memory_gb: int | None
    """Memory of one of them, in GB; None when it is not known."""
    pool: str
    """What the machines are called, for messages."""
    mount_path: str
    """Where the file system is mounted that all nodes share."""
    folder: str
    """The run's own folder on it."""
    hugging_face_token: bool
    """Whether there is a Hugging Face token."""
    wandb_key: bool
    """Whether there is a Weights & Biases API key."""
    file: Mapping[str, Any] = field(default_factory=dict)
    """What the user's own configuration file sets, flat."""
    file_name: str = ""
    """That file as the profile names it; empty when the job has a recipe."""
    deadline_hours: int = 0
    """Hours after which the job is ended; 0 when it is not."""
    mounts: tuple[str, ...] = ()
    """Where nodes have further file systems that all share."""

    def shares(self, folder: str) -> bool:
        """Whether `folder` lies on a file system that all nodes share."""
        return any(lies_under(folder, mount) for mount in (self.mount_path, *self.mounts))


def lies_under(folder: str, mount_path: str) -> bool:
    """Whether `folder` is `mount_path` or below it, ``..`` and doubled slashes worked out."""
    plain, mount = ("/" + posixpath.normpath(path).lstrip("/") for path in (folder, mount_path))
    return folder.startswith("/") and (plain == mount or plain.startswith(mount.rstrip("/") + "/"))


#: What a rule of a training is.
TrainingRule = Callable[[Training], Iterator[Problem]]


@dataclass(frozen=True)
class Check:
    """A rule of a training, with the name and the severity that it is to be registered under."""

    slug: str
    severity: Severity
    run: TrainingRule


#: The checks of every module that was imported, in order.
CHECKS: list[Check] = []


def check(slug: str, severity: Severity = Severity.ERROR) -> Callable[[TrainingRule], TrainingRule]:
    """Note a function as the rule `slug`; its docstring is the rule's documentation."""

    def note(run: TrainingRule) -> TrainingRule:
        CHECKS.append(Check(slug, severity, run))
        return run

    return note
