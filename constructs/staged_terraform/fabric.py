"""What a RoCE network refuses: its profile is zonal, and takes no VPC firewall rules.

Source: "RDMA network profiles" and "Cloud NGFW for RoCE VPC networks" in Google Cloud's documentation (2026-04).
"""

from __future__ import annotations

from staged_terraform.answers import region_of, values_at
from staged_terraform.world import Refused, Thing, World

_SUFFIX = "-vpc-roce"


def zone_of(network: Thing | None) -> str:
    """The zone of a network's RoCE profile, or "" for any other network."""
    profile = str((network.state.get("network_profile") if network else None) or "").rpartition("/")[2]
    return profile.removesuffix(_SUFFIX) if profile.endswith(_SUFFIX) else ""


def check(world: World, thing: Thing) -> None:
    """Raise Refused for a firewall, subnetwork or node pool that does not fit the RoCE network it names."""
    if thing.type == "google_compute_firewall" and _zone(world, thing, "network"):
        raise Refused(
            "Error 400: VPC firewall rules are not supported by the network's profile, badRequest",
            "a RoCE network takes no firewall rules: leave this one out",
        )
    if thing.type == "google_compute_subnetwork" and (zone := _zone(world, thing, "network")):
        region = str(thing.state.get("region"))
        if region != region_of(zone):
            raise Refused(
                f"Error 400: subnetwork in {region}, but the network's profile is of zone {zone}, badRequest",
                f"the subnetworks of this network stand in {region_of(zone)}",
            )
    if thing.type == "google_container_node_pool":
        _check_pool(world, thing)


def _check_pool(world: World, pool: Thing) -> None:
    zones = [str(each) for each in pool.state.get("node_locations") or []]
    for name in values_at(pool.state, "network_config.additional_node_network_configs.network"):
        zone = zone_of(world.find("google_compute_network", str(name)))
        if zone and zones and zones != [zone]:
            raise Refused(
                f"Error 400: network {name} serves zone {zone} only, but the pool has nodes in {', '.join(zones)}",
                f"node_locations must be [{zone}], the zone of the network's RoCE profile",
            )


def _zone(world: World, thing: Thing, path: str) -> str:
    names = values_at(thing.state, path)
    return zone_of(world.find("google_compute_network", str(names[0]))) if names else ""
