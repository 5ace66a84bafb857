"""GPUDirect-TCPXO over gVNICs (A3 Mega): the plugin on every node, a receive daemon beside every worker.

Source: GoogleCloudPlatform/container-engine-accelerators, gpudirect-tcpxo/ (README of 2026-01-09, installer, tests) and
nri_device_injector/; GoogleCloudPlatform/cluster-toolkit v1.95.0, examples/gke-a3-megagpu. As with gIB the host's own
NCCL is not installed, for it would shadow the image's. Not confirmed: the plugin with an NCCL other than the one that
it was tried with.
"""

from __future__ import annotations

from typing import Any

from groundplan.catalog import Gpu, shipped
from groundplan.gpu.transports.base import INSTALLER_NAMESPACE, NVIDIA, Manifest, Transport, on_every_node, pause
from groundplan.kernel.gke import ACCELERATOR_LABEL

NAMESPACE = INSTALLER_NAMESPACE
INSTALLER = "nccl-tcpxo-installer"
INJECTOR = "device-injector"
DAEMON = "tcpxo-daemon"

#: Where the daemon's machines show their NICs' memory to pods.
APERTURES = "/dev/aperture_devices"
#: PCI vendor and device of those NICs.
_NIC = "1ae0:0084"

#: On the node, before the plugin: the import helper, and every NIC's memory under one folder. A mount of an earlier run
#: is taken away first.
PREPARE = f"""\
set -eu
iptables -C INPUT -p tcp -m tcp -j ACCEPT 2>/dev/null || iptables -I INPUT -p tcp -m tcp -j ACCEPT
modprobe import-helper
mkdir -p {APERTURES}
lspci -nn -D | grep '{_NIC}' | while read -r address _; do
  folder={APERTURES}/$address
  mkdir -p "$folder"
  umount -R "$folder" 2>/dev/null || true
  mount --bind "$(readlink -f "/sys/bus/pci/devices/$address")" "$folder"
done
chmod -R a+r {APERTURES}
chmod a+rw {APERTURES}/*/resource*
"""

INSTALL = """\
set -eu
chmod 755 /scripts/container_entry.sh
/scripts/container_entry.sh install
mkdir -p /usr/local/nvidia/lib64
cp -r /var/lib/tcpxo/lib64/. /usr/local/nvidia/lib64/
"""

_ENTRY = "/fts/entrypoint_rxdm_container.sh"
#: The plugin waits for the daemon (NCCL_FASTRAK_PLUGIN_ACCEPT_TIMEOUT_MS), which needs seconds where Ray needs minutes.
_DAEMON = f"chmod 755 {_ENTRY} && exec {_ENTRY} --num_hops=2 --num_nics=8"


def _fact(name: str) -> Any:
    return shipped("tcpxo")[name]


def daemon_sets(accelerator: str = "nvidia-h100-mega-80gb") -> dict[str, Manifest]:
    """Installer and device injector on the nodes of this GKE accelerator, keyed for the pass-through chart."""
    on_nodes = {"key": ACCELERATOR_LABEL, "operator": "In", "values": [accelerator]}
    return {
        "installer": on_every_node(INSTALLER, {"k8s-app": INSTALLER}, _installer(), on_nodes),
        "injector": on_every_node(INJECTOR, {"k8s-app": INJECTOR}, _injector(), on_nodes),
    }


def _installer() -> Manifest:
    # Both write to the node's own folders and devices.
    privileged = {"privileged": True}
    resources = {"requests": {"cpu": "150m", "memory": "256Mi"}}
    prepare = {
        "name": "prepare",
        "image": _fact("plugin"),
        "command": ["nsenter", "-at", "1", "--", "sh", "-c", PREPARE],
        "resources": resources,
        "securityContext": privileged,
    }
    install = {
        "name": "install",
        "image": _fact("plugin"),
        "command": ["/bin/sh", "-c", INSTALL],
        "resources": resources,
        "securityContext": privileged,
        "volumeMounts": [{"name": "var-lib", "mountPath": "/var/lib"}, {"name": "bin", "mountPath": "/usr/local"}],
    }
    return {
        "initContainers": [prepare, install],
        "containers": [pause()],
        "volumes": [
            {"name": "var-lib", "hostPath": {"path": "/var/lib"}},
            {"name": "bin", "hostPath": {"path": "/home/kubernetes/bin"}},
        ],
    }


def _injector() -> Manifest:
    paths = {"dev": "/dev", "nri": "/var/run/nri"}
    injector = {
        "name": "injector",
        "image": _fact("injector"),
        "resources": {"requests": {"cpu": "150m", "memory": "64Mi"}},
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in paths.items()],
    }
    volumes = [{"name": name, "hostPath": {"path": path}} for name, path in paths.items()]
    return {"containers": [injector], "volumes": volumes}


def environment(gpu: Gpu) -> dict[str, str]:
    """NCCL's settings of the release; the plugin checks them, and ends a training whose settings are others."""
    return dict(gpu.nccl or _fact("nccl"))


def sidecars() -> list[Manifest]:
    """The receive daemon. A native sidecar: an init container that goes on, so that the pod ends with the worker (GKE
    1.29 and newer)."""
    return [
        {
            "name": DAEMON,
            "image": _fact("daemon"),
            "restartPolicy": "Always",
            "command": ["/bin/sh", "-c", _DAEMON],
            "env": [{"name": "LD_LIBRARY_PATH", "value": f"{NVIDIA[1]}/lib64"}],
            "securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_BIND_SERVICE"]}},
            "volumeMounts": [
                {"name": "nvidia", "mountPath": NVIDIA[1]},
                {"name": "sys", "mountPath": "/hostsysfs"},
                {"name": "proc-sys", "mountPath": "/hostprocsysfs"},
            ],
        }
    ]


def devices(gpu: Gpu) -> dict[str, str]:
    """The devices that the injector gives the daemon, which asks for no GPU itself."""
    paths = [f"/dev/nvidia{n}" for n in range(gpu.count)]
    paths += ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dmabuf_import_helper"]
    listed = "".join(f"- path: {path}\n" for path in paths)
    return {f"devices.gke.io/container.{DAEMON}": listed}


TCPXO = Transport(
    name="tcpxo",
    title="GPUDirect-TCPXO",
    mtu=8244,
    host_paths={"nvidia": NVIDIA, "apertures": (APERTURES, APERTURES)},
    libraries=(f"{NVIDIA[1]}/lib64",),
    environment=environment,
    sidecars=sidecars,
    sidecar_paths={"sys": "/sys", "proc-sys": "/proc/sys"},
    plugin=NVIDIA[1],
    annotations=devices,
)
