"""What GKE leaves of a machine for pods: its own reservations of CPU and memory taken off.

Source: cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes (read 2026-11-30). The kernel's own share of
memory is not counted: it differs by image and no page gives it, so that what does not fit here does not fit at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from groundplan.catalog import Machine

#: Share of memory that GKE keeps, in per mille, of each slice in MiB; above the last slice, MEMORY_REST.
_MEMORY_SLICES = ((4 * 1024, 250), (4 * 1024, 200), (8 * 1024, 100), (112 * 1024, 60))
_MEMORY_REST = 20

#: Memory under which the kubelet starts to evict pods, in MiB.
EVICTION_MIB = 100

#: Thousandths of a CPU that GKE keeps of the first, second, third and fourth CPU; above, a quarter per cent.
_CPU_SLICES = (60, 10, 5, 5)

#: Thousandths of a CPU that GKE keeps besides when a node may hold more pods than 110.
_MANY_PODS_MILLIS = 400
_DEFAULT_MAX_PODS = 110


@dataclass(frozen=True, slots=True)
class Allocatable:
    """What pods may request on one node, in thousandths of a CPU and in MiB."""

    cpu_millis: int
    memory_mib: int


def allocatable(machine: Machine, max_pods_per_node: int = _DEFAULT_MAX_PODS) -> Allocatable:
    """What pods may request on a node of `machine`; rounded down, so that a fit is a fit."""
    return Allocatable(
        machine.vcpus * 1000 - reserved_cpu_millis(machine.vcpus, max_pods_per_node),
        machine.memory_gib * 1024 - reserved_memory_mib(machine.memory_gib * 1024) - EVICTION_MIB,
    )


def reserved_cpu_millis(vcpus: int, max_pods_per_node: int = _DEFAULT_MAX_PODS) -> int:
    """Thousandths of a CPU that GKE keeps, rounded up."""
    above = max(vcpus - len(_CPU_SLICES), 0)
    many = _MANY_PODS_MILLIS if max_pods_per_node > _DEFAULT_MAX_PODS else 0
    return sum(_CPU_SLICES[:vcpus]) + -(-above * 5 // 2) + many


def reserved_memory_mib(memory_mib: int) -> int:
    """MiB that GKE keeps for itself and the node's agents, rounded up; without the eviction threshold."""
    kept, left = 0, memory_mib
    for size, per_mille in _MEMORY_SLICES:
        kept += min(left, size) * per_mille
        left -= min(left, size)
    return -(-(kept + left * _MEMORY_REST) // 1000)
