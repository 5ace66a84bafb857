"""What can be wrong with namespace, service account and operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from findings import Problem, Severity, rule
from findings.redaction import is_secret_name
from groundplan.kernel.images import floats
from groundplan.kernel.protection import is_prod
from groundplan.platform.spec import INIT_CONTAINERS
from groundplan.site.resolve import Site

#: Namespaces that Kubernetes and GKE make and keep for themselves.
_SYSTEM = ("kube-", "gke-managed-", "gmp-")

_DEFAULT = "default"


@rule("namespace-reserved")
def namespace_reserved(site: Site) -> Iterator[Problem]:
    """The jobs' namespace is one of Kubernetes' or GKE's own.

    kube-*, gke-managed-* and gmp-* are kept by the system: some are there already, and GKE removes from others what it
    does not know. `default` may be used: it is not created then.

    Source: Kubernetes documentation, "Namespaces"; GKE documentation, "Managed system namespaces".

    Mend: a namespace of its own.
    """
    if site.profile.platform.namespace.startswith(_SYSTEM):
        yield Problem(
            ("platform", "namespace"),
            f"`platform.namespace` {site.profile.platform.namespace} is one of the system's own",
            "use a namespace of its own, such as nemo-rl",
        )


@rule("namespace-shared")
def namespace_shared(site: Site) -> Iterator[Problem]:
    """Jobs share a namespace with an operator, KubeRay or Kueue, and both create it.

    The operator's Helm release creates its namespace when it is absent, and the platform stack creates the jobs': when
    they are one, whichever is first makes the other fail. (Kueue counts when it is enabled.)

    Source: Helm documentation, `helm install --create-namespace`; Kubernetes documentation, "Object Names and IDs".

    Mend: leave the operators' `namespace` out, and give the jobs one of their own.
    """
    platform = site.profile.platform
    operators = [("kuberay", platform.kuberay.namespace, "kuberay-system")]
    if platform.kueue.enabled:
        operators.append(("kueue", platform.kueue.namespace, "kueue-system"))
    for name, namespace, usual in operators:
        if platform.namespace == namespace != _DEFAULT:
            own = namespace != usual
            yield Problem(
                ("platform", name, "namespace") if own else ("platform", "namespace"),
                f"`platform.{name}.namespace` and `platform.namespace` are both {namespace}",
                f"give the operator a namespace of its own, such as {usual}"
                if own
                else "give the jobs a namespace of their own, such as nemo-rl",
            )


@rule("service-account-default", Severity.WARNING)
def service_account_default(site: Site) -> Iterator[Problem]:
    """The training pods run as the namespace's `default` service account.

    It is there already and is not changed, so that it lacks the annotation that makes it act as the workload's Google
    service account: Workload Identity gives it no access to the site's buckets. And every other pod of the namespace
    shares it.

    Source: GKE documentation, "Authenticate to Google Cloud APIs from GKE workloads".

    Mend: a name of its own; it is created.
    """
    if site.profile.platform.service_account == _DEFAULT:
        yield Problem(
            ("platform", "service_account"),
            "`platform.service_account` default does not act as the workload's Google service account",
            "use a name of its own, such as nemo-rl",
        )


@rule("kuberay-release")
def kuberay_release(site: Site) -> Iterator[Problem]:
    """The KubeRay release is not in the catalog.

    Fields of the RayJob, the CRDs and the operator's checks differ by release, so that only known ones are planned.

    Source: catalog kuberay (`groundplan catalog kuberay`).

    Mend: a known release, or an entry in a catalog file of your own once you have tried it.
    """
    version = site.profile.platform.kuberay.version
    if version not in site.catalog.kuberay:
        known = _in_order(site.catalog.kuberay)
        yield Problem(
            ("platform", "kuberay", "version"),
            f"`platform.kuberay.version` {version} is not in the catalog, which has {', '.join(known)}",
            f"use {known[-1]}, or add it to a catalog file of your own",
        )


@rule("kuberay-env")
def kuberay_env(site: Site) -> Iterator[Problem]:
    """Variables of the operator that break NeMo RL's jobs or the plan, and secrets.

    Each is read by the operator for all Ray clusters that it keeps.

    Source: ray-project/kuberay, ray-operator/controllers/ray/utils/constant.go; kuberay#3247 (login shell), #2735 and
    #5138 (init container); Terraform's own way: a RayJob that is gone is made again by the next apply.

    Mend: leave the variable out.
    """
    for name, value in site.profile.platform.kuberay.env.items():
        path = ("platform", "kuberay", "env", name)
        reason = _OPERATOR_REFUSED.get(name, "") if value.lower() == "true" else ""
        if is_secret_name(name):
            yield Problem(path, f"platform.kuberay.env: `{name}` names a secret, and would stand in the plan", _LEAVE)
        elif reason:
            severity = Severity.WARNING if name == INIT_CONTAINERS else Severity.ERROR
            yield Problem(path, f"platform.kuberay.env: `{name}` {reason}", _LEAVE, severity)


_LEAVE = "leave it out"
_OPERATOR_REFUSED = {
    "ENABLE_LOGIN_SHELL": "makes KubeRay start Ray in a login shell, where NeMo RL's `ray` is not on the path",
    "DELETE_RAYJOB_CR_AFTER_JOB_FINISHES": "removes a finished RayJob, and the next apply trains again",
    INIT_CONTAINERS: "adds an init container of 256 MiB, which NeMo RL's `ray health-check` has been seen to exceed",
}


def _in_order(versions: Iterable[str]) -> list[str]:
    """Versions from the oldest to the newest."""
    return sorted(versions, key=_numbers)


def _numbers(version: str) -> list[int]:
    return [int(n) for n in version.lstrip("v").partition("-")[0].split(".") if n.isdecimal()]


@rule("gib-release", Severity.WARNING)
def gib_release(site: Site) -> Iterator[Problem]:
    """The gIB release is not in the catalog.

    A tag that Google's repository has not leaves the installer in ImagePullBackOff, and every training without RDMA.
    With an `image` of your own nothing is judged.

    Source: catalog gib (`groundplan catalog gib`).

    Mend: a known release, or an entry in a catalog file of your own.
    """
    spec = site.profile.platform.gib
    if spec.image is None and spec.version not in site.catalog.gib:
        known = _in_order(site.catalog.gib)
        yield Problem(
            ("platform", "gib", "version"),
            f"`platform.gib.version` {spec.version} is not in the catalog, which has {', '.join(known)}",
            f"use {known[-1]}, or add it to a catalog file of your own once you have seen that the image is there",
        )


#: The first Kueue minor version that serves the API version groundplan writes (platform/kueue.py).
_KUEUE_API, _KUEUE_LEAST = "v1beta2", [0, 15]


@rule("kueue-release", Severity.WARNING)
def kueue_release(site: Site) -> Iterator[Problem]:
    """The Kueue release is not in the catalog, or is too old for the queue's objects.

    The queue is written in the API kueue.x-k8s.io/v1beta2, which Kueue serves from 0.15 on: an older release is
    refused. A newer one that the catalog does not know is a warning. Judged when Kueue is enabled.

    Source: catalog kueue (`groundplan catalog kueue`); Kueue's release notes.

    Mend: a known release, or an entry in a catalog file of your own once you have tried it.
    """
    spec = site.profile.platform.kueue
    if not spec.enabled:
        return
    path = ("platform", "kueue", "version")
    known = _in_order(site.catalog.kueue)
    if _numbers(spec.version) < _KUEUE_LEAST:
        message = f"`platform.kueue.version` {spec.version} is below 0.15, the first with the API {_KUEUE_API}"
        yield Problem(path, f"{message} that the queue is written in", f"use {known[-1]}", Severity.ERROR)
    elif spec.version not in site.catalog.kueue:
        yield Problem(
            path,
            f"`platform.kueue.version` {spec.version} is not in the catalog, which has {', '.join(known)}",
            f"use {known[-1]}, or add it to a catalog file of your own",
        )


@rule("gib-image-floating")
def gib_image_floating(site: Site) -> Iterator[Problem]:
    """The gIB installer's image has no fixed tag.

    The DaemonSet runs privileged on every GPU node and puts a library under every training; what it is must not change
    by itself. Refused in prod, a warning in dev.

    Source: GoogleCloudPlatform/container-engine-accelerators, gpudirect-rdma/nccl-rdma-installer.yaml (privileged);
    Kubernetes documentation, "Images".

    Mend: a tag of a release, or a digest.
    """
    image = site.profile.platform.gib.image
    if image is not None and floats(image):
        yield Problem(
            ("platform", "gib", "image"),
            f"`platform.gib.image` {image} has no fixed tag",
            "add a release's tag or a digest",
            None if is_prod(site.profile.environment) else Severity.WARNING,
        )
