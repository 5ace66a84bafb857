"""The service project of a Shared VPC as the stacks see it: its agents, and what they get on subnetworks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cdktf import ITerraformDependable, TerraformDataSource

from groundplan.cluster.values import account_email
from groundplan.kernel.gke import apis_agent, gke_agent
from groundplan.network.sharing_constructs import SubnetworkUsers, SubnetworkUsersProps
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack

#: Key of the nodes' own account among the members.
NODES = "nodes"


def members_of(stack: SiteStack, site: Site) -> dict[str, str]:
    """Key -> who of the site's project places nodes in the host project's networks, as a member of IAM.

    GKE's service agent and the Google APIs service agent are named by the project's number, which a data source reads.
    """
    project = TerraformDataSource(stack, "service", terraform_resource_type="google_project")
    project.add_override("project_id", site.project)
    number = "${data.google_project.service.number}"
    nodes = account_email(site.cluster.nodes_account, site.project)
    emails = {"gke": gke_agent(number), "apis": apis_agent(number), NODES: nodes}
    return {key: f"serviceAccount:{email}" for key, email in emails.items()}


def share(
    stack: SiteStack,
    site: Site,
    subnetworks: Mapping[str, str],
    members: Mapping[str, str],
    depends_on: Sequence[ITerraformDependable] = (),
) -> list[SubnetworkUsers]:
    """Let `members` use `subnetworks`, which are names or references by construct id."""
    return [
        SubnetworkUsers(
            stack,
            f"{id_}-user",
            SubnetworkUsersProps(
                project=site.network.project, region=site.region, subnetwork=subnetwork, members=members
            ),
            depends_on=depends_on,
        )
        for id_, subnetwork in subnetworks.items()
    ]
