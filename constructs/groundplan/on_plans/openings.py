"""Policies on what is opened: firewalls, endpoints, buckets, public addresses.

They read resources as any Terraform emits them, so that a plan edited by hand does not escape. A slug that
`groundplan check` knows too means the same there.
"""

from __future__ import annotations

from collections.abc import Iterator

from findings import Severity
from groundplan.kernel.ports import WITH_PORTS, is_every_port
from groundplan.kernel.ranges import IPNetwork, admits_internet, is_unrestricted, network_of
from groundplan.kernel.roce import refuses_firewall_rules
from plan_review import values
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import Resource, Resources

#: What says by which ways a control plane can be reached.
_ENDPOINTS = ("control_plane_endpoints_config", "private_cluster_config.enable_private_endpoint")


def own_ranges(resources: Resources) -> list[IPNetwork]:
    """The ranges that the plans themselves make: nodes, pods, services, fabric, private service access."""
    texts = [each.text("ip_cidr_range") for each in resources.of("google_compute_subnetwork")]
    for each in resources.of("google_compute_subnetwork"):
        texts += [values.text(block, "ip_cidr_range") for block in each.blocks("secondary_ip_range")]
    for each in resources.of("google_compute_global_address"):
        texts.append(f"{each.text('address')}/{each.text('prefix_length')}")
    return [found for found in map(network_of, texts) if found]


def _ingress(resources: Resources) -> Iterator[tuple[Resource, list[str], bool]]:
    """Active ingress rules with their sources; the flag says that nothing narrows them."""
    for each in resources.of("google_compute_firewall"):
        if each.text("direction") == "EGRESS" or each.flag("disabled") or not each.blocks("allow"):
            continue
        narrowed = any(
            each.get(path) or each.is_unknown(path)
            for path in ("source_ranges", "source_tags", "source_service_accounts")
        )
        yield each, each.texts("source_ranges") if narrowed else ["0.0.0.0/0"], not narrowed


@plan_rule("firewall-open", Severity.ERROR, Category.OPEN, on="resources")
def firewall_open(resources: Resources) -> Iterator[Breach]:
    """A firewall rule admits the whole internet, or a good part of it.

    Ranges of public space from /0 to /7. A rule without any source admits everyone: that is the provider's default.

    Source: Cloud NGFW documentation, "VPC firewall rules", sources; terraform-provider-google#6789 (none given means
    0.0.0.0/0); the bound at /7 is groundplan's own.

    Mend: the ranges of those who really call.
    """
    for each, sources, by_default in _ingress(resources):
        opened = [source for source in sources if admits_internet(source)]
        if opened:
            why = " because it names no source" if by_default else ""
            yield Breach(
                each.stack,
                each.address,
                f"firewall {each.name} admits {', '.join(opened)}{why} to {allowed(each)}",
                "name the ranges of those who call",
                f"anyone on the internet who reaches {_target(each)} may connect",
                arguments=("source_ranges", "source_tags", "source_service_accounts", "disabled"),
            )
    kinds = ("google_compute_network_firewall_policy_rule", "google_compute_region_network_firewall_policy_rule")
    for each in resources.of(*kinds, "google_compute_firewall_policy_rule"):
        opened = [source for source in each.texts("match.src_ip_ranges") if admits_internet(source)]
        if (
            opened
            and each.text("action") == "allow"
            and each.text("direction") != "EGRESS"
            and not each.flag("disabled")
        ):
            yield Breach(
                each.stack,
                each.address,
                f"firewall policy rule {each.text('rule_name') or each.address} admits {', '.join(opened)}",
                "name the ranges of those who call",
                "anyone on the internet who reaches its targets may connect",
                arguments=("match.src_ip_ranges", "action", "disabled", "direction"),
            )


@plan_rule("firewall-ports", Severity.ERROR, Category.OPEN, on="resources")
def firewall_ports(resources: Resources) -> Iterator[Breach]:
    """A firewall rule opens every port, or every protocol.

    tcp, udp and sctp without ports open all of them. All ports at once are admitted only among the ranges that the
    plans make.

    Source: Compute Engine API, firewalls, `allowed[].ports`: without it a rule applies to any port.

    Mend: the ports that are really called.
    """
    own = own_ranges(resources)
    for each, sources, _ in _ingress(resources):
        inside = bool(sources) and all(_within(source, own) for source in sources)
        for allow in each.blocks("allow"):
            protocol, ports = values.text(allow, "protocol").lower(), values.texts(allow, "ports")
            if inside and (ports or protocol not in WITH_PORTS):
                continue
            why = ""
            if protocol == "all":
                what = "every protocol and port"
            elif protocol in WITH_PORTS and not ports and not values.unknown_at(each.unknown, "allow.ports"):
                what, why = f"every {protocol} port", " (it names no ports)"
            elif any(is_every_port(text) for text in ports):
                what = f"every {protocol} port"
            else:
                continue
            yield Breach(
                each.stack,
                each.address,
                f"firewall {each.name} opens {what} to {', '.join(sources) or 'tagged sources'}{why}",
                'name the ports that are called, such as ports = ["443"]',
                f"everything that listens on {_target(each)} can be reached from there",
                arguments=("allow",),
            )


