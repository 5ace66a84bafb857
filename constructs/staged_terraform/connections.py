"""Private connections to a producer's services: what lives behind one needs it, and it is not given back at once."""

from __future__ import annotations

import threading
from typing import Protocol

from staged_terraform.computed_values import first, plain, render, values_at
from staged_terraform.remote_object import LEFT, Refused, RemoteObject, abandons


class Cloud(Protocol):
    """What is asked of the simulated cloud here."""

    outside: set[tuple[str, str]]
    objects: dict[tuple[str, str], RemoteObject]
    held_by_producers: set[str]
    lock: threading.RLock

    def of_type(self, type_name: str, cluster: str = "") -> list[RemoteObject]: ...

    def key(self, remote: RemoteObject) -> tuple[str, str]: ...


CONNECTION = "google_service_networking_connection"

#: What Google answers for hours after the last instance is gone (provider issues on deleteConnection).
STILL_USED = "Failed to delete connection; Producer services are still using this connection."


def networks_behind(remote: RemoteObject) -> set[str]:
    """The networks through whose connection an instance of a producer's service is reached, by name."""
    used = values_at(remote.state, remote.facts.peered) if remote.facts.peered else []
    return {_base(each) for each in used}


def require_connection(cloud: Cloud, remote: RemoteObject) -> None:
    """Every network of an instance has its connection. Raises Refused."""
    connected = {_base(first(each.state, "network")) for each in cloud.of_type(CONNECTION)}
    for base in sorted(networks_behind(remote) - connected):
        if ("google_compute_network", base) not in cloud.outside:
            raise Refused(
                f"Error 400: network {base} has no private service access connection, failedPrecondition",
                f"{remote.type} lives behind google_service_networking_connection, which must be made first.",
            )


def require_unused(cloud: Cloud, connection: RemoteObject) -> None:
    """A connection behind which something lives, or lived lately, is not given back. Raises Refused."""
    if connection.type != CONNECTION or abandons(connection):
        return
    network = _base(connection.state.get("network"))
    for other in cloud.objects.values():
        if network in networks_behind(other):
            raise Refused(f"Error 400: {STILL_USED}", f"{other.type} {other.id} must be deleted first.")
    if network in cloud.held_by_producers:
        raise Refused(
            f"Error 400: {STILL_USED}",
            f"Google keeps it for hours after the last instance is gone. By hand at once: {_by_hand(connection)}",
        )


def remove_by_hand(cloud: Cloud, summary: str) -> list[str]:
    """Do by hand what a refusal of this text calls for; the commands, empty when there is none."""
    with cloud.lock:
        found = [each for each in cloud.objects.values() if each.type == LEFT and each.id in summary]
        commands = [str(each.state["by_hand"]) for each in found]
        if STILL_USED in summary:
            live = {name for each in cloud.objects.values() for name in networks_behind(each)}
            free = cloud.held_by_producers - live
            held = [each for each in cloud.of_type(CONNECTION) if _base(each.state.get("network")) in free]
            commands += [_by_hand(each) for each in held]
            found += held
        for each in found:
            del cloud.objects[cloud.key(each)]
        return commands


def _by_hand(connection: RemoteObject) -> str:
    template = connection.facts.abandons.get("by_hand", "remove {peering} from {network}")
    return str(render(template, (), {**connection.state, "project": connection.project}))


def _base(reference: object) -> str:
    return plain(str(reference)).rpartition("/")[2]
