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


def no_sidecars() -> list[Manifest]:
    """No container beside the worker's."""
    return []


@dataclass(frozen=True)
class Transport:
    """How NCCL's traffic leaves a machine."""

    name: str
    title: str
    """What people call it."""
    mtu: int = JUMBO_MTU
    """MTU of its networks in bytes."""
    has_rdma: bool = False
    """Whether its NICs are RDMA NICs; else they are gVNICs."""
    host_paths: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Volume name -> folder of the node, and where the worker's container has it."""
    libraries: tuple[str, ...] = ()
    """What the library path of head and workers gets besides: after the image's own, which must not be shadowed."""
    environment: Callable[[Gpu], dict[str, str]] = no_environment
    """NCCL's variables, the same for head and workers."""
    sidecars: Callable[[], list[Manifest]] = no_sidecars
    """Containers that run beside the worker's, from before it starts until after it ends."""
    sidecar_paths: Mapping[str, str] = field(default_factory=dict)
    """Volume name -> folder of the node, of volumes that the sidecars alone mount."""
    plugin: str = ""
    """Folder of NCCL's network plugin in the worker's container, with lib64 in it; empty for none."""
    annotations: Callable[[Gpu], dict[str, str]] = no_environment
    """Of the worker's pod."""

    def mounts(self) -> list[Manifest]:
        """Of the host paths, in the worker's container."""
        return [{"name": name, "mountPath": mount} for name, (_, mount) in self.host_paths.items()]

    def volumes(self) -> list[Manifest]:
        """Of the host paths, in the worker's pod."""
        paths = {name: path for name, (path, _) in self.host_paths.items()} | dict(self.sidecar_paths)
        return [{"name": name, "hostPath": {"path": path}} for name, path in paths.items()]


#: The driver's libraries, which GKE puts on every GPU node: folder of the node, and where containers look for it.
NVIDIA = ("/home/kubernetes/bin/nvidia", "/usr/local/nvidia")

#: Where installers stand that come with a transport, and the image that holds their pods open.
INSTALLER_NAMESPACE = "kube-system"
PAUSE_IMAGE = "gke.gcr.io/pause:3.8"


def on_every_node(name: str, labels: Mapping[str, str], pod: Manifest, expression: Manifest) -> Manifest:
    """A DaemonSet of system priority on the nodes whose labels match, with the node's own network and processes."""
    terms = [{"matchExpressions": [expression]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    spec = {
        "priorityClassName": "system-node-critical",
        "hostNetwork": True,
        "hostPID": True,
        "automountServiceAccountToken": False,
        "affinity": affinity,
        "tolerations": [{"operator": "Exists"}],
        **pod,
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": INSTALLER_NAMESPACE, "labels": dict(labels)},
        "spec": {
            "selector": {"matchLabels": dict(labels)},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": dict(labels)}, "spec": spec},
        },
    }


def pause() -> Manifest:
    """The container that holds an installer's pod open."""
    return {
        "name": "pause",
        "image": PAUSE_IMAGE,
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "16Mi"}},
    }
