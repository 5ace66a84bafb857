"""Node labels that are GKE's to set."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, Severity, rule
from groundplan.gpu.rules import pool_path
from groundplan.site.resolve import Site

#: Labels that GKE or the kubelet sets by itself.
_SET_BY_GKE = frozenset(
    f"cloud.google.com/{name}"
    for name in (
        "gce-topology-block",
        "gce-topology-host",
        "gce-topology-subblock",
        "gke-accelerator",
        "gke-accelerator-count",
        "gke-boot-disk",
        "gke-container-runtime",
        "gke-cpu-scaling-level",
        "gke-ephemeral-storage-local-ssd",
        "gke-flex-start",
        "gke-gpu",
        "gke-gpu-driver-version",
        "gke-logging-variant",
        "gke-max-pods-per-node",
        "gke-memory-gb-scaling-level",
        "gke-nodepool",
        "gke-os-distribution",
        "gke-preemptible",
        "gke-provisioning",
        "gke-queued",
        "gke-spot",
        "gke-stack-type",
        "machine-family",
        "private-node",
        "reservation-name",
    )
)

#: Domains in which the kubelet takes a label on its command line, which is how GKE passes them on.
_OPEN_TO_KUBELET = ("node.kubernetes.io", "kubelet.kubernetes.io")
_SET_BY_KUBELET = ("node.kubernetes.io/instance-type",)


@rule("node-label-reserved")
def node_label_reserved(site: Site) -> Iterator[Problem]:
    """A node label is one that GKE or Kubernetes sets itself.

    GKE refuses labels that it manages, and a kubelet with an unknown label under kubernetes.io or k8s.io does not
    start: the nodes never become Ready. Other labels under cloud.google.com are a warning: some switch features on.

    Source: Kubernetes, kubelet `--node-labels`; GKE documentation, "Create and manage cluster and node pool labels".

    Mend: a label of your own, without prefix or with your own domain.
    """
    for pool in site.pools:
        for key in pool.spec.labels:
            domain, slash, _ = key.rpartition("/")
            managed = key in _SET_BY_GKE or key in _SET_BY_KUBELET
            core = any(domain == d or domain.endswith(f".{d}") for d in ("kubernetes.io", "k8s.io"))
            closed = core and domain not in _OPEN_TO_KUBELET
            if managed or closed:
                severity = None
            elif slash and domain == "cloud.google.com":
                severity = Severity.WARNING
            else:
                continue
            yield Problem(
                pool_path(pool, "labels", key),
                f"GPU pool {pool.name}: the node label {key} is "
                + ("GKE's own" if severity is None else "in GKE's own domain"),
                "use a label without prefix, or with a domain of your own",
                severity,
            )
