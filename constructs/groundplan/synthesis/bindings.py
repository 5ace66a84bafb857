"""The one way to cdktf and its provider packages: the same typed classes, loaded in 0.6 s instead of 16.

Call :func:`load` once, then import as usual::

    bindings.load()
    from cdktf_cdktf_provider_google.compute_network import ComputeNetwork

A provider's root package imports each of its submodules (1,470 for google), and Node requires as many, though
groundplan uses some fifty. Two measures avoid that, and change nothing on disk, so that type checkers see the packages as
they are and the output is the same byte for byte:

- a stand-in for the root package in Python, which imports a submodule when it is asked for;
- a slim assembly for Node (:mod:`groundplan.synthesis.slim`), made of the modules in :data:`MODULES`.

Both lean on parts of jsii that carry no promise. Where one is missing or fails, the ordinary way is taken: slower, never wrong.

Environment variables:

- ``GROUNDPLAN_PLAIN_IMPORTS=1``: none of this; only a Node is looked for.
- ``GROUNDPLAN_EXTRA_MODULES=google.compute_instance,kubernetes.deployment_v1``: more modules, for constructs of your own.
- ``GROUNDPLAN_CACHE``: where slim assemblies, and what jsii unpacks, are kept (default: ``groundplan`` in the user's cache folder).
- ``GROUNDPLAN_DEBUG=1``: say on stderr when the ordinary way is taken, and why.
- ``JSII_NODE``: the Node to use (:mod:`groundplan.synthesis.node`).
"""

import difflib
import gc
import importlib
import importlib.machinery
import importlib.util
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import ModuleType

from groundplan.synthesis import slim
from groundplan.synthesis.node import BindingsError, use_node

__all__ = ["MODULES", "BindingsError", "load"]

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
        "data_google_client_config",
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

CORE_PACKAGE = "cdktf"
PYTHON_PREFIX = "cdktf_cdktf_provider_"
NPM_PREFIX = "@cdktf/provider-"
"""The names of the bindings. cdktn, the successor of cdktf, has the same modules and classes under other names."""

_loaded = False


def load() -> None:
    """Make cdktf and the provider packages ready to be imported. Further calls do nothing.

    Raises:
        BindingsError: no Node was found, or ``GROUNDPLAN_EXTRA_MODULES`` names what does not exist.
    """
    global _loaded
    if _loaded:
        return
    # Node reads the environment once, when the import of cdktf starts it; so all of this comes first.
    use_node(os.environ)
    cache = _cache_folder()
    if not _is_on("GROUNDPLAN_PLAIN_IMPORTS"):
        modules = _modules()
        with _without_garbage_collection():
            _install(modules, cache)
            importlib.import_module(CORE_PACKAGE)
    _loaded = True
