"""What a transport brings to a machine and to a pod: one description for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from groundplan.catalog import Catalog, Gpu
from groundplan.kernel.gke import JUMBO_MTU

Manifest = dict[str, Any]


@dataclass(frozen=True)
class PodParts:
    """What a GPU worker needs for a transport beside its own container: pieces of a pod template."""

    annotations: Mapping[str, str] = field(default_factory=dict)
    sidecars: tuple[Manifest, ...] = ()
    """Native sidecars: init containers that run on (``restartPolicy: Always``), so that the pod can end."""
    volumes: tuple[Manifest, ...] = ()
    mounts: tuple[Manifest, ...] = ()
    """Mounts of the worker's own container."""


@dataclass(frozen=True)
class NodeSoftware:
    """What a transport puts on nodes: a release of the pass-through chart in kube-system."""

    release: str
    """Id of the release: ``helm_release.<release>``."""
    manifests: Mapping[str, Manifest]


def no_parts(_gpu: Gpu, _catalog: Catalog) -> PodParts:
    """Nothing beside the container."""
    return PodParts()


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
    plugin_folder: str = ""
    """Folder in the pod whose lib64 has NCCL's network plugin; empty when there is none."""
    host_paths: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Volume name -> folder of the node, and where the worker's container has it."""
    libraries: tuple[str, ...] = ()
    """What the library path of head and workers gets besides: after the image's own, which must not be shadowed."""
    environment: Callable[[Gpu], dict[str, str]] = no_environment
    """NCCL's variables, the same for head and workers."""
    parts: Callable[[Gpu, Catalog], PodParts] = no_parts
    """What the pod of a GPU worker gets besides."""

    def mounts(self) -> list[Manifest]:
        """Of the host paths, in the worker's container."""
        return [{"name": name, "mountPath": mount} for name, (_, mount) in self.host_paths.items()]

    def volumes(self) -> list[Manifest]:
        """Of the host paths, in the worker's pod."""
        return [{"name": name, "hostPath": {"path": path}} for name, (path, _) in self.host_paths.items()]


#: The driver's libraries, which GKE puts on every GPU node: folder of the node, and where containers look for it.
NVIDIA = ("/home/kubernetes/bin/nvidia", "/usr/local/nvidia")
