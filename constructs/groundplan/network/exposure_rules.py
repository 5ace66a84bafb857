"""What can be wrong with networks as such: which one, and who may come in."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, Severity, rule
from groundplan.kernel.ports import WITH_PORTS, is_every_port
from groundplan.kernel.ranges import admits_internet
from groundplan.kernel.roce import refuses_firewall_rules
from groundplan.network.site_ranges import ranges_of
from groundplan.network.spec import FirewallPorts, FirewallRule
from groundplan.site.resolve import Site


@rule("network-default")
def network_default(site: Site) -> Iterator[Problem]:
    """The project's `default` network, or an auto-mode one, is used as if it were the site's own.

    Auto-mode networks take 10.128.0.0/9 and have no secondary ranges, so that GKE fails on the missing pod range
    (terraform-google-kubernetes-engine#681). A network that groundplan creates cannot be called `default`: it is there
    already in most projects. As an existing network it may be used when the profile says which ranges to use.

    Source: VPC documentation, "Auto mode IPv4 ranges".

    Mend: let groundplan create the network, or give `existing` with `pods_range` and `services_range`, and the ranges
    `nodes`, `pods` and `services` as they are.
    """
    primary = site.profile.network.primary
    if primary.existing is None:
        if site.network.vpc == "default":
            yield Problem(
                ("network", "primary", "name"),
                "`network.primary.name` default is the name of the project's own auto-mode network",
                "choose another name, or leave it out",
            )
        return
    if site.network.vpc != "default":
        return
    explicit = {"pods_range", "services_range"} <= primary.existing.model_fields_set
    if not explicit or not {"nodes", "pods", "services"} <= primary.model_fields_set:
        yield Problem(
            ("network", "primary", "existing", "network"),
            "`network.primary.existing.network` default is an auto-mode network, without secondary ranges of its own",
            "name its secondary ranges (`pods_range`, `services_range`) and give `nodes`, `pods` and "
            "`services` as they are",
        )


@rule("network-shared-by-nics")
def network_shared_by_nics(site: Site) -> Iterator[Problem]:
    """Two NICs of a node stand in the same VPC.

    Each additional NIC needs a VPC of its own, other than the cluster's; only the RDMA NICs share one, which its RoCE
    profile allows.

    Source: GKE documentation, "Set up multi-network support for Pods".

    Mend: a network of its own for each of primary, gVNIC and RDMA.
    """
    seen = {site.network.vpc: "the primary network"}
    for network in site.nic_networks:
        if network.name in seen:
            yield Problem(
                network.path,
                f"the {network.title} network {network.name} is {seen[network.name]} too",
                "give each of them a network of its own",
            )
        else:
            seen[network.name] = f"the {network.title} network"


@rule("firewall-roce")
def firewall_roce(site: Site) -> Iterator[Problem]:
    """A firewall rule stands on the RDMA network.

    The RoCE network profile refuses VPC firewall rules: the apply fails (cluster-toolkit PR 3987). Its implied rules
    allow all traffic among the RDMA NICs; only regional policies of type RDMA_ROCE_POLICY could narrow it, which the
    Terraform provider has in beta alone.

    Source: VPC documentation, "RDMA network profiles".

    Mend: remove the rule, or move it to the primary or gVNIC network.
    """
    refused = all(refuses_firewall_rules(n.network_profile) for n in site.nic_networks if n.kind == "rdma")
    for index, entry in enumerate(site.profile.network.firewall_rules):
        if entry.network == "rdma" and refused:
            yield Problem(
                ("network", "firewall_rules", index, "network"),
                f"firewall rule {entry.name} stands on the RDMA network, whose RoCE profile refuses firewall rules",
                "remove it, or set `network: primary` or `network: gvnic`",
            )


@rule("firewall-existing-network")
def firewall_existing_network(site: Site) -> Iterator[Problem]:
    """A firewall rule is meant for a gVNIC network that groundplan does not manage.

    Nothing of an existing gVNIC network is changed, so that the rule would never be made.

    Source: groundplan's own limit: it changes nothing of a network that the profile calls `existing`.

    Mend: make the rule where the network is managed, and remove it here.
    """
    existing = next((network for network in site.nic_networks if network.kind == "gvnic" and network.exists), None)
    if existing is None:
        return
    for index, entry in enumerate(site.profile.network.firewall_rules):
        if entry.network == "gvnic":
            yield Problem(
                ("network", "firewall_rules", index, "network"),
                f"firewall rule {entry.name} stands on the existing network {existing.name}, which is left as it is",
                "make the rule where that network is managed, and remove it here",
            )


@rule("firewall-open")
def firewall_open(site: Site) -> Iterator[Problem]:
    """A firewall rule admits the whole internet, or a good part of it.

    Nodes are private, but a rule for 0.0.0.0/0 admits whatever reaches them by load balancer, VPN or peering, and
    outlives the day on which someone gives a node a public address. Refused from /0 to /7 of public space, so that two
    halves of the internet do not pass as two ranges.

    Source: Cloud NGFW documentation, "VPC firewall rules", sources; the bound at /7 is groundplan's own.

    Mend: the ranges of those who really call.
    """
    for index, entry in enumerate(site.profile.network.firewall_rules):
        for number, source in enumerate(entry.source_ranges):
            if admits_internet(source):
                yield Problem(
                    ("network", "firewall_rules", index, "source_ranges", number),
                    f"firewall rule {entry.name} admits {source}",
                    "name the ranges of those who call",
                )


@rule("firewall-ports")
def firewall_ports(site: Site) -> Iterator[Problem]:
    """A firewall rule names no ports, all ports, or ports that do not exist.

    A rule for tcp without ports opens every port: so did Google's own example, whose `ports` stood beside `allow`
    instead of in it. tcp, udp and sctp need their ports written out, other protocols have none. All ports at once are
    admitted only from ranges of the site itself.

    Source: Compute Engine API, firewalls, `allowed[].ports`: without it a rule applies to any port.

    Mend: the ports that are really called, as text: "443", "8000-8080".
    """
    for index, entry in enumerate(site.profile.network.firewall_rules):
        for number, allow in enumerate(entry.allow):
            fault = _port_fault(site, entry, allow)
            if fault:
                message, hint = fault
                path = ("network", "firewall_rules", index, "allow", number)
                yield Problem(path, f"firewall rule {entry.name}: {message}", hint)


def _port_fault(site: Site, entry: FirewallRule, allow: FirewallPorts) -> tuple[str, str] | None:
    if allow.protocol not in WITH_PORTS:
        return (f"{allow.protocol} has no ports", "leave `ports` out") if allow.ports else None
    if not allow.ports:
        return f"{allow.protocol} without `ports` opens every port", 'name the ports, e.g. ports: ["443"]'
    for text in allow.ports:
        first, _, last = text.partition("-")
        low, high = int(first), int(last or first)
        if high > 65535:
            return f"port {high} is above 65535", "correct the port"
        if low > high:
            return f"the ports {text} run backwards", f'write "{high}-{low}"'
        if is_every_port(text) and not _from_own_ranges(site, entry):
            return (
                f"{allow.protocol} {text} opens every port to ranges outside the site",
                "name the ports that are called",
            )
    return None


def _from_own_ranges(site: Site, entry: FirewallRule) -> bool:
    own = [item.cidr for item in ranges_of(site) if not item.neighbour]
    return all(any(source.subnet_of(cidr) for cidr in own) for source in entry.source_ranges)


@rule("access-connection")
def access_connection(site: Site) -> Iterator[Problem]:
    """The primary network is created here, but its private service access is not.

    Managed Lustre needs the peering to Google's network, and a network that does not exist yet cannot have one: the
    instance would fail after the rest of the apply.

    Source: Managed Lustre documentation, "Configure a VPC network".

    Mend: leave `network.private_service_access.create` out.
    """
    if site.lustre.is_used and not site.network.exists and not site.network.access_created:
        yield Problem(
            ("network", "private_service_access", "create"),
            f"`network.private_service_access.create` false leaves the new network {site.network.vpc} without the "
            "connection that Managed Lustre needs",
            "leave `create` out, or use an existing network that has the connection",
        )


@rule("nat-off", Severity.WARNING)
def nat_off(site: Site) -> Iterator[Problem]:
    """The created network has no Cloud NAT.

    Nodes are private. Without NAT they pull images from Google's registries only, over Private Google Access: the NeMo
    RL image (nvcr.io), KubeRay's (quay.io), models and data sets need another way out, or mirrors.

    Source: Cloud NAT documentation, "Cloud NAT overview"; VPC documentation, "Private Google Access".

    Mend: leave `network.primary.nat.enabled` out, or set up the other way and ignore this rule with that as reason.
    """
    if not site.network.exists and not site.profile.network.primary.nat.enabled:
        yield Problem(
            ("network", "primary", "nat", "enabled"),
            "`network.primary.nat.enabled` is false: private nodes reach neither nvcr.io nor quay.io nor "
            "huggingface.co",
            "leave it out; or mirror images and models, and ignore this rule with that as reason",
        )
