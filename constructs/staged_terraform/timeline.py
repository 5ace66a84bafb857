"""The critical path of an apply: the longest chain of creations, with assumed latencies.

Terraform's state names what each resource waited for. Latencies are the type facts' assumptions; the chain assumes that
nothing waits for a free slot (Terraform makes ten things at a time) and that stacks are applied one after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ASSUMPTIONS = (
    "latencies are round assumptions, not measurements",
    "no waiting for capacity, quota, or one of Terraform's ten slots",
    "stacks are applied one after another, without pauses between them",
)


@dataclass(frozen=True, slots=True)
class Step:
    """A resource on the path and the seconds assumed for its creation."""

    address: str
    seconds: int


def critical_path(state: Mapping[str, Any], seconds: Mapping[str, int]) -> list[Step]:
    """The longest chain in a state; `seconds` gives the creation time of a resource type."""
    cost: dict[str, int] = {}
    waits: dict[str, set[str]] = {}
    for resource in state.get("resources", []):
        address = f"{resource['type']}.{resource['name']}"
        if resource.get("mode") == "data":
            address = f"data.{address}"
        cost[address] = seconds.get(resource["type"], 0) if resource.get("mode") != "data" else 0
        waits[address] = {each for instance in resource["instances"] for each in instance.get("dependencies", [])}
    best: dict[str, tuple[int, str | None]] = {}

    def finish(address: str) -> int:
        if address not in best:
            best[address] = (cost[address], None)  # stands while its dependencies are walked; a graph has no cycle
            before = max(((finish(each), each) for each in sorted(waits[address]) if each in cost), default=(0, ""))
            best[address] = (cost[address] + before[0], before[1] or None)
        return best[address][0]

    last: str | None = max(sorted(cost), key=finish, default=None)
    path = []
    while last is not None:
        path.append(Step(last, cost[last]))
        last = best[last][1]
    return [step for step in reversed(path) if step.seconds]
