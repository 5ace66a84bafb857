"""GPUDirect RDMA over RoCE NICs (A3 Ultra, A4): the gIB plugin on every node, its settings in every pod.

Source: GoogleCloudPlatform/container-engine-accelerators, gpudirect-rdma/ at 992db81 (2026-06-11). The host's own NCCL
is not installed (``--install-nccl`` left the Standard file on 2026-05-06): a foreign libnccl on the library path would
shadow the one that the training image was built with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from groundplan.catalog import Gpu, Machine, shipped
from groundplan.gpu.transports.base import INSTALLER_NAMESPACE, NVIDIA, Transport, on_every_node, pause
from groundplan.kernel.gke import ACCELERATOR_LABEL
from groundplan.kernel.roce import ROCE_MTU
from groundplan.platform.spec import Gib

#: Volume name -> folder of a GPU node, and where pods have it: the driver's libraries and the gIB plugin.
HOST_PATHS = {"nvidia": NVIDIA, "gib": ("/home/kubernetes/bin/gib", "/usr/local/gib")}

TUNER_FOLDER = f"{HOST_PATHS['gib'][1]}/configs"

NAME = "nccl-rdma-installer"
NAMESPACE = INSTALLER_NAMESPACE
REPOSITORY = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib"

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


def installer_image(spec: Gib, arch: str = "amd64") -> str:
    """The installer's image: a mirror's, or Google's at the pinned version; for other architectures than amd64 at the
    one that the catalog has, for their tags are fewer."""
    if arch == "amd64":
        return spec.image or f"{REPOSITORY}:{spec.version}"
    return spec.arm64_image or f"{REPOSITORY}-{arch}:{shipped('gib')[arch]}"


def rdma_accelerators(machines: Iterable[Machine], arch: str = "amd64") -> list[str]:
    """The accelerators whose machines have RDMA NICs and this architecture, sorted."""
    return sorted({m.gpu.accelerator for m in machines if m.gpu and m.gpu.rdma_nics and m.arch == arch})


def daemon_set(image: str, accelerators: Sequence[str], name: str = NAME) -> dict[str, Any]:
    """The installer on every node that carries one of these GKE accelerators, such as ``nvidia-b200``."""
    on_accelerators = {"key": ACCELERATOR_LABEL, "operator": "In", "values": list(accelerators)}
    return on_every_node(name, {"k8s-app": name}, _pod(image), on_accelerators)


def _pod(image: str) -> dict[str, Any]:
    return {
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
        "containers": [pause()],
        "volumes": [
            {"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
            for name, (path, _) in HOST_PATHS.items()
        ],
    }


def environment(gpu: Gpu) -> dict[str, str]:
    """gIB's settings for NCCL, the machine's own where it has some, and its tuner file."""
    values: dict[str, str] = dict(gpu.nccl or shipped("gib")["nccl"])
    if gpu.tuner:
        values["NCCL_TUNER_CONFIG_PATH"] = f"{TUNER_FOLDER}/{gpu.tuner}"
    return values


ROCE = Transport(
    name="roce",
    title="GPUDirect RDMA over RoCE",
    mtu=ROCE_MTU,
    has_rdma=True,
    host_paths=HOST_PATHS,
    libraries=("/usr/local/gib/lib64", "/usr/local/nvidia/lib64"),
    environment=environment,
    plugin=HOST_PATHS["gib"][1],
)
