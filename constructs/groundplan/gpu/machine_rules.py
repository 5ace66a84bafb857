"""What can be wrong with the machine type of a GPU pool."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from findings import Problem, rule
from groundplan.catalog import shipped
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
    transports: dict[str, str] = shipped("machines")["other_fabrics"]
    for pool in site.pools:
        gpu, name = pool.machine.gpu if pool.machine else None, pool.spec.machine_type
        if gpu is None:
            continue
        transport = next((of for family, of in transports.items() if name.startswith(family)), "")
        if transport:
            what = f"its fabric is {transport}"
        elif gpu.rdma_nics == 0:
            what = "it has no RDMA NICs"
        elif gpu.rdma_nics != gpu.count:
            what = f"it has {gpu.rdma_nics} RDMA NICs for {gpu.count} GPUs"
        else:
            continue
        yield Problem(
            pool_path(pool, "machine_type"),
            f"`gpu.pools[{pool.index}].machine_type` {name}: {what}, which groundplan cannot wire; it can wire a gVNIC "
            "and one RoCE NIC for each GPU",
            f"use {' or '.join(roce_machines(site))}; docs/add-a-machine-type.md says what an entry must hold",
        )


def roce_machines(site: Site) -> list[str]:
    """Machine types of the catalog that groundplan can wire."""
    return [
        name for name, entry in site.catalog.machines.items() if entry.gpu and entry.gpu.rdma_nics == entry.gpu.count
    ]
