"""What the bootstrap stack of a site holds, from its profile alone: names, roles, and who may come in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from findings import UserError
from groundplan.site.resolve import Site

#: Helm keeps its releases in Secrets, and reads them to plan; `roles/container.viewer` has not these.
#: Source: docs.cloud.google.com/iam/docs/roles-permissions/container; helm 3.1.1 run against an API that refuses.
HELM_PERMISSIONS = ("container.secrets.get", "container.secrets.list")

#: Type of a resource in the site's stacks -> the role that manages it.
#: Sources: the tutorial's list of roles, and Google's pages of roles and permissions of each service.
ROLES = {
    "compute": "roles/compute.admin",
    "service_networking": "roles/servicenetworking.networksAdmin",
    "container": "roles/container.admin",  # KubeRay's chart makes ClusterRoles
    "lustre": "roles/lustre.admin",
    "service_account": "roles/iam.serviceAccountAdmin",
    "act_as": "roles/iam.serviceAccountUser",  # to put the nodes' account on nodes
    "project_iam": "roles/resourcemanager.projectIamAdmin",
    "project_service": "roles/serviceusage.serviceUsageAdmin",
    "storage": "roles/storage.admin",
}

#: Reads everything, policies included; `roles/viewer` alone lacks some services' policies.
PLANNER_ROLES = ("roles/viewer", "roles/iam.securityReviewer")

_GITHUB = re.compile(r"[A-Za-z0-9][-A-Za-z0-9]*/[-._A-Za-z0-9]+")
_PERSON = re.compile(r"(?:user|group):[^@\s]+@[^@\s]+\.[a-z]+")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who may act as an account: a principal, or a set of them, of the pool."""

    account: str
    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The values of one bootstrap stack."""

    site: str
    project: str
    region: str
    labels: dict[str, str]
    services: tuple[str, ...]
    deployer_roles: tuple[str, ...]
    bucket: str = ""
    people: tuple[str, ...] = ()
    issuer: str = ""
    mapping: dict[str, str] = field(default_factory=dict)
    condition: str = ""
    callers: tuple[Caller, ...] = ()
    planner_roles: tuple[str, ...] = PLANNER_ROLES

    @property
    def name(self) -> str:
        """Name of the stack."""
        return f"{self.site}-bootstrap"

    @property
    def deployer(self) -> str:
        """Account that applies; a site's name has at most 20 characters, an account's 30."""
        return f"{self.site}-deployer"

    @property
    def planner(self) -> str:
        """Account that plans, and changes nothing."""
        return f"{self.site}-planner"

    @property
    def pool(self) -> str:
        """Workload identity pool."""
        return f"{self.site}-callers"

    @property
    def helm_role(self) -> str:
        """Id of the custom role: letters, digits, dots and underscores."""
        return f"{self.site}_reads_releases".replace("-", "_")

    @property
    def next_step(self) -> str:
        """What the stack says when it has been applied."""
        where = f"the states go to gs://{self.bucket}; " if self.bucket else ""
        return f"{where}apply the site as the deployer account, in the order of its run-book"


def bootstrap_of(site: Site, *, github: str = "", people: tuple[str, ...] = ()) -> Bootstrap:
    """The values for a site. Raises UserError when `github` is no OWNER/REPOSITORY or a person no user or group."""
    backend = site.profile.backend
    for person in people:
        if not _PERSON.fullmatch(person):
            raise UserError(f"--kubectl {person}: write user:NAME@DOMAIN or group:NAME@DOMAIN")
    found = Bootstrap(
        site=site.name,
        project=site.project,
        region=site.region,
        labels=site.labels,
        services=tuple(sorted({*site.services, "iamcredentials", "serviceusage", "sts"})),
        deployer_roles=_deployer_roles(site),
        bucket=backend.gcs.bucket if backend.gcs else "",
        people=people,
    )
    if github and backend.cloud:
        raise UserError("--github: this profile's runs are Terraform Cloud's (backend.cloud), with tokens of its own")
    if github:
        return _by_github(found, github)
    if backend.cloud:
        host = backend.cloud.hostname or "app.terraform.io"
        return _by_terraform_cloud(found, host, backend.cloud.organization, backend.cloud.project or "Default Project")
    return found


def _deployer_roles(site: Site) -> tuple[str, ...]:
    left_out = set() if site.profile.storage.buckets else {"storage"}
    accounts = site.profile.cluster.service_accounts
    if accounts.nodes_exists and accounts.workload_exists:
        left_out |= {"project_iam"}
    if not site.network.access_created or site.network.is_shared:
        left_out |= {"service_networking"}
    return tuple(sorted(role for name, role in ROLES.items() if name not in left_out))


def _by_github(values: Bootstrap, repository: str) -> Bootstrap:
    """Pull requests plan; only a job of the environment `apply`, which can ask for approval, deploys.

    Source: docs.github.com, "Configuring OpenID Connect in Google Cloud Platform": issuer, `sub`, `repository`.
    """
    if not _GITHUB.fullmatch(repository):
        raise UserError(f"--github {repository}: write OWNER/REPOSITORY")
    return replace(
        values,
        issuer="https://token.actions.githubusercontent.com",
        mapping={"google.subject": "assertion.sub", "attribute.repository": "assertion.repository"},
        condition=f"assertion.repository == '{repository}'",
        callers=(
            Caller("planner", "principalSet", f"attribute.repository/{repository}"),
            Caller("deployer", "principal", f"subject/repo:{repository}:environment:apply"),
        ),
    )


def _by_terraform_cloud(values: Bootstrap, host: str, organization: str, project: str) -> Bootstrap:
    """Plans run as the planner, applies as the deployer, by the run's phase.

    Source: developer.hashicorp.com, "Dynamic Credentials with the GCP Provider": issuer, `sub`, `terraform_run_phase`.
    """
    phase = "attribute.terraform_run_phase"
    workspaces = f"organization:{organization}:project:{project}:workspace:{values.site}-"
    return replace(
        values,
        issuer=f"https://{host}",
        mapping={"google.subject": "assertion.sub", phase: "assertion.terraform_run_phase"},
        condition=f"assertion.sub.startsWith('{workspaces}')",
        callers=(
            Caller("planner", "principalSet", f"{phase}/plan"),
            Caller("deployer", "principalSet", f"{phase}/apply"),
        ),
    )
