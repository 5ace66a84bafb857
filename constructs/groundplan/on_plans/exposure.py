"""Policies on what can be called from outside: public addresses, load balancers, and what other clouds open."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Severity
from groundplan.kernel.ranges import admits_internet
from plan_review import values
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import Resource, Resources

_PRIVATE = "enable_private_nodes"


@plan_rule("nodes-public", Severity.WARNING, Category.OPEN, on="resources")
def nodes_public(resources: Resources) -> Iterator[Breach]:
    """Nodes or machines get public addresses.

    Source: GKE documentation, "About network isolation in GKE", private nodes; Terraform provider documentation,
    google_compute_instance, `access_config` (omit it to keep the instance off the internet).

    Mend: `enable_private_nodes`, and Cloud NAT for the way out; no `access_config` on machines.
    """
    for each in resources.of("google_container_node_pool"):
        if each.flag("network_config.enable_private_nodes") is False:
            yield _public(
                each, f"the nodes of pool {each.name} get public addresses", "network_config.enable_private_nodes"
            )
    for each in resources.of("google_container_cluster"):
        if each.flag("private_cluster_config.enable_private_nodes") is False:
            yield _public(
                each,
                f"the nodes of cluster {each.name} get public addresses",
                "private_cluster_config.enable_private_nodes",
            )
    for each in resources.of("google_compute_instance", "google_compute_instance_template"):
        if any(
            "access_config" in nic and nic["access_config"] not in (None, [])
            for nic in each.blocks("network_interface")
        ):
            yield _public(each, f"machine {each.name} gets a public address", "network_interface")


def _public(each: Resource, message: str, *arguments: str) -> Breach:
    hint = "keep them private, with Cloud NAT for the way out"
    return Breach(
        each.stack, each.address, message, hint, "firewall rules alone keep the internet out", arguments=arguments
    )


@plan_rule("public-address", Severity.WARNING, Category.OPEN, on="resources")
def public_address(resources: Resources) -> Iterator[Breach]:
    """A public address or load balancer is made.

    Source: Terraform provider documentation, google_compute_address, `address_type`, and
    google_compute_forwarding_rule, `load_balancing_scheme` (EXTERNAL by default); GKE documentation, "LoadBalancer
    Service parameters".

    Mend: an internal one, when nobody outside has to call.
    """
    for each in resources.of("google_compute_address", "google_compute_global_address"):
        if (each.text("address_type") or "EXTERNAL") == "EXTERNAL":
            yield Breach(each.stack, each.address, f"the public address {each.name} is reserved", "make it INTERNAL")
    for each in resources.of("google_compute_forwarding_rule", "google_compute_global_forwarding_rule"):
        if each.text("load_balancing_scheme") in ("", "EXTERNAL", "EXTERNAL_MANAGED"):
            yield _balancer(each)
    for each in resources.of("kubernetes_service", "kubernetes_service_v1"):
        notes = each.get("metadata.annotations") or {}
        internal = isinstance(notes, dict) and notes.get("networking.gke.io/load-balancer-type") == "Internal"
        if each.text("spec.type") == "LoadBalancer" and not internal:
            yield _balancer(each)


def _balancer(each: Resource) -> Breach:
    message = f"{each.name} is a load balancer with a public address"
    return Breach(
        each.stack,
        each.address,
        message,
        "make it internal",
        "what is behind it can be called from outside",
        arguments=("spec.type", "metadata.annotations"),
    )


_SECURITY_GROUPS = ("aws_security_group", "aws_default_security_group")


@plan_rule("ingress-open", Severity.ERROR, Category.OPEN, on="resources")
def ingress_open(resources: Resources) -> Iterator[Breach]:
    """A security group of AWS or Azure admits the whole internet.

    groundplan makes none; this is for plans that were made elsewhere.

    Source: Amazon VPC documentation, "Security group rules"; Terraform provider documentation,
    azurerm_network_security_rule, `source_address_prefix` (`*` and `Internet`).

    Mend: the ranges of those who really call.
    """
    for each in resources.of(*_SECURITY_GROUPS):
        for block in each.blocks("ingress"):
            yield from _aws(each, [*values.texts(block, "cidr_blocks"), *values.texts(block, "ipv6_cidr_blocks")])
    for each in resources.of("aws_security_group_rule"):
        if each.text("type") == "ingress":
            yield from _aws(each, [*each.texts("cidr_blocks"), *each.texts("ipv6_cidr_blocks")])
    for each in resources.of("aws_vpc_security_group_ingress_rule"):
        yield from _aws(each, [each.text("cidr_ipv4"), each.text("cidr_ipv6")])
    for each in resources.of("azurerm_network_security_rule"):
        inbound = each.text("direction") == "Inbound" and each.text("access") == "Allow"
        sources = [each.text("source_address_prefix"), *each.texts("source_address_prefixes")]
        if inbound and any(text in ("*", "Internet") or admits_internet(text) for text in sources):
            yield _foreign(each, "the internet")


def _aws(each: Resource, sources: list[str]) -> Iterator[Breach]:
    opened = [text for text in sources if admits_internet(text)]
    if opened:
        yield _foreign(each, ", ".join(opened))


#: What says who may call, in the security groups of AWS and Azure.
_SOURCES = ("ingress", "cidr_blocks", "ipv6_cidr_blocks", "cidr_ipv4", "cidr_ipv6", "source_address_prefix",
            "source_address_prefixes", "direction", "access")  # fmt: skip


def _foreign(each: Resource, who: str) -> Breach:
    return Breach(
        each.stack, each.address, f"{each.name} admits {who}", "name the ranges of those who call",
        "anyone on the internet who reaches its targets may connect", arguments=_SOURCES,
    )  # fmt: skip
