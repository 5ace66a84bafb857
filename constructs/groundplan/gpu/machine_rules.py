"""What can be wrong with the machine type of a GPU pool."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from findings import Problem, rule
from groundplan.catalog import Machine, shipped
from groundplan.gpu.rules import pool_path
from groundplan.site.resolve import Site


@rule("gpu-machine")
def gpu_machine(site: Site) -> Iterator[Problem]:
    """A GPU pool's machine type is not in the catalog, or has no GPUs.

    Everything about the pool follows from the machine type: accelerator, GPUs, RDMA NICs, local SSDs, boot disk. A type
    that the catalog does not know cannot be planned.

    Source: catalog (`groundplan catalog machines`).

    Mend: a4-highgpu-8g or a3-ultragpu-8g, or an entry in a catalog file of your own.
    """
    for pool in site.pools:
        name = pool.spec.machine_type
        if pool.machine and pool.machine.gpu:
            continue
        known = [machine for machine, entry in site.catalog.machines.items() if entry.gpu]
        near = difflib.get_close_matches(name, known, n=1)
        what = "has no GPUs" if pool.machine else "is not in the catalog"
        yield Problem(
            pool_path(pool, "machine_type"),
            f"`gpu.pools[{pool.index}].machine_type` {name} {what}",
            f"did you mean {near[0]}?"
            if near
            else f"use {' or '.join(known)}, or add it to a catalog file of your own",
        )


@rule("machine-fabric")
def machine_fabric(site: Site) -> Iterator[Problem]:
    """The NICs of a machine type are none that groundplan can wire.

    It knows one fabric: a gVNIC beside the primary NIC, and one RoCE NIC for each GPU on a network with the profile
    `<zone>-vpc-roce`, as A4 and A3 Ultra have. A catalog entry with no RDMA NICs, or with another number of them than
    GPUs, or of a family with another transport would be given a pool whose NCCL traffic goes over the wrong NICs, or
    over one.

    Source: catalog machines, `rdma_nics` and `other_fabrics`; Google Cloud AI Hypercomputer documentation, "GPU network
    bandwidth" (networking of accelerator-optimized machines).

    Mend: a machine type with one RoCE NIC for each GPU: a4-highgpu-8g, a3-ultragpu-8g, or an entry that says so.
    """
    for pool in site.pools:
        what = _unwired(pool.machine) if pool.machine and pool.machine.gpu else ""
        if what:
            wired = [name for name, machine in site.catalog.machines.items() if machine.gpu and not _unwired(machine)]
            yield Problem(
                pool_path(pool, "machine_type"),
                f"`gpu.pools[{pool.index}].machine_type` {pool.spec.machine_type}: {what}, which groundplan cannot "
                "wire; it can wire a gVNIC and one RoCE NIC for each GPU",
                f"use {' or '.join(wired)}; docs/add-a-machine-type.md says what an entry must hold",
            )


@rule("host-maintenance")
def host_maintenance(site: Site) -> Iterator[Problem]:
    """A GPU pool asks for a host maintenance interval, which the google provider never sends.

    The argument stands in the provider's schema as one that replaces the pool, and nowhere else: it is in no request,
    is never read back, and every later plan destroys and makes the pool anew. GKE takes the interval in its beta API
    alone. Machines of a reservation have the interval that the reservation was made with.

    Source: hashicorp/google 6.50.0 and 7.45.0, container/node_config.go, `host_maintenance_policy`: ForceNew, and
    neither expanded nor flattened.

    Mend: leave `host_maintenance` out; the interval is set where the reservation is made.
    """
    for pool in site.pools:
        if pool.spec.host_maintenance is not None:
            yield Problem(
                pool_path(pool, "host_maintenance"),
                f"`gpu.pools[{pool.index}].host_maintenance` {pool.spec.host_maintenance} would replace pool "
                f"{pool.name} at every plan: the google provider never sends it",
                "leave it out; it is set where the reservation is made",
            )


def _unwired(machine: Machine) -> str:
    """Why the NICs of a GPU machine cannot be wired; empty when they can."""
    transports: dict[str, str] = shipped("machines")["other_fabrics"]
    gpu = machine.gpu
    transport = next((of for family, of in transports.items() if machine.name.startswith(family)), "")
    if transport:
        return f"its fabric is {transport}"
    if gpu is None or gpu.rdma_nics == 0:
        return "it has no RDMA NICs"
    return f"it has {gpu.rdma_nics} RDMA NICs for {gpu.count} GPUs" if gpu.rdma_nics != gpu.count else ""
