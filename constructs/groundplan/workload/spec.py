"""The ``workload`` section: which NeMo RL job runs, from which release and recipe, on how many nodes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from groundplan.fields import Image, NamePrefix, PositiveCount, Quantity, Section, TagVersion


class Head(Section):
    """The Ray head: CPU only, on the CPU pool; the training's driver runs in it."""

    cpu: PositiveCount | None = None
    """CPUs. Default: the recipe's."""
    memory: Quantity | None = None
    """Memory. Default: the recipe's."""


class Worker(Section):
    """A Ray worker: one a GPU node, with all of its GPUs and NICs."""

    cpu: PositiveCount | None = None
    """CPUs. Default: 206."""
    memory: Quantity | None = None
    """Memory, shared memory included. Default: 2400Gi."""
    shm: Quantity | None = None
    """Size of /dev/shm. Default: 240Gi."""
    privileged: bool = False
    """Run privileged instead of with IPC_LOCK alone."""


class WorkloadSpec(Section):
    """The training job."""

    name: NamePrefix | None = None
    """Start of the RayJob's name; a hash of the job is added. Default: the recipe's name."""
    recipe: str = "grpo-gemma3-27b-gsm8k"
    """Recipe: base config, overrides and shape (`groundplan catalog recipes`)."""
    release: TagVersion | None = None
    """NeMo RL release. Default: the catalog's."""
    image: Image | None = None
    """Image, for a mirror; it must hold the release. Default: the release's."""
    nodes: PositiveCount | None = None
    """GPU nodes of the job. Default: the recipe's."""
    overrides: dict[str, Any] = {}
    """NeMo RL configuration keys and values, nested or dotted, over the recipe's."""
    run: PositiveCount = 1
    """Raise it to start the same job again."""
    submission: Literal["HTTPMode", "K8sJobMode"] = "HTTPMode"
    """How KubeRay hands the job to Ray."""
    deadline_hours: Annotated[int, Field(ge=1, le=720)] = 24
    """Hours after which the job is stopped."""
    head: Head = Head()
    """Ray head."""
    worker: Worker = Worker()
    """Ray workers."""
