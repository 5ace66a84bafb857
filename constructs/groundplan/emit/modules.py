"""The provider modules that groundplan imports, and the loading of them (see :mod:`fast_bindings`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext

import fast_bindings
from groundplan.kernel.settings import is_on

NAME = "groundplan"
"""Prefix of the environment variables that steer the loading, and name of the cache folder."""

MODULES: Mapping[str, tuple[str, ...]] = {
    "google": (
        "artifact_registry_repository_iam_member",
        "compute_address",
        "compute_firewall",
        "compute_global_address",
        "compute_network",
        "compute_resource_policy",
        "compute_router",
        "compute_router_nat",
        "compute_subnetwork",
        "compute_subnetwork_iam_member",
        "container_cluster",
        "container_node_pool",
        "data_google_container_cluster",
        "data_google_lustre_instance",
        "lustre_instance",
        "project_iam_member",
        "project_service",
        "provider",
        "secret_manager_secret_iam_member",
        "service_account",
        "service_account_iam_member",
        "service_networking_connection",
        "storage_bucket",
        "storage_bucket_iam_member",
    ),
    "helm": (
        "provider",
        "release",
    ),
    "kubernetes": (
        "config_map_v1",
        "daemon_set_v1",
        "data_kubernetes_namespace_v1",
        "data_kubernetes_secret_v1",
        "job_v1",
        "namespace_v1",
        "persistent_volume_claim_v1",
        "persistent_volume_v1",
        "pod_disruption_budget_v1",
        "priority_class_v1",
        "provider",
        "resource_quota_v1",
        "role_binding_v1",
        "role_v1",
        "secret_v1",
        "service_account_v1",
    ),
}
"""The provider modules that groundplan may import, by provider. A stack that needs another one adds it here."""


def load(extra: Mapping[str, Collection[str]] | None = None) -> None:
    """Load groundplan's modules and `extra` ones, such as ``{"google": ["compute_instance"]}``, for your constructs.

    Raises:
        fast_bindings.BindingsError: see :func:`fast_bindings.load`.
    """
    fast_bindings.load(MODULES, extra=extra, name=NAME)


@contextmanager
def building() -> Iterator[None]:
    """Around our own build: its arguments are checked by mypy before, and by the kernel at the call.

    When it is interrupted, Node is ended before anybody cleans up: it writes on what it was asked for.
    """
    try:
        with nullcontext() if is_on("GROUNDPLAN_PLAIN_IMPORTS") else fast_bindings.spared_type_checks():
            yield
    except KeyboardInterrupt:
        fast_bindings.stop()
        raise
