"""No fabric: NCCL's traffic between machines goes over the primary NIC, by plain sockets (G4)."""

from __future__ import annotations

from groundplan.catalog import Gpu
from groundplan.gpu.transports.base import NVIDIA, Transport

#: GPUs of one machine -> how far apart two of them may stand and still talk directly: over the whole machine with 8 of
#: them, within a host bridge with fewer (Compute Engine, "Accelerator-optimized machine family", G4).
_P2P_ALL = 8


def _environment(gpu: Gpu) -> dict[str, str]:
    return {"NCCL_P2P_LEVEL": "SYS" if gpu.count >= _P2P_ALL else "PHB"}


PLAIN = Transport(
    name="none",
    title="plain sockets over the primary NIC",
    host_paths={"nvidia": NVIDIA},
    libraries=("/usr/local/nvidia/lib64",),
    environment=_environment,
)