def _within(source: str, own: list[IPNetwork]) -> bool:
    found = network_of(source)
    return found is not None and any(
        found.version == each.version and found.subnet_of(each)  # type: ignore[arg-type]
        for each in own
    )


def allowed(firewall: Resource) -> str:
    """``tcp 988, icmp``: what a firewall rule admits."""
    parts = []
    for allow in firewall.blocks("allow"):
        ports = ", ".join(values.texts(allow, "ports"))
        protocol = values.text(allow, "protocol")
        every = "all ports" if protocol in WITH_PORTS else ""
        parts.append(" ".join(filter(None, (protocol, ports or every))))
    return "; ".join(parts) or "nothing"


def _target(firewall: Resource) -> str:
    name = values.last_part(firewall.text("network"))
    where = f"network {name}" if name and not values.is_expression(name) else "its network"
    tags = firewall.texts("target_tags")
    return f"machines tagged {', '.join(tags)} in {where}" if tags else f"any machine in {where}"


@plan_rule("firewall-roce", Severity.ERROR, Category.REFUSED, on="resources")
def firewall_roce(resources: Resources) -> Iterator[Breach]:
    """A firewall rule stands on a network with a RoCE profile, which refuses firewall rules.

    Source: VPC documentation, "RDMA network profiles"; GoogleCloudPlatform/cluster-toolkit PR 3987.

    Mend: remove the rule; the profile's own implied rules allow traffic among RDMA NICs.
    """
    roce = {
        key
        for each in resources.of("google_compute_network")
        if refuses_firewall_rules(each.text("network_profile"))
        for key in (each.name, each.address)
    }
    for each in resources.of("google_compute_firewall"):
        on = each.text("network")
        if values.last_part(on) in roce or any(f"{key}." in on for key in roce if "." in key):
            yield Breach(
                each.stack,
                each.address,
                f"firewall {each.name} stands on a RoCE network, which takes no firewall rules",
                "remove the rule",
                "the apply fails",
            )


@plan_rule("open-control-plane", Severity.ERROR, Category.OPEN, on="resources")
def open_control_plane(resources: Resources) -> Iterator[Breach]:
    """The control plane's IP endpoint admits the whole internet, or a good part of it.

    Source: GKE documentation, "Harden your cluster's security", "Restrict network access"; the bound at /7 is
    groundplan's own.

    Mend: authorized networks that name those who call, or the DNS endpoint with IAM.
    """
    for each in resources.of("google_container_cluster"):
        opened = [
            text
            for block in each.blocks("master_authorized_networks_config.cidr_blocks")
            if admits_internet(text := values.text(block, "cidr_block"))
        ]
        if opened:
            yield Breach(
                each.stack,
                each.address,
                f"the control plane of cluster {each.name} admits {', '.join(opened)}",
                "name the ranges of those who call",
                "anyone on the internet can reach the Kubernetes API; only its logins are left as a guard",
                arguments=("master_authorized_networks_config", *_ENDPOINTS),
            )


@plan_rule("public-endpoint-unrestricted", Severity.ERROR, Category.OPEN, on="resources")
def public_endpoint_unrestricted(resources: Resources) -> Iterator[Breach]:
    """A cluster's public IP endpoint is on, and nobody is named who may use it.

    Source: GKE documentation, "About network isolation in GKE", control plane access; Terraform provider documentation,
    google_container_cluster, `master_authorized_networks_config`.

    Mend: `master_authorized_networks_config`, or the DNS endpoint alone.
    """
    for each in resources.of("google_container_cluster"):
        off = each.flag("control_plane_endpoints_config.ip_endpoints_config.enabled") is False
        private = each.flag("private_cluster_config.enable_private_endpoint")
        networks = "master_authorized_networks_config"
        # A block that names nobody is a choice here: it shuts everyone out. One that is not known yet may name some.
        said = bool(each.blocks(networks)) or each.is_unknown(networks)
        named = each.blocks(f"{networks}.cidr_blocks") if said else None
        public = not (off or private or each.flag("enable_autopilot"))
        if is_unrestricted(public, named):
            yield Breach(
                each.stack,
                each.address,
                f"the control plane of cluster {each.name} has a public endpoint without authorized networks",
                "turn the IP endpoint off, or name authorized networks",
                "anyone on the internet can reach the Kubernetes API; only its logins are left as a guard",
                arguments=("master_authorized_networks_config", *_ENDPOINTS),
            )
