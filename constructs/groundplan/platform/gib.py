"""Facts about the gIB installer: the NCCL network plugin that GPUDirect RDMA over RoCE needs on every GPU node.

Source: GoogleCloudPlatform/container-engine-accelerators, gpudirect-rdma/ at 992db81 (2026-06-11). The host's own NCCL
is not installed (``--install-nccl`` left the Standard file on 2026-05-06): a foreign libnccl on the library path would
shadow the one that the training image was built with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from groundplan.catalog import Machine
from groundplan.gpu.values import HOST_PATHS
from groundplan.kernel.gke import ACCELERATOR_LABEL
from groundplan.platform.spec import Gib

NAME = "nccl-rdma-installer"
NAMESPACE = "kube-system"
REPOSITORY = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib"
PAUSE_IMAGE = "gke.gcr.io/pause:3.8"

#: Copy the plugin to the node. Martian logging of the eight RDMA interfaces is turned off first: with it on, the kernel
#: log floods. The interfaces are the node's, which hostNetwork shows.
INSTALL = """\
set -eu
for n in 0 1 2 3 4 5 6 7; do
  setting="/proc/sys/net/ipv4/conf/gpu${n}rdma0/log_martians"
  if [ -e "$setting" ]; then echo 0 > "$setting"; fi
done
/scripts/container_entry.sh install
mkdir -p /host/nvidia/lib64
cp -r /var/lib/gib/lib64/. /host/nvidia/lib64/
cp -r /var/lib/gib/. /host/gib/
"""


def installer_image(spec: Gib) -> str:
    """The installer's image: a mirror's, or Google's at the pinned version."""
    return spec.image or f"{REPOSITORY}:{spec.version}"


def rdma_accelerators(machines: Iterable[Machine]) -> list[str]:
    """The accelerators whose machines have RDMA NICs, sorted."""
    return sorted({m.gpu.accelerator for m in machines if m.gpu and m.gpu.rdma_nics})


def daemon_set(image: str, accelerators: Sequence[str]) -> dict[str, Any]:
    """The installer on every node that carries one of these GKE accelerators, such as ``nvidia-b200``."""
    labels = {"k8s-app": NAME}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {"metadata": {"labels": labels}, "spec": _pod(image, accelerators)},
        },
    }


def _pod(image: str, accelerators: Sequence[str]) -> dict[str, Any]:
    on_accelerators = {"key": ACCELERATOR_LABEL, "operator": "In", "values": list(accelerators)}
    return {
        "priorityClassName": "system-node-critical",
        "hostNetwork": True,
        "hostPID": True,
        "automountServiceAccountToken": False,
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [on_accelerators]}]
                }
            }
        },
        "tolerations": [{"operator": "Exists"}],
        "initContainers": [
            {
                "name": "install",
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["/bin/sh", "-c", INSTALL],
                "resources": {"requests": {"cpu": "150m", "memory": "256Mi"}},
                # It writes to the node's own folders and sysctls.
                "securityContext": {"privileged": True},
                "volumeMounts": [{"name": name, "mountPath": f"/host/{name}"} for name in HOST_PATHS],
            }
        ],
        "containers": [
            {
                "name": "pause",
                "image": PAUSE_IMAGE,
                "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "16Mi"}},
            }
        ],
        "volumes": [
            {"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}} for name, path in HOST_PATHS.items()
        ],
    }
