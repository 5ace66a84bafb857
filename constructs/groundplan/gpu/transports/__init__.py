"""Transports: how NCCL's traffic leaves a GPU machine. One module holds all that belongs to one of them."""

from __future__ import annotations

from groundplan.catalog import Gpu, Machine, shipped
from groundplan.gpu.transports.base import Transport
from groundplan.gpu.transports.plain import PLAIN
from groundplan.gpu.transports.roce import ROCE
from groundplan.gpu.transports.tcpxo import TCPXO

__all__ = ["TRANSPORTS", "Transport", "transport_of", "why_not"]

#: By the name that catalog entries use.
TRANSPORTS: dict[str, Transport] = {each.name: each for each in (ROCE, TCPXO, PLAIN)}


def transport_of(machine: Machine | None) -> Transport:
    """The machine's transport; plain sockets for one that has none, or none that is known, which a rule refuses."""
    gpu = machine.gpu if machine else None
    return TRANSPORTS.get(gpu.carries, PLAIN) if gpu else PLAIN


def why_not(machine: Machine) -> str:
    """Why the NICs of a GPU machine cannot be wired; empty when they can."""
    gpu = machine.gpu
    if gpu is None:
        return "it has no GPUs"
    families = shipped("machines")
    refused = _of_family(families["refused"], machine.name)
    if refused:
        return refused
    if not gpu.carries:
        return "its entry names no `transport` and has no RDMA NICs"
    if gpu.carries not in TRANSPORTS:
        return f"its transport {gpu.carries} is none that groundplan has ({', '.join(TRANSPORTS)})"
    real = _of_family(families["transports"], machine.name)
    if real and real != gpu.carries:
        return f"its entry says transport {gpu.carries}, and its family has {real}"
    return _wrong_nics(gpu, TRANSPORTS[gpu.carries])


def _wrong_nics(gpu: Gpu, transport: Transport) -> str:
    """What is wrong with the NICs of an entry for its transport."""
    if transport.has_rdma and not gpu.rdma_nics:
        return f"its transport is {transport.name} and it has no RDMA NICs"
    if not transport.has_rdma and gpu.rdma_nics:
        return f"its transport {transport.name} has no RDMA NICs, and its entry has {gpu.rdma_nics}"
    if transport is PLAIN and gpu.nics:
        return f"its transport is none, and its entry has {gpu.nics} NICs"
    return "" if transport is PLAIN or gpu.nics else f"its transport is {transport.name}, and its entry has no NICs"


def _of_family(families: dict[str, str], name: str) -> str:
    return next((what for family, what in families.items() if name.startswith(family)), "")
