"""GPUDirect RDMA over RoCE NICs (A3 Ultra, A4): the gIB plugin on every node, its settings in every pod.

Source: GoogleCloudPlatform/container-engine-accelerators, gpudirect-rdma/ at 992db81 (2026-06-11). The host's own NCCL
is not installed (``--install-nccl`` left the Standard file on 2026-05-06): a foreign libnccl on the library path would
shadow the one that the training image was built with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from groundplan.catalog import Gpu, Machine, shipped
from groundplan.gpu.transports.base import NVIDIA, Transport
from groundplan.kernel.gke import ACCELERATOR_LABEL
from groundplan.kernel.roce import ROCE_MTU
from groundplan.platform.spec import Gib

#: Volume name -> folder of a GPU node, and where pods have it: the driver's libraries and the gIB plugin.
HOST_PATHS = {"nvidia": NVIDIA, "gib": ("/home/kubernetes/bin/gib", "/usr/local/gib")}

TUNER_FOLDER = "/usr/local/gib/configs"

NAME = "nccl-rdma-installer"
NAMESPACE = "kube-system"
REPOSITORY = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib"
PAUSE_IMAGE = "gke.gcr.io/pause:3.8"

#: Copy the plugin to the node. Martian logging of the RDMA interfaces is turned off first: with it on, the kernel log
#: floods. The interfaces are the node's, which hostNetwork shows.
INSTALL = """\
set -eu
for setting in /proc/sys/net/ipv4/conf/gpu*rdma0/log_martians; do
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
            {"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
            for name, (path, _) in HOST_PATHS.items()
        ],
    }


def environment(gpu: Gpu) -> dict[str, str]:
    """gIB's settings for NCCL, and its tuner file."""
    values: dict[str, str] = dict(shipped("gib")["nccl"])
    if gpu.tuner:
        values["NCCL_TUNER_CONFIG_PATH"] = f"{TUNER_FOLDER}/{gpu.tuner}"
    return values


ROCE = Transport(
    name="roce",
    title="GPUDirect RDMA over RoCE",
    mtu=ROCE_MTU,
    host_paths=HOST_PATHS,
    libraries=("/usr/local/gib/lib64", "/usr/local/nvidia/lib64"),
    environment=environment,
)
