"""What can be wrong with namespace, service account and operators."""

from __future__ import annotations

from collections.abc import Iterator

from groundplan.findings import Problem, Severity, rule
from groundplan.site import Site

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
    """Jobs and the KubeRay operator share a namespace that both create.

    The operator's Helm release creates its namespace when it is absent, and the platform stack creates the jobs': when
    they are one, whichever is first makes the other fail.

    Mend: leave `platform.kuberay.namespace` out.
    """
    platform = site.profile.platform
    if platform.namespace == platform.kuberay.namespace != _DEFAULT:
        yield Problem(
            ("platform", "kuberay", "namespace"),
            f"`platform.kuberay.namespace` and `platform.namespace` are both {platform.namespace}",
            "give the operator a namespace of its own, such as kuberay-system",
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
        known = sorted(site.catalog.kuberay, key=lambda text: [int(n) for n in text.split(".") if n.isdecimal()])
        yield Problem(
            ("platform", "kuberay", "version"),
            f"`platform.kuberay.version` {version} is not in the catalog, which has {', '.join(known)}",
            f"use {known[-1]}, or add it to a catalog file of your own",
        )


@rule("gib-image-floating")
def gib_image_floating(site: Site) -> Iterator[Problem]:
    """The gIB installer's image has no fixed tag.

    The DaemonSet runs privileged on every GPU node and puts a library under every training; what it is must not change
    by itself. Refused in prod, a warning in dev.

    Mend: a tag of a release, or a digest.
    """
    image = site.profile.platform.gib.image
    if image is None or "@sha256:" in image:
        return
    tag = image.rpartition("/")[2].partition(":")[2]
    if tag in ("", "latest", "main", "master", "nightly"):
        yield Problem(
            ("platform", "gib", "image"),
            f"`platform.gib.image` {image} has no fixed tag",
            "add a release's tag or a digest",
            None if site.profile.environment == "prod" else Severity.WARNING,
        )
