"""What pods stand in and act as: a namespace, a Kubernetes service account, secrets. For any cdktf program that has a
Kubernetes provider.

Each has `ready`: what others wait for, and nothing where it is there already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Literal

from cdktf import ITerraformDependable, TerraformVariable
from cdktf_cdktf_provider_kubernetes.data_kubernetes_namespace_v1 import (
    DataKubernetesNamespaceV1,
    DataKubernetesNamespaceV1Metadata,
)
from cdktf_cdktf_provider_kubernetes.data_kubernetes_secret_v1 import (
    DataKubernetesSecretV1,
    DataKubernetesSecretV1Metadata,
)
from cdktf_cdktf_provider_kubernetes.namespace_v1 import NamespaceV1, NamespaceV1Metadata
from cdktf_cdktf_provider_kubernetes.secret_v1 import SecretV1, SecretV1Metadata
from cdktf_cdktf_provider_kubernetes.service_account_v1 import ServiceAccountV1, ServiceAccountV1Metadata
from constructs import Construct
from pydantic.dataclasses import dataclass

from groundplan.kernel.constructs import Part
from groundplan.kernel.fields import Matching, SecretKey
from groundplan.kernel.props import PROPS, KubernetesLabels, KubernetesName, Text

#: Terraform's identifiers, as they stand in configuration and in TF_VAR_NAME.
VariableName = Annotated[str, Matching(r"[A-Za-z_][-A-Za-z0-9_]*", "letters, digits, - and _, a letter or _ first")]

#: The name of a Secret that nobody makes.
NO_SECRET = "groundplan-no-secret"


@dataclass(frozen=True, kw_only=True, config=PROPS)
class ExistingObject:
    """A Kubernetes object that is there already, by what others refer to it with."""

    name: KubernetesName
    """Its name."""

    @property
    def ready(self) -> Sequence[ITerraformDependable]:
        """None: there is nothing to wait for."""
        return ()


class ApiCheck(Part):
    """A look at the cluster's API before every plan, apply and destroy: ``data.kubernetes_namespace_v1.<id>``, and
    ``data.kubernetes_secret_v1.<id>-<namespace>`` for each of `namespaces`, those of the releases.

    The helm provider (3.1.1, 3.1.2) takes an API that is unreachable, or refuses the caller, for "no such release":
    `plan` wants to add it again, `destroy` reports success, and the state has forgotten a job that runs on. The
    kubernetes provider stops with an error instead, so every release waits for this (`ready`).

    Helm keeps releases in Secrets. Asked for one that is not there, the kubernetes provider (2.38.0,
    data_source_kubernetes_secret_v1.go) takes a 404 for an empty answer, and a caller who may not read Secrets of the
    namespace for an error: nothing secret comes into the state.
    """

    def __init__(self, scope: Construct, id_: str, *, namespaces: Sequence[str] = ()) -> None:
        super().__init__(scope, id_)
        # A namespace that each cluster has; one that is not there would be no error.
        namespace = DataKubernetesNamespaceV1Metadata(name="kube-system")
        self.namespace = DataKubernetesNamespaceV1(scope, id_, metadata=namespace)
        """The cdktf data source."""
        self.secrets = [
            DataKubernetesSecretV1(
                scope, f"{id_}-{each}", metadata=DataKubernetesSecretV1Metadata(name=NO_SECRET, namespace=each)
            )
            for each in sorted(set(namespaces))
        ]
        """The cdktf data sources of Secrets that are not there."""

    @property
    def ready(self) -> Sequence[ITerraformDependable]:
        """What every release must wait for."""
        return (self.namespace, *self.secrets)


@dataclass(frozen=True, kw_only=True, config=PROPS)
class NamespaceProps:
    """A namespace."""

    name: KubernetesName
    """Its name."""
    pod_security: Literal["privileged", "baseline", "restricted"] = "privileged"
    """Pod Security level that is enforced. Default: privileged, for training pods mount host paths for the driver and
    gIB, which no stricter level admits."""
    labels: KubernetesLabels = field(default_factory=dict)
    """Labels. Default: that of the Pod Security level alone."""


class Namespace(Part):
    """A namespace: ``kubernetes_namespace_v1.<id>``."""

    def __init__(self, scope: Construct, id_: str, props: NamespaceProps) -> None:
        super().__init__(scope, id_)
        self.name = props.name
        """Its name, as text."""
        labels = {**props.labels, "pod-security.kubernetes.io/enforce": props.pod_security}
        self.namespace = NamespaceV1(scope, id_, metadata=NamespaceV1Metadata(name=props.name, labels=labels))
        """The cdktf resource."""

    @property
    def ready(self) -> Sequence[ITerraformDependable]:
        """What everything in it must wait for."""
        return (self.namespace,)

    @staticmethod
    def existing(*, name: str) -> ExistingObject:
        """A namespace that is there already, such as ``default``; nothing is created."""
        return ExistingObject(name=name)


@dataclass(frozen=True, kw_only=True, config=PROPS)
class PodAccountProps:
    """The Kubernetes service account of pods that act as a Google one, through Workload Identity."""

    name: KubernetesName
    """Its name."""
    namespace: KubernetesName
    """Namespace of the pods."""
    email: Text
    """Google service account that they act as: `email` of a `WorkloadAccount`."""
    labels: KubernetesLabels = field(default_factory=dict)
    """Labels. Default: none."""


class PodAccount(Part):
    """A Kubernetes service account: ``kubernetes_service_account_v1.<id>``. It waits for `depends_on`."""

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: PodAccountProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        self.name = props.name
        """Its name, as text."""
        self.account = ServiceAccountV1(
            scope,
            id_,
            metadata=ServiceAccountV1Metadata(
                name=props.name,
                namespace=props.namespace,
                labels=dict(props.labels) or None,
                annotations={"iam.gke.io/gcp-service-account": props.email},
            ),
            depends_on=list(depends_on) or None,
        )
        """The cdktf resource."""

    @property
    def ready(self) -> Sequence[ITerraformDependable]:
        """What pods that run as it must wait for."""
        return (self.account,)

    @staticmethod
    def existing(*, name: str) -> ExistingObject:
        """An account that is there already, such as ``default``; nothing is created."""
        return ExistingObject(name=name)


@dataclass(frozen=True, kw_only=True, config=PROPS)
class SecretProps:
    """A Kubernetes Secret whose value Terraform asks for at every plan and apply, and keeps nowhere."""

    name: KubernetesName
    """Its name."""
    namespace: KubernetesName
    """Namespace of the pods that read it."""
    variable: VariableName
    """Name of the Terraform variable that the value comes by (``TF_VAR_<name>``); the stack's only one of that name."""
    key: SecretKey = "token"
    """Key under which the value stands in the Secret. Default: token."""
    revision: int = 1
    """A new value is written only when this number grows: Terraform cannot compare what it does not keep. Default:
    1."""
    description: str | None = None
    """What Terraform says when it asks. Default: nothing."""
    labels: KubernetesLabels = field(default_factory=dict)
    """Labels. Default: none."""


