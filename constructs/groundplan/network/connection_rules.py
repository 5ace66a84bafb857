"""What can be wrong with the ways out of the primary network and into Google's."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, Severity, rule
from groundplan.site.resolve import Site

#: Ports of one NAT address that nodes share.
_PORTS_OF_AN_ADDRESS = 64512


@rule("nat-addresses")
def nat_addresses(site: Site) -> Iterator[Problem]:
    """The fixed NAT addresses have too few ports for the nodes.

    Each node is given `min_ports_per_vm` ports, and an address has 64,512 of them. With addresses of its own NAT adds
    none: the nodes that come last have no way out, and their images are never pulled.

    Source: Cloud NAT documentation, "IP addresses and ports", port reservation.

    Mend: more `addresses`, or fewer `min_ports_per_vm`.
    """
    nat = site.profile.network.primary.nat
    if site.network.exists or not nat.enabled or not nat.addresses:
        return
    nodes = sum(pool.max_nodes for pool in site.pools) + site.profile.cluster.cpu_pool.max_nodes
    wanted = nodes * nat.min_ports_per_vm
    if wanted > nat.addresses * _PORTS_OF_AN_ADDRESS:
        yield Problem(
            ("network", "primary", "nat", "addresses"),
            f"{nodes} nodes x {nat.min_ports_per_vm} ports = {wanted} are more than the "
            f"{nat.addresses * _PORTS_OF_AN_ADDRESS} of {nat.addresses} NAT addresses",
            f"use {-(-wanted // _PORTS_OF_AN_ADDRESS)} addresses, or fewer `min_ports_per_vm`",
        )


@rule("range-names-alike")
def range_names_alike(site: Site) -> Iterator[Problem]:
    """The secondary ranges of pods and of services are the same one.

    Both are names of ranges of an existing subnetwork. With one name for both GKE refuses the cluster, after storage
    and network have been made.

    Source: GKE API, IPAllocationPolicy, clusterSecondaryRangeName and servicesSecondaryRangeName.

    Mend: the name of the subnetwork's other range.
    """
    if site.network.pods_range == site.network.services_range:
        yield Problem(
            ("network", "primary", "existing", "services_range"),
            f"`network.primary.existing` names range {site.network.pods_range} for pods and for services",
            "name the subnetwork's other secondary range",
        )


@rule("connection-second", Severity.WARNING)
def connection_second(site: Site) -> Iterator[Problem]:
    """A private connection is to be made on a network that exists, and may have one.

    A VPC has one connection to servicenetworking.googleapis.com. Where it stands already, the apply stops with "Cannot
    modify allocated ranges in CreateConnection", and the provider does not add the range to it: that would take other
    ranges away. Whether there is one cannot be told from a profile.

    Source: hashicorp/google 6.50.0 and 7.45.0, resource_service_networking_connection.go; Service Networking API,
    services.connections.create.

    Mend: where the network has a connection, leave `create` out and give its range; else ignore this rule with that as
    reason.
    """
    if site.network.exists and site.network.access_created:
        network, project = site.network.vpc, site.network.project
        yield Problem(
            ("network", "private_service_access", "create"),
            f"`network.private_service_access.create` is true on the existing network {network}: the apply fails when "
            "it has a connection already",
            f"look with `gcloud services vpc-peerings list --network={network} --project={project}`; leave `create` "
            "out where one is shown",
        )
