"""What can be wrong with the cluster: versions, endpoints, the CPU pool."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity, rule
from groundplan.gpu.transports import transport_of
from groundplan.kernel.gke import floor_for, is_below
from groundplan.kernel.protection import is_unprotected
from groundplan.kernel.ranges import admits_internet, is_documentation, is_private, is_unrestricted
from groundplan.site.resolve import Site

_CONTROL_PLANE: ProfilePath = ("cluster", "control_plane")

#: Most authorized networks of a cluster (GKE documentation, "Authorized networks", limits).
_MOST_AUTHORIZED = 100


@rule("gke-version-old")
def gke_version_old(site: Site) -> Iterator[Problem]:
    """The GKE version is too old for what the site needs.

    Each feature has its floor in the catalog: the oldest version that channels still offer, GPUDirect RDMA on the
    machine types of the pools, the Lustre CSI driver, the DNS endpoint. A prefix such as "1.33" passes when its newest
    patch can be new enough.

    Source: catalog (`groundplan catalog gke`), catalog machines.

    Mend: the floor named in the finding, or no version at all: the channel's default is newer than all of them.
    """
    version = site.profile.cluster.version
    for feature, floor in version_floors(site):
        if is_below(version, floor):
            yield Problem(
                ("cluster", "version"),
                f"`cluster.version` {version} is below {floor}, the least for {feature}",
                f'use "{floor}" or newer, or leave it out',
            )


def version_floors(site: Site) -> list[tuple[str, str]]:
    """What the site needs of GKE, and the oldest version that has it."""
    floors = [("any release channel", site.catalog.gke["oldest"])]
    if site.lustre.is_used:
        floors.append(("the Lustre CSI driver", site.catalog.gke["lustre_csi"]))
    if site.profile.cluster.control_plane.dns_endpoint:
        floors.append(("the DNS endpoint", site.catalog.gke["dns_endpoint"]))
    for machine in sorted({pool.machine.name for pool in site.pools if pool.machine}):
        entry = site.catalog.machines[machine]
        floor = floor_for(site.profile.cluster.version, entry.gpu.min_gke) if entry.gpu else ""
        if floor:
            floors.append((f"{transport_of(entry).title} on {machine}", floor))
    managed = {pool.spec.machine_type: pool.gpu for pool in site.pools if pool.is_managed}
    for machine, gpu in sorted(managed.items()):
        if gpu and gpu.managed_gke:
            floors.append((f"networks that GKE makes for {machine}", gpu.managed_gke))
    return floors


@rule("open-control-plane")
def open_control_plane(site: Site) -> Iterator[Problem]:
    """The control plane's IP endpoint admits the whole internet, or a good part of it.

    Whoever reaches the endpoint can try credentials and unpatched faults of the API server. Refused from /0 to /7 of
    public space, so that two halves of the internet do not pass as two ranges.

    Source: GKE documentation, "Harden your cluster's security", "Restrict network access".

    Mend: the ranges of those who call; or the DNS endpoint alone, where IAM decides.
    """
    for index, entry in enumerate(site.profile.cluster.control_plane.authorized_networks):
        if admits_internet(entry.cidr):
            yield Problem(
                (*_CONTROL_PLANE, "authorized_networks", index, "cidr"),
                f"authorized network {entry.name} admits {entry.cidr} to the Kubernetes API",
                "name the ranges of those who call, or rely on the DNS endpoint, where IAM decides",
            )


@rule("public-endpoint-unrestricted")
def public_endpoint_unrestricted(site: Site) -> Iterator[Problem]:
    """The public IP endpoint is on, and nobody is named who may use it.

    Without authorized networks a public endpoint is either open to the world or, as groundplan writes it, closed to
    everyone: neither is meant.

    Source: GKE documentation, "About network isolation in GKE", control plane access; Terraform provider documentation,
    google_container_cluster, `master_authorized_networks_config` (without `cidr_blocks` nobody outside).

    Mend: `authorized_networks`, or `public_endpoint: false` and the DNS endpoint.
    """
    control_plane = site.profile.cluster.control_plane
    # A profile cannot say that it means nobody: an empty list is one that was forgotten.
    if is_unrestricted(control_plane.public_endpoint, control_plane.authorized_networks or None):
        yield Problem(
            (*_CONTROL_PLANE, "public_endpoint"),
            "`cluster.control_plane.public_endpoint` is true without `authorized_networks`",
            "list who may call in `authorized_networks`, or use the DNS endpoint alone",
        )


@rule("authorized-networks-count")
def authorized_networks_count(site: Site) -> Iterator[Problem]:
    """There are more authorized networks than a cluster takes.

    Source: GKE documentation, "Authorized networks", limits (100).

    Mend: wider ranges, or the DNS endpoint.
    """
    count = len(site.profile.cluster.control_plane.authorized_networks)
    if count > _MOST_AUTHORIZED:
        yield Problem(
            (*_CONTROL_PLANE, "authorized_networks"),
            f"{count} authorized networks are more than {_MOST_AUTHORIZED}, the most a cluster takes",
            "join ranges, or use the DNS endpoint",
        )


@rule("endpoint-unreachable", Severity.WARNING)
def endpoint_unreachable(site: Site) -> Iterator[Problem]:
    """The Kubernetes API can be reached from inside the VPC only.

    The platform and workload stacks call it while they are applied. Without the DNS endpoint and the public IP
    endpoint, Terraform must run in the VPC or be connected to it.

    Source: GKE documentation, "About network isolation in GKE", DNS-based and IP-based endpoints.

    Mend: `dns_endpoint: true`, unless Terraform runs inside.
    """
    control_plane = site.profile.cluster.control_plane
    if control_plane.public_endpoint:
        return
    if not control_plane.dns_endpoint and not control_plane.authorized_networks:
        yield Problem(
            (*_CONTROL_PLANE, "dns_endpoint"),
            "`cluster.control_plane.dns_endpoint` is false and no network is authorized: the API answers "
            "inside the VPC only",
            "turn it on, unless Terraform runs in the VPC",
        )


@rule("authorized-network-public")
def authorized_network_public(site: Site) -> Iterator[Problem]:
    """A public range is to be admitted to a private IP endpoint.

    Callers with public addresses, those of the documentation ranges (192.0.2.0/24, 198.51.100.0/24, 203.0.113.0/24)
    among them, never come to an endpoint inside the VPC. GKE refuses such a cluster when it is made, after network and
    storage (so public reports; not tried by us).

    Source: GKE documentation, "Customize your network isolation": with the private endpoint alone, authorized networks
    are internal ranges.

    Mend: `public_endpoint: true`, or no such range and the DNS endpoint.
    """
    control_plane = site.profile.cluster.control_plane
    if control_plane.public_endpoint:
        return
    for index, entry in enumerate(control_plane.authorized_networks):
        documentation = is_documentation(entry.cidr)
        if documentation or (not is_private(entry.cidr) and not admits_internet(entry.cidr)):
            kind = "a documentation range" if documentation else "public"
            yield Problem(
                (*_CONTROL_PLANE, "authorized_networks", index, "cidr"),
                f"authorized network {entry.name} {entry.cidr} is {kind}, and the IP endpoint is private",
                "set `public_endpoint: true`, or leave the range out and use the DNS endpoint",
            )


@rule("deletion-unprotected", Severity.WARNING)
def deletion_unprotected(site: Site) -> Iterator[Problem]:
    """A prod site gives up deletion protection of its cluster.

    Source: Terraform provider documentation, google_container_cluster, `deletion_protection`.

    Mend: leave `deletion_protection` out; turn it off in the change that destroys the site.
    """
    if is_unprotected(site.profile.environment, site.cluster.deletion_protection):
        yield Problem(
            ("cluster", "deletion_protection"),
            "`cluster.deletion_protection` is false in prod",
            "leave it out until the site is to be destroyed",
        )


@rule("cpu-pool-range")
def cpu_pool_range(site: Site) -> Iterator[Problem]:
    """The CPU pool's fewest nodes are more than its most.

    Source: Terraform provider documentation, google_container_node_pool, `autoscaling`: the most is at least the
    fewest.

    Mend: swap them, or raise `max_nodes`.
    """
    pool = site.profile.cluster.cpu_pool
    if pool.min_nodes > pool.max_nodes:
        yield Problem(
            ("cluster", "cpu_pool", "min_nodes"),
            f"`cluster.cpu_pool.min_nodes` {pool.min_nodes} is above `max_nodes` {pool.max_nodes}",
            f"set `max_nodes` to {pool.min_nodes} or more",
        )


@rule("cpu-machine")
def cpu_machine(site: Site) -> Iterator[Problem]:
    """The CPU pool's machine type is no CPU machine that the catalog knows.

    A GPU machine for the Ray head and the operators is a mistake, and refused. A machine type that the catalog does not
    know is a warning: it may exist, but what fits it is not checked.

    Source: catalog (`groundplan catalog machines`).

    Mend: a machine type of the catalog, or an entry of your own (`catalog:`).
    """
    name, machine = site.profile.cluster.cpu_pool.machine_type, site.cluster.cpu_machine
    path = ("cluster", "cpu_pool", "machine_type")
    if machine is None:
        plain = [known for known, entry in site.catalog.machines.items() if not entry.gpu]
        near = difflib.get_close_matches(name, plain, n=1)
        hint = f"did you mean {near[0]}?" if near else "choose one of `groundplan catalog machines`"
        message = f"`cluster.cpu_pool.machine_type` {name} is not in the catalog: what fits it is not checked"
        yield Problem(path, message, f"{hint} (or add it to a catalog file of your own)", Severity.WARNING)
    elif machine.gpu:
        yield Problem(
            path,
            f"`cluster.cpu_pool.machine_type` {name} is a GPU machine; the CPU pool runs the Ray head and the "
            "operators",
            "use a CPU machine such as n2-highmem-80",
        )


@rule("cpu-disk-type")
def cpu_disk_type(site: Site) -> Iterator[Problem]:
    """The CPU pool's machine type does not take its boot disk type.

    Newer families (N4, C4) boot from Hyperdisk alone, older ones from Persistent Disk.

    Source: catalog machines, `boot_disks`; Compute Engine, "Choose a disk type".

    Mend: a disk type of the machine type.
    """
    spec, machine = site.profile.cluster.cpu_pool, site.cluster.cpu_machine
    if machine and machine.boot_disks and not machine.gpu and spec.disk_type not in machine.boot_disks:
        yield Problem(
            ("cluster", "cpu_pool", "disk_type"),
            f"`cluster.cpu_pool.disk_type` {spec.disk_type} cannot boot {machine.name}",
            f"use {' or '.join(machine.boot_disks)}",
        )


@rule("cpu-secure-boot", Severity.WARNING)
def cpu_secure_boot(site: Site) -> Iterator[Problem]:
    """Secure Boot on the CPU pool may keep Lustre from mounting on the Ray head.

    Before the floor in the catalog, Container-Optimized OS on CPU machines has no signed Lustre kernel module, and with
    Secure Boot the head pod stays in ContainerCreating. GPU machines are not affected.

    Source: Managed Lustre CSI driver documentation (catalog gke, `lustre_secure_boot`).

    Mend: leave `secure_boot` out, or give `cluster.version` at or above the floor.
    """
    floor = site.catalog.gke["lustre_secure_boot"]
    version = site.profile.cluster.version
    if not site.lustre.is_used:
        return
    if site.profile.cluster.cpu_pool.secure_boot and (version is None or is_below(version, floor)):
        yield Problem(
            ("cluster", "cpu_pool", "secure_boot"),
            f"`cluster.cpu_pool.secure_boot` stops the Lustre module on GKE below {floor}; `cluster.version` is "
            f"{version or 'not set'}",
            f'leave it out, or set `cluster.version: "{floor}"` or newer',
        )


#: Pods that GKE and groundplan run on each node by themselves, counted on a GPU node with Dataplane V2, Lustre and gIB.
_NODES_OWN_PODS = 17


@rule("pods-per-node-few", Severity.WARNING)
def pods_per_node_few(site: Site) -> Iterator[Problem]:
    """A node takes so few pods that its own fill it.

    GKE runs some 17 pods of its own on a node with Dataplane V2, logging, metrics, DNS cache, storage drivers, the GPU
    device plugin and gIB. With fewer places than that and one, the job's pod stays Pending on an empty node. The number
    moves with GKE's versions, so this is a warning; xpk uses 32.

    Source: counted from GKE's managed DaemonSets; xpk, blueprint_generator.py (32).

    Mend: 32 pods a node: a /26 of the pod range.
    """
    cpu_pool: ProfilePath = ("cluster", "cpu_pool", "max_pods_per_node")
    paths = [(cpu_pool, site.profile.cluster.cpu_pool.max_pods_per_node)]
    for pool in site.pools:
        own = pool.spec.max_pods_per_node is not None
        path: ProfilePath = ("gpu", "pools", pool.index) if own else ("cluster",)
        paths.append(((*path, "max_pods_per_node"), pool.max_pods_per_node))
    for path, most in dict(paths).items():
        if most <= _NODES_OWN_PODS:
            yield Problem(
                path,
                f"{most} pods a node are taken by the {_NODES_OWN_PODS} or so that GKE runs itself",
                "use 32 or more",
            )
