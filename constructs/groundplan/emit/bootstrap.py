"""The stack that an administrator applies once, before a site: state bucket, who plans and applies, and how CI gets in.

It stands apart from the site: no site's stack reads it, and it is destroyed by nobody who destroys a site. Never a key:
GitHub Actions and Terraform Cloud come in by Workload Identity Federation. Imported only after the bindings are loaded.
"""

from __future__ import annotations

from cdktf import LocalBackend, TerraformStack
from cdktf_cdktf_provider_google.iam_workload_identity_pool import IamWorkloadIdentityPool
from cdktf_cdktf_provider_google.iam_workload_identity_pool_provider import (
    IamWorkloadIdentityPoolProvider,
    IamWorkloadIdentityPoolProviderOidc,
)
from cdktf_cdktf_provider_google.project_iam_custom_role import ProjectIamCustomRole
from cdktf_cdktf_provider_google.project_iam_member import ProjectIamMember
from cdktf_cdktf_provider_google.provider import GoogleProvider
from cdktf_cdktf_provider_google.service_account import ServiceAccount
from cdktf_cdktf_provider_google.service_account_iam_member import ServiceAccountIamMember
from constructs import Construct

from groundplan.catalog.newer import pinned_versions
from groundplan.emit.bootstrap_values import HELM_PERMISSIONS, Bootstrap, Caller
from groundplan.network.service_constructs import ProjectServices
from groundplan.site.stack import REQUIRED_TERRAFORM
from groundplan.storage.constructs import Bucket, BucketAccess, BucketAccessProps, BucketProps


class BootstrapStack(TerraformStack):
    """What has to be there before the first apply of a site."""

    def __init__(self, scope: Construct, values: Bootstrap) -> None:
        super().__init__(scope, values.name)
        self.values = values
        version = pinned_versions()["google"]
        providers = {"google": {"source": "hashicorp/google", "version": version}}
        self.add_override("terraform", {"required_version": REQUIRED_TERRAFORM, "required_providers": providers})
        LocalBackend(self, path=f"../../../terraform.{values.name}.tfstate")
        GoogleProvider(self, "google", project=values.project, region=values.region)
        self.ready = ProjectServices(self, values.project, values.services).ready
        self._people()
        self.accounts = {kind: self._account(kind) for kind in ("deployer", "planner")}
        self._roles()
        if values.bucket:
            self._bucket(values.bucket)
        provider = self._federation() if values.callers else None
        outputs = {f"{kind}_account": {"value": account.email} for kind, account in self.accounts.items()}
        if provider:
            outputs["workload_identity_provider"] = {"value": provider.name}
        outputs["next_step"] = {"value": values.next_step}
        self.add_override("output", outputs)

    def _account(self, kind: str) -> ServiceAccount:
        return ServiceAccount(
            self,
            kind,
            project=self.values.project,
            account_id=getattr(self.values, kind),
            display_name=f"{self.values.site} {kind}",
            depends_on=self.ready,
        )

    def _roles(self) -> None:
        """The deployer's and the planner's; the custom role is the planner's, for the deployer's admin role has it."""
        helm = ProjectIamCustomRole(
            self,
            "reads-releases",
            project=self.values.project,
            role_id=self.values.helm_role,
            title=f"{self.values.site}: read Helm releases",
            permissions=list(HELM_PERMISSIONS),
            depends_on=self.ready,
        )
        granted = {"deployer": self.values.deployer_roles, "planner": self.values.planner_roles}
        for kind, roles in granted.items():
            for role in roles:
                self._member(f"{kind}-{role.rpartition('/')[2].replace('.', '-')}", role, self.accounts[kind].member)
        self._member("planner-reads-releases", helm.name, self.accounts["planner"].member)

    def _people(self) -> None:
        for number, person in enumerate(self.values.people):
            self._member(f"kubectl-{number}", "roles/container.developer", person)

    def _member(self, id_: str, role: str, member: str) -> None:
        ProjectIamMember(self, id_, project=self.values.project, role=role, member=member, depends_on=self.ready)

    def _bucket(self, name: str) -> None:
        values = self.values
        props = BucketProps(
            name=name,
            project=values.project,
            location=values.region,
            versioning=True,
            retention_days=90,
            prevent_destroy=True,
            labels=values.labels,
        )
        bucket = Bucket(self, "states", props)
        bucket.bucket.node.add_dependency(*self.ready)
        for kind, role in (("deployer", "roles/storage.objectUser"), ("planner", "roles/storage.objectViewer")):
            access = BucketAccessProps(bucket=bucket.name, member=self.accounts[kind].member, role=role)
            BucketAccess(self, f"states-{kind}", access)

    def _federation(self) -> IamWorkloadIdentityPoolProvider:
        """One pool with one provider: whoever it issues tokens for, and of these only the site's callers."""
        values = self.values
        pool = IamWorkloadIdentityPool(
            self,
            "callers",
            project=values.project,
            workload_identity_pool_id=values.pool,
            display_name=f"{values.site} callers",
            depends_on=self.ready,
        )
        provider = IamWorkloadIdentityPoolProvider(
            self,
            "issuer",
            project=values.project,
            workload_identity_pool_id=pool.workload_identity_pool_id,
            workload_identity_pool_provider_id="issuer",
            attribute_mapping=values.mapping,
            attribute_condition=values.condition,
            oidc=IamWorkloadIdentityPoolProviderOidc(issuer_uri=values.issuer),
        )
        for caller in values.callers:
            self._may_act(caller, pool)
        return provider

    def _may_act(self, caller: Caller, pool: IamWorkloadIdentityPool) -> None:
        ServiceAccountIamMember(
            self,
            f"{caller.account}-caller",
            service_account_id=self.accounts[caller.account].name,
            role="roles/iam.workloadIdentityUser",
            member=f"{caller.kind}://iam.googleapis.com/{pool.name}/{caller.path}",
        )