@dataclass(frozen=True, kw_only=True, config=PROPS)
class ExistingSecret(ExistingObject):
    """A Secret that is there already, by what pods refer to it with."""

    key: SecretKey
    """Key under which the value stands."""


class Secret(Part):
    """A Secret by a write-only argument, from an ephemeral variable: the value stands in no plan and no state.

    ``kubernetes_secret_v1.<id>`` and ``var.<variable>``. It waits for `depends_on`, such as its namespace. Needs
    Terraform or OpenTofu 1.11.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: SecretProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        self.name = props.name
        """Its name, as text."""
        self.key = props.key
        """Key under which the value stands."""
        self.variable = TerraformVariable(
            scope, props.variable, type="string", sensitive=True, nullable=False, description=props.description
        )
        """The Terraform variable."""
        self.variable.add_override("ephemeral", True)
        self.secret = SecretV1(
            scope,
            id_,
            metadata=SecretV1Metadata(name=props.name, namespace=props.namespace, labels=dict(props.labels) or None),
            type="Opaque",
            data_wo={props.key: self.variable.string_value},
            data_wo_revision=props.revision,
            depends_on=list(depends_on) or None,
        )
        """The cdktf resource."""

    @property
    def ready(self) -> Sequence[ITerraformDependable]:
        """What pods that read it must wait for."""
        return (self.secret,)

    @staticmethod
    def existing(*, name: str, key: str = "token") -> ExistingSecret:
        """A Secret that is there already; nothing is created."""
        return ExistingSecret(name=name, key=key)
