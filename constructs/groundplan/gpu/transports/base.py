"""What a transport brings to a machine and to a pod: one description for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from groundplan.catalog import Gpu
from groundplan.kernel.gke import JUMBO_MTU

Manifest = dict[str, Any]


def no_environment(_gpu: Gpu) -> dict[str, str]:
    """No variable."""
    return {}


@dataclass(frozen=True)
class Transport:
    """How NCCL's traffic leaves a machine."""

    name: str
    title: str
    """What people call it."""
    mtu: int = JUMBO_MTU
    """MTU of its networks in bytes."""
    host_paths: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Volume name -> folder of the node, and where the worker's container has it."""
    libraries: tuple[str, ...] = ()
    """What the library path of head and workers gets besides: after the image's own, which must not be shadowed."""
    environment: Callable[[Gpu], dict[str, str]] = no_environment
    """NCCL's variables, the same for head and workers."""

    def mounts(self) -> list[Manifest]:
        """Of the host paths, in the worker's container."""
        return [{"name": name, "mountPath": mount} for name, (_, mount) in self.host_paths.items()]

    def volumes(self) -> list[Manifest]:
        """Of the host paths, in the worker's pod."""
        return [{"name": name, "hostPath": {"path": path}} for name, (path, _) in self.host_paths.items()]


#: The driver's libraries, which GKE puts on every GPU node: folder of the node, and where containers look for it.
NVIDIA = ("/home/kubernetes/bin/nvidia", "/usr/local/nvidia")
