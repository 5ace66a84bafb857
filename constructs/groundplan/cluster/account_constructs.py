"""The service accounts of a cluster's nodes and of its workloads, for any cdktf program."""

from __future__ import annotations

from collections.abc import Sequence

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_google.project_iam_member import ProjectIamMember
from cdktf_cdktf_provider_google.service_account import ServiceAccount
from cdktf_cdktf_provider_google.service_account_iam_member import ServiceAccountIamMember
from constructs import Construct
from pydantic.dataclasses import dataclass

from groundplan.cluster.values import NODE_ROLES, account_email
from groundplan.kernel.constructs import Part
from groundplan.kernel.props import PROPS, AccountId, KubernetesName, Several, Text


@dataclass(frozen=True, kw_only=True, config=PROPS)
class ExistingAccount:
    """A service account that is there already, with its roles, by what others refer to it with."""

    email: Text
    """Its address."""

    @property
    def member(self) -> str:
        """It as a member of IAM."""
        return f"serviceAccount:{self.email}"

    @property
    def roles(self) -> Sequence[ITerraformDependable]:
        """None: there is nothing to wait for."""
        return ()


@dataclass(frozen=True, kw_only=True, config=PROPS)
class NodeAccountProps:
    """The account that nodes run as."""

    account_id: AccountId
    """Id, 6 to 30 characters: the part of the address before the @."""
    project: Text
    """Project it stands in, and on which it gets its roles."""
    display_name: str | None = None
    """Name for people. Default: none."""
    roles: Several[Text] = NODE_ROLES
    """Roles on the project. Default: write logs and metrics, read images; nothing else."""


class _Account(Part):
    """What an account of nodes and one of pods have in common."""

    def __init__(self, scope: Construct, id_: str, props: NodeAccountProps | WorkloadAccountProps) -> None:
        super().__init__(scope, id_)
        self.email = account_email(props.account_id, props.project)
        """Its address, known before it exists."""
        self.account = ServiceAccount(
            scope, id_, account_id=props.account_id, project=props.project, display_name=props.display_name
        )
        """The cdktf resource."""

    @property
    def member(self) -> str:
        """It as a member of IAM, as a reference."""
        return self.account.member

    @staticmethod
    def existing(*, email: str) -> ExistingAccount:
        """An account that is there already, and has or may what it needs; nothing is created."""
        return ExistingAccount(email=email)


class NodeAccount(_Account):
    """An account and its roles: ``google_service_account.<id>``, ``google_project_iam_member.<id>-<role>``."""

    def __init__(self, scope: Construct, id_: str, props: NodeAccountProps) -> None:
        super().__init__(scope, id_, props)
        member = self.member
        self.roles: Sequence[ITerraformDependable] = [
            ProjectIamMember(
                scope,
                f"{id_}-{role.rpartition('/')[2].replace('.', '-')}",
                project=props.project,
                role=role,
                member=member,
            )
            for role in props.roles
        ]
        """The cdktf resources of its roles; nodes should wait for them."""


@dataclass(frozen=True, kw_only=True, config=PROPS)
class WorkloadIdentityProps:
    """Which pods may act as an account."""

    account: Text
    """Full name of the account: ``projects/P/serviceAccounts/EMAIL``."""
    workload_pool: Text
    """Workload Identity pool of the cluster: ``P.svc.id.goog``."""
    namespace: KubernetesName
    """Namespace of the pods."""
    service_account: KubernetesName
    """Kubernetes service account of the pods."""


class WorkloadIdentity(Part):
    """The right of pods to act as an account: ``google_service_account_iam_member.<id>``.

    `cluster` makes the pool of identities, which exists once the project's first cluster with Workload Identity does.
    """

    def __init__(
        self, scope: Construct, id_: str, props: WorkloadIdentityProps, *, cluster: ITerraformDependable | None = None
    ) -> None:
        super().__init__(scope, id_)
        self.identity = ServiceAccountIamMember(
            scope,
            id_,
            service_account_id=props.account,
            role="roles/iam.workloadIdentityUser",
            member=f"serviceAccount:{props.workload_pool}[{props.namespace}/{props.service_account}]",
            depends_on=[cluster] if cluster is not None else None,
        )
        """The cdktf resource."""


@dataclass(frozen=True, kw_only=True, config=PROPS)
class WorkloadAccountProps:
    """The account that pods act as, through Workload Identity."""

    account_id: AccountId
    """Id, 6 to 30 characters: the part of the address before the @."""
    project: Text
    """Project it stands in."""
    workload_pool: Text
    """Workload Identity pool of the cluster: ``P.svc.id.goog``."""
    namespace: KubernetesName
    """Namespace of the pods."""
    service_account: KubernetesName
    """Kubernetes service account of the pods."""
    display_name: str | None = None
    """Name for people. Default: none."""

    def identity(self, account: str) -> WorkloadIdentityProps:
        """Who may act as the account of that full name: these pods."""
        return WorkloadIdentityProps(
            account=account,
            workload_pool=self.workload_pool,
            namespace=self.namespace,
            service_account=self.service_account,
        )


class WorkloadAccount(_Account):
    """An account and who may act as it: ``google_service_account.<id>``,
    ``google_service_account_iam_member.<id>-identity``.

    `cluster` makes the pool of identities, which exists once the project's first cluster with Workload Identity does.
    """

    def __init__(
        self, scope: Construct, id_: str, props: WorkloadAccountProps, *, cluster: ITerraformDependable | None = None
    ) -> None:
        super().__init__(scope, id_, props)
        may_act = props.identity(self.account.name)
        self.identity = WorkloadIdentity(scope, f"{id_}-identity", may_act, cluster=cluster).identity
        """The cdktf resource of who may act as it."""
