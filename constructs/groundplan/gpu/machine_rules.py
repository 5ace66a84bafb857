"""What can be wrong with the machine type of a GPU pool."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity, rule
from groundplan.catalog import shipped
from groundplan.gpu.rules import pool_path
from groundplan.gpu.transports import why_not
from groundplan.kernel.gke import region_of
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

    A catalog entry says how NCCL's traffic leaves the machine (`transport`) and how many NICs of each kind it has. One
    with a transport that groundplan does not have, with NICs that do not go with it, or of a family whose real
    transport is another would be given a pool whose NCCL traffic goes over the wrong NICs, or over one.

    Source: catalog machines, `transport`, `gvnics`, `rdma_nics`; Google Cloud AI Hypercomputer documentation, "GPU
    network bandwidth" (networking of accelerator-optimized machines).

    Mend: a machine type whose transport groundplan has, or an entry that says so.
    """
    for pool in site.pools:
        what = why_not(pool.machine) if pool.machine and pool.machine.gpu else ""
        if what:
            wired = [name for name, machine in site.catalog.machines.items() if machine.gpu and not why_not(machine)]
            yield Problem(
                pool_path(pool, "machine_type"),
                f"`gpu.pools[{pool.index}].machine_type` {pool.spec.machine_type} cannot be wired: {what}",
                f"use {' or '.join(wired)}; docs/add-a-machine-type.md says what an entry must hold",
            )


@rule("machine-unconfirmed", Severity.WARNING)
def machine_unconfirmed(site: Site) -> Iterator[Problem]:
    """Something about a machine type is confirmed by no source that could be read.

    The pool is planned by the best facts at hand, and the finding says which of them to try on one machine first.

    Source: catalog machines, `unconfirmed`.

    Mend: try one machine of the type; an entry of your own without `unconfirmed` says that it is settled.
    """
    told = set()
    for pool in site.pools:
        if pool.machine and pool.machine.unconfirmed and pool.machine.name not in told:
            told.add(pool.machine.name)
            yield Problem(
                pool_path(pool, "machine_type"),
                f"{pool.machine.name}: not confirmed is {pool.machine.unconfirmed}",
                "try one machine first; an entry in a catalog of your own without `unconfirmed` settles it",
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


@rule("zone-hint", Severity.WARNING)
def zone_hint(site: Site) -> Iterator[Problem]:
    """A machine type, or Managed Lustre, is not listed for its zone.

    The lists are dated copies of Google's pages and not whole, so that this is a hint: ask Google, or the reservation,
    before you trust either. A type or region that no list has is not judged, nor are AI zones, which are newer.

    Source: catalog zones (Batch documentation, "Locations"; Managed Lustre documentation, "Locations").

    Mend: a listed zone; or go on, when you know that the machines are there.
    """
    zones = shipped("zones")
    for pool in site.pools:
        known = zones["machines"].get(pool.spec.machine_type)
        if known and not {pool.zone, region_of(pool.zone)} & set(known) and not _is_ai_zone(pool.zone):
            yield Problem(
                pool_path(pool, "zone") if pool.spec.zone else ("zone",),
                f"{pool.spec.machine_type} is not listed in {pool.zone} (list of {zones['date']})",
                f"listed are {', '.join(known)}; go on if your reservation is there",
            )
    if not site.lustre.is_made:
        return
    zone = site.lustre.zone
    ends = zones["lustre"].get(region_of(zone))
    if ends and zone[-1] not in ends and not _is_ai_zone(zone):
        listed = ", ".join(f"{region_of(zone)}-{end}" for end in ends)
        path: ProfilePath = ("storage", "lustre", "zone") if site.profile.storage.lustre.zone else ("zone",)
        yield Problem(path, f"Managed Lustre is not listed in {zone} (list of {zones['date']})", f"listed are {listed}")


def _is_ai_zone(zone: str) -> bool:
    """``us-central1-ai1a``."""
    return len(zone.rpartition("-")[2]) > 1
