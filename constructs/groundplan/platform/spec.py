"""The ``platform`` section: namespace, operators and installers inside the cluster; and the ``secrets`` section."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from groundplan.kernel.fields import Image, KubernetesName, ReleaseVersion, SecretKey, Section, TagVersion, VariableName

#: Whether the operator adds `wait-gcs-ready` to workers' pods: 200m CPU and 256 MiB, which no key changes
#: (ray-project/kuberay, ray-operator/controllers/ray/common/pod.go; kuberay#2735, #5138).
INIT_CONTAINERS = "ENABLE_INIT_CONTAINER_INJECTION"


class KubeRay(Section):
    """The KubeRay operator, by its Helm chart."""

    version: ReleaseVersion = "1.7.0"
    """Chart and operator release; must be in the catalog."""
    namespace: KubernetesName = "kuberay-system"
    """Namespace of the operator."""
    env: dict[VariableName, str] = {}
    """Environment variables of the operator. Default: ENABLE_INIT_CONTAINER_INJECTION=false, for the job's pods have an
    init container of their own, with more memory."""

    @property
    def environment(self) -> dict[str, str]:
        """All variables of the operator."""
        return {INIT_CONTAINERS: "false", **self.env}


class Gib(Section):
    """The gIB NCCL plugin, put on every GPU node by a DaemonSet."""

    version: TagVersion = "v1.1.2"
    """Tag of the nccl-plugin-gib image."""
    image: Image | None = None
    """Whole image reference, for a mirror. Default: Google's repository with `version`."""
    arm64_image: Image | None = None
    """The same for arm64 nodes (A4X). Default: Google's, at the catalog's tag."""


class Kueue(Section):
    """The Kueue operator, and a queue that admits a job only when all of its pods can be placed."""

    enabled: bool = False
    """Install it, and submit the job through its queue."""
    version: ReleaseVersion = "0.19.2"
    """Chart and operator release (API v1beta2)."""
    namespace: KubernetesName = "kueue-system"
    """Namespace of the operator."""
    queue: KubernetesName = "training"
    """Name of the LocalQueue in the namespace of the jobs; the ClusterQueue carries <site>- and the same."""
    topology: Literal["block", "subblock", "none"] = "block"
    """Part of the data centre that the workers should share; none places them anywhere."""


class PlatformSpec(Section):
    """What the cluster needs before a job can run."""

    namespace: KubernetesName = "nemo-rl"
    """Namespace of the jobs; created, unless it is `default`."""
    service_account: KubernetesName = "nemo-rl"
    """Kubernetes service account of the training pods; created, unless it is `default`."""
    kuberay: KubeRay = KubeRay()
    """KubeRay operator."""
    gib: Gib = Gib()
    """gIB installer."""
    kueue: Kueue = Kueue()
    """Job queue."""


class SecretReference(Section):
    """Where a secret comes from: give exactly one of `secret` and `variable`. Never the secret itself."""

    secret: KubernetesName | None = None
    """Name of a Kubernetes Secret that is there already, in the platform's namespace."""
    variable: bool = False
    """Terraform asks for it: an ephemeral variable that reaches a Kubernetes Secret by a write-only argument."""
    key: SecretKey = "token"
    """Key within the Secret."""
    revision: int = 1
    """Raise it to have Terraform write a rotated `variable` again."""

    @model_validator(mode="after")
    def _one_source(self) -> SecretReference:
        if (self.secret is not None) == self.variable:
            limit = "must have exactly one of `secret: NAME` and `variable: true`"
            raise PydanticCustomError("limit", "{limit}", {"limit": limit})
        return self


class SecretsSpec(Section):
    """References to the tokens that a job needs."""

    hugging_face: SecretReference | None = None
    """Hugging Face read token. Default: Terraform asks for it (`variable: true`) when the model is gated."""
    wandb: SecretReference | None = None
    """Weights & Biases API key; giving it turns W&B logging on."""
    image_pull: KubernetesName | None = None
    """Name of an existing image pull Secret (type kubernetes.io/dockerconfigjson) in the platform's namespace."""
