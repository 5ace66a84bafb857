"""The network stack: project services, the primary VPC, NAT, private service access for Managed Lustre."""

from __future__ import annotations

from cdktf_cdktf_provider_google.compute_firewall import ComputeFirewall, ComputeFirewallAllow
from cdktf_cdktf_provider_google.compute_global_address import ComputeGlobalAddress
from cdktf_cdktf_provider_google.compute_network import ComputeNetwork
from cdktf_cdktf_provider_google.compute_router import ComputeRouter
from cdktf_cdktf_provider_google.compute_router_nat import (
    ComputeRouterNat,
    ComputeRouterNatLogConfig,
    ComputeRouterNatSubnetwork,
)
from cdktf_cdktf_provider_google.compute_subnetwork import (
    ComputeSubnetwork,
    ComputeSubnetworkLogConfig,
    ComputeSubnetworkSecondaryIpRange,
)
from cdktf_cdktf_provider_google.project_service import ProjectService
from cdktf_cdktf_provider_google.service_networking_connection import ServiceNetworkingConnection
from constructs import Construct

from groundplan.network.spec import FirewallRule
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack


class NetworkStack(SiteStack):
    """Everything that changes when addresses change."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "network")
        self.services = [self._service(name) for name in site.services]
        self.vpc: ComputeNetwork | None = None
        if not site.network.exists:
            self.vpc = self._vpc()
            subnetwork = self._subnetwork(self.vpc)
            if site.profile.network.primary.nat.enabled:
                self._nat(self.vpc, subnetwork)
            self._lustre_firewall(self.vpc)
        if site.network.access_created:
            self._private_service_access()
        for rule in site.profile.network.firewall_rules:
            if rule.network == "primary":
                own_firewall(self, rule, self.vpc.name if self.vpc else site.network.vpc_path)

    def _service(self, name: str) -> ProjectService:
        return ProjectService(
            self,
            f"service-{name}",
            project=self.site.project,
            service=f"{name}.googleapis.com",
            # Other sites of the project go on using it after this one is destroyed.
            disable_on_destroy=False,
            disable_dependent_services=False,
        )

    def _vpc(self) -> ComputeNetwork:
        return ComputeNetwork(
            self,
            "primary",
            name=self.site.network.vpc,
            project=self.site.project,
            description=f"{self.site.name}: GKE nodes, pods and Managed Lustre",
            auto_create_subnetworks=False,
            delete_default_routes_on_create=False,
            routing_mode="REGIONAL",
            mtu=self.site.network.mtu,
            depends_on=self.services,
        )

    def _subnetwork(self, vpc: ComputeNetwork) -> ComputeSubnetwork:
        plan = self.site.network
        logs = None
        if self.site.profile.network.primary.flow_logs:
            logs = ComputeSubnetworkLogConfig(
                aggregation_interval="INTERVAL_5_SEC", flow_sampling=0.5, metadata="INCLUDE_ALL_METADATA"
            )
        return ComputeSubnetwork(
            self,
            "nodes",
            name=plan.subnetwork,
            project=self.site.project,
            region=self.site.region,
            network=vpc.id,
            ip_cidr_range=str(plan.nodes),
            private_ip_google_access=True,
            stack_type="IPV4_ONLY",
            secondary_ip_range=[
                ComputeSubnetworkSecondaryIpRange(range_name=plan.pods_range, ip_cidr_range=str(plan.pods)),
                ComputeSubnetworkSecondaryIpRange(range_name=plan.services_range, ip_cidr_range=str(plan.services)),
            ],
            log_config=logs,
        )

    def _nat(self, vpc: ComputeNetwork, subnetwork: ComputeSubnetwork) -> None:
        spec = self.site.profile.network.primary.nat
        router = ComputeRouter(
            self,
            "router",
            name=f"{self.site.network.vpc}-router",
            project=self.site.project,
            region=self.site.region,
            network=vpc.id,
        )
        ComputeRouterNat(
            self,
            "nat",
            name=f"{self.site.network.vpc}-nat",
            project=self.site.project,
            region=self.site.region,
            router=router.name,
            type="PUBLIC",
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="LIST_OF_SUBNETWORKS",
            subnetwork=[ComputeRouterNatSubnetwork(name=subnetwork.id, source_ip_ranges_to_nat=["ALL_IP_RANGES"])],
            min_ports_per_vm=spec.min_ports_per_vm,
            enable_dynamic_port_allocation=False,
            enable_endpoint_independent_mapping=False,
            log_config=ComputeRouterNatLogConfig(enable=True, filter="ERRORS_ONLY") if spec.logging else None,
        )

    def _lustre_firewall(self, vpc: ComputeNetwork) -> None:
        """The servers call back to the nodes; the Managed Lustre network page asks for this rule."""
        ComputeFirewall(
            self,
            "lustre",
            name=f"{self.site.network.vpc}-lustre",
            project=self.site.project,
            network=vpc.name,
            description="Managed Lustre servers to their clients",
            direction="INGRESS",
            priority=1000,
            source_ranges=[str(self.site.network.access_range)],
            allow=[ComputeFirewallAllow(protocol="tcp", ports=[str(port) for port in self.site.lustre.ports])],
        )

    def _private_service_access(self) -> None:
        plan = self.site.network
        network = self.vpc.id if self.vpc else plan.vpc_path
        address = ComputeGlobalAddress(
            self,
            "private-service-access",
            name=plan.access_name,
            project=plan.project,
            network=network,
            purpose="VPC_PEERING",
            address_type="INTERNAL",
            address=str(plan.access_address),
            prefix_length=plan.access_prefix,
            labels=self.site.labels,
            depends_on=self.services,
        )
        ServiceNetworkingConnection(
            self,
            "private-service-connection",
            network=network,
            service="servicenetworking.googleapis.com",
            reserved_peering_ranges=[address.name],
            # Producers keep their side for hours after the last instance is gone, and a delete then fails. In dev it
            # is abandoned, and the run-book removes the peering; google 6.50 has no better policy.
            deletion_policy="ABANDON" if self.site.profile.environment == "dev" else None,
        )


def own_firewall(stack: SiteStack, rule: FirewallRule, network: str) -> ComputeFirewall:
    """An ingress rule of the user's own."""
    return ComputeFirewall(
        stack,
        f"firewall-{rule.name}",
        name=rule.name,
        project=stack.site.network.project if rule.network == "primary" else stack.site.project,
        network=network,
        direction="INGRESS",
        priority=1000,
        source_ranges=[str(cidr) for cidr in rule.source_ranges],
        allow=[ComputeFirewallAllow(protocol=a.protocol, ports=list(a.ports) or None) for a in rule.allow],
    )
