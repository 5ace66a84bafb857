"""The custom resources of the platform stack as plain dictionaries: one Network for each additional NIC."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from groundplan.gpu.fabric_values import Nic

NETWORKING_API = "networking.gke.io/v1"


def network_objects(nics: Iterable[Nic]) -> dict[str, dict[str, Any]]:
    """A Network and its GKENetworkParamSet per NIC, keyed for the pass-through chart. Both kinds are cluster-scoped."""
    objects: dict[str, dict[str, Any]] = {}
    for nic in nics:
        objects[f"params-{nic.name}"] = _parameters(nic)
        objects[f"network-{nic.name}"] = _network(nic)
    return objects


def _parameters(nic: Nic) -> dict[str, Any]:
    return {
        "apiVersion": NETWORKING_API,
        "kind": "GKENetworkParamSet",
        "metadata": {"name": nic.name},
        "spec": {"vpc": nic.vpc, "vpcSubnet": nic.subnetwork, "deviceMode": nic.device_mode},
    }


def _network(nic: Nic) -> dict[str, Any]:
    reference = {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": nic.name}
    return {
        "apiVersion": NETWORKING_API,
        "kind": "Network",
        "metadata": {"name": nic.name},
        "spec": {"type": "Device", "parametersRef": reference},
    }
