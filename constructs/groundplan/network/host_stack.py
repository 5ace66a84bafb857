"""The host stack of a Shared VPC: what its host project gives, for the owner of that project to apply first.

Only sites that ask for it have it (`network.primary.existing.host_stack`). The attachment of the service project is not
in it: that belongs to an administrator of the organisation, and the run-book has the command.
"""

from __future__ import annotations

from cdktf import TerraformVariable
from cdktf_cdktf_provider_google.project_iam_member import ProjectIamMember
from constructs import Construct

from groundplan.gpu.fabric_stack import FabricNetworks
from groundplan.kernel.gke import HOST_AGENT_USER
from groundplan.network.service_constructs import ProjectServices
from groundplan.network.sharing_stack import NODES, members_of, share
from groundplan.network.stack import add_access, add_primary_rules
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack

#: APIs of the host project: GKE's own agent there works for the clusters of service projects.
HOST_SERVICES = ("compute", "container", "servicenetworking")

#: Terraform variable: IAM takes no member that does not exist yet, and the cluster stack makes the nodes' account.
NODES_ACCOUNT_EXISTS = "nodes_account_exists"


class HostStack(SiteStack):
    """Everything of the site that stands in the host project."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "host")
        host = self.google.project = site.network.project
        self.services = ProjectServices(self, host, HOST_SERVICES).ready
        fabric = FabricNetworks(self, site, depends_on=self.services)
        add_primary_rules(self, site, site.network.vpc_path, self.services)
        if site.network.access_created:
            add_access(self, site, site.network.vpc_path, self.services)
        members = members_of(self, site)
        self.agent = ProjectIamMember(
            self, "gke-host-agent", project=host, role=HOST_AGENT_USER, member=members["gke"], depends_on=self.services
        )
        made = {id_: f"${{google_compute_subnetwork.{id_}.name}}" for id_ in fabric.subnetworks}
        subnetworks = {"nodes-subnetwork": site.network.subnetwork} | made
        for network in site.nic_networks:
            if network.exists:
                subnetworks |= dict(zip(network.subnetwork_ids, network.subnetworks, strict=True))
        self.users = share(self, site, subnetworks, members, self.services)
        if not site.profile.cluster.service_accounts.nodes_exists:
            self._nodes_account_later()

    def _nodes_account_later(self) -> None:
        """The nodes' account may use them too, from the second apply on."""
        TerraformVariable(
            self,
            NODES_ACCOUNT_EXISTS,
            type="bool",
            default=False,
            description="Whether the nodes' account is there: set it to true after the cluster stack, and apply again.",
        )
        for users in self.users:
            users.grants[NODES].add_override("count", f"${{var.{NODES_ACCOUNT_EXISTS} ? 1 : 0}}")
