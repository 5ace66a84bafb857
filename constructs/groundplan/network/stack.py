"""The network stack: project services, the primary VPC, NAT, private service access for Managed Lustre."""

from __future__ import annotations

from collections.abc import Sequence

from cdktf import ITerraformDependable
from constructs import Construct

from groundplan.network.constructs import (
    PrimaryNetwork,
    PrimaryNetworkProps,
    PrivateServiceAccess,
    PrivateServiceAccessProps,
)
from groundplan.network.firewall_constructs import AllowedPorts, IngressRule, IngressRuleProps
from groundplan.network.service_constructs import ProjectServices
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack


class NetworkStack(SiteStack):
    """Everything that changes when addresses change."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "network")
        self.services = ProjectServices(self, site.project, site.services).ready
        self.primary = None if site.network.exists else self._primary()
        if self.primary and site.lustre.is_used:
            self._lustre_firewall(self.primary)
        if site.network.host_stack:  # what stands in the host project is that stack's
            return
        if site.network.access_created:
            add_access(self, site, self.primary.network.id if self.primary else site.network.vpc_path, self.services)
        add_primary_rules(self, site, self.primary.network.name if self.primary else site.network.vpc_path)

    def _primary(self) -> PrimaryNetwork:
        site, values, spec = self.site, self.site.network, self.site.profile.network.primary
        props = PrimaryNetworkProps(
            project=site.project,
            region=site.region,
            network=values.vpc,
            subnetwork=values.subnetwork,
            nodes=values.nodes,
            pods=values.pods,
            services=values.services,
            pods_range=values.pods_range,
            services_range=values.services_range,
            mtu=values.mtu,
            flow_logs=spec.flow_logs,
            nat=spec.nat.enabled,
            nat_min_ports_per_vm=spec.nat.min_ports_per_vm,
            nat_addresses=spec.nat.addresses,
            nat_logging=spec.nat.logging,
            description=f"{site.name}: GKE nodes{', pods and Managed Lustre' if site.lustre.is_used else ' and pods'}",
        )
        return PrimaryNetwork(self, "primary", props, depends_on=self.services)

    def _lustre_firewall(self, primary: PrimaryNetwork) -> None:
        """The servers call back to the nodes; the Managed Lustre network page asks for this rule."""
        site = self.site
        props = IngressRuleProps(
            name=f"{site.network.vpc}-lustre",
            project=site.project,
            network=primary.network.name,
            description="Managed Lustre servers to their clients",
            source_ranges=(site.network.access_range,),
            allow=(AllowedPorts(protocol="tcp", ports=tuple(str(port) for port in site.lustre.ports)),),
        )
        IngressRule(self, "lustre", props)


def add_access(stack: SiteStack, site: Site, network: str, services: Sequence[ITerraformDependable]) -> None:
    """Private service access of the primary network (full name or id); it waits for `services`."""
    values = site.network
    props = PrivateServiceAccessProps(
        project=values.project,
        network=network,
        name=values.access_name,
        address=values.access_address,
        prefix_length=values.access_prefix,
        labels=site.labels,
        # In dev the run-book removes the peering; google 6.50 has no better policy.
        abandon=site.profile.environment == "dev",
    )
    PrivateServiceAccess(stack, "private-service", props, depends_on=services)


def add_primary_rules(
    stack: SiteStack, site: Site, network: str, services: Sequence[ITerraformDependable] = ()
) -> None:
    """The profile's own firewall rules on the primary network (name or full name); they wait for `services`."""
    for rule in site.profile.network.firewall_rules:
        if rule.network == "primary":
            props = IngressRuleProps.of(rule, project=site.network.project, network=network)
            IngressRule(stack, f"firewall-{rule.name}", props, depends_on=services)
