"""What a RoCE network refuses: its profile is zonal, and takes no VPC firewall rules.

Source: "RDMA network profiles" and "Cloud NGFW for RoCE VPC networks" in Google Cloud's documentation (2026-04).
"""

from __future__ import annotations

from staged_terraform.computed_values import region_of, values_at
from staged_terraform.simulated_cloud import Refused, RemoteObject, SimulatedCloud

_SUFFIX = "-vpc-roce"


def zone_of(network: RemoteObject | None) -> str:
    """The zone of a network's RoCE profile, or "" for any other network."""
    profile = str((network.state.get("network_profile") if network else None) or "").rpartition("/")[2]
    return profile.removesuffix(_SUFFIX) if profile.endswith(_SUFFIX) else ""


def check(cloud: SimulatedCloud, remote: RemoteObject) -> None:
    """Raise Refused for a firewall, subnetwork or node pool that does not fit the RoCE network it names."""
    if remote.type == "google_compute_firewall" and _zone(cloud, remote, "network"):
        raise Refused(
            "Error 400: VPC firewall rules are not supported by the network's profile, badRequest",
            "a RoCE network takes no firewall rules: leave this one out",
        )
    if remote.type == "google_compute_subnetwork" and (zone := _zone(cloud, remote, "network")):
        region = str(remote.state.get("region"))
        if region != region_of(zone):
            raise Refused(
                f"Error 400: subnetwork in {region}, but the network's profile is of zone {zone}, badRequest",
                f"the subnetworks of this network stand in {region_of(zone)}",
            )
    if remote.type == "google_container_node_pool":
        _check_pool(cloud, remote)


def _check_pool(cloud: SimulatedCloud, pool: RemoteObject) -> None:
    zones = [str(each) for each in pool.state.get("node_locations") or []]
    for name in values_at(pool.state, "network_config.additional_node_network_configs.network"):
        zone = zone_of(cloud.find("google_compute_network", str(name)))
        if zone and zones and zones != [zone]:
            raise Refused(
                f"Error 400: network {name} serves zone {zone} only, but the pool has nodes in {', '.join(zones)}",
                f"node_locations must be [{zone}], the zone of the network's RoCE profile",
            )


def _zone(cloud: SimulatedCloud, remote: RemoteObject, path: str) -> str:
    names = values_at(remote.state, path)
    return zone_of(cloud.find("google_compute_network", str(names[0]))) if names else ""
