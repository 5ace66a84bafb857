"""The one way to cdktf and its provider packages: the same typed classes, loaded in half a second instead of fifteen.

Call :func:`load` once, then import as usual::

    bindings.load()
    from cdktf_cdktf_provider_google.compute_network import ComputeNetwork

A provider's root package imports each of its submodules (1,470 for google), and Node requires as many, though
groundplan uses some forty. Two measures avoid that. Neither changes anything on disk, so type checkers see the packages
as they are, and the output is the same byte for byte:

- a stand-in for the root package in Python, which imports a submodule when it is asked for;
- a slim assembly for Node (:mod:`fast_bindings.slim`), made of the modules in :data:`MODULES`.

Both lean on parts of jsii that carry no promise. Where one is missing or fails, the ordinary way is taken, which is
slower and never wrong.

Environment variables:

- ``GROUNDPLAN_PLAIN_IMPORTS=1``: none of this; only a Node is looked for.
- ``GROUNDPLAN_EXTRA_MODULES=google.compute_instance,kubernetes.deployment_v1``: more modules, for your own constructs.
- ``GROUNDPLAN_CACHE``: the folder for slim assemblies and for what jsii unpacks (default: ``groundplan`` in
  ``XDG_CACHE_HOME`` or ``~/.cache``).
- ``GROUNDPLAN_DEBUG=1``: say on stderr when the ordinary way is taken, and why.
- ``JSII_NODE``: the Node to use (:mod:`fast_bindings.node`).
"""

import difflib
import gc
import importlib
import importlib.util
import os
import sys
import tempfile
import typing
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from fast_bindings import pipeline, slim
from fast_bindings.node import BindingsError, use_node
from groundplan.kernel.settings import is_on

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
    if not is_on("GROUNDPLAN_PLAIN_IMPORTS"):
        modules = _modules()
        with _importing():
            _install(modules, cache)
            importlib.import_module(CORE_PACKAGE)
    _loaded = True


def _modules() -> dict[str, frozenset[str]]:
    """The registry and the user's additions to it, by provider."""
    modules = {provider: set(names) for provider, names in MODULES.items()}
    for item in filter(None, (part.strip() for part in os.environ.get("GROUNDPLAN_EXTRA_MODULES", "").split(","))):
        provider, _, name = item.partition(".")
        if provider not in modules or not name.isidentifier():
            known = ", ".join(MODULES)
            raise BindingsError(f"GROUNDPLAN_EXTRA_MODULES: {item!r} is not PROVIDER.MODULE with one of {known}")
        package = PYTHON_PREFIX + provider
        existing = _submodules(package)
        if name not in existing:
            near = difflib.get_close_matches(name, existing, n=1)
            hint = f"; did you mean {provider}.{near[0]}?" if near else ""
            raise BindingsError(f"GROUNDPLAN_EXTRA_MODULES: {package} has no module {name}{hint}")
        modules[provider].add(name)
    return {provider: frozenset(names) for provider, names in modules.items()}


def _submodules(package: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or ()
    return [path.parent.name for folder in folders for path in Path(folder).glob("*/__init__.py")]


def _cache_folder() -> Path | None:
    """The folder for slim assemblies, or ``None`` if there is no usable one. jsii is told to unpack below it too.

    Left to itself jsii uses ``~/.cache/aws``, and stops the program where that cannot be written.
    """
    folder: Path | None = None
    try:
        folder = slim.cache_folder()
    except (OSError, RuntimeError) as error:  # RuntimeError: nobody knows the user's home
        _debug(f"no cache: {error}")
    if not os.environ.get("JSII_RUNTIME_PACKAGE_CACHE_ROOT"):
        if folder is None:
            os.environ.setdefault("JSII_RUNTIME_PACKAGE_CACHE", "disabled")
        else:
            os.environ["JSII_RUNTIME_PACKAGE_CACHE_ROOT"] = str(folder / "jsii")
    return folder


def _install(modules: Mapping[str, frozenset[str]], cache: Path | None) -> None:
    """Put the stand-ins and the slim assemblies in place, or nothing at all if jsii is not as expected."""
    try:
        import jsii
        import typeguard
        from jsii import _reference_map
        from jsii._kernel import types as kernel_types
        from jsii._kernel.providers import process

        load_assembly = jsii.kernel.load
        known_modules = _reference_map._submodule_fqn_map
        full_tarballs: dict[str, str] = {}
        settle = pipeline.install(process, kernel_types, full_tarballs, _debug)
    except (ImportError, AttributeError) as error:
        _debug(f"plain imports: jsii is not as expected: {error}")
        return
    used = {provider: names for provider, names in modules.items() if _stand_in(PYTHON_PREFIX + provider)}
    for provider, names in used.items():
        # A value from Node may be of a class whose module nobody has imported yet: jsii looks here where to find it.
        for name in names:
            known_modules[f"{NPM_PREFIX}{provider}.{slim.submodule(name)}"] = f"{PYTHON_PREFIX}{provider}.{name}"
    sys.meta_path.insert(0, _Registry({PYTHON_PREFIX + provider: names for provider, names in used.items()}))
    assemblies = {NPM_PREFIX + provider: names for provider, names in used.items()}
    jsii.kernel.load = _load_slim(load_assembly, assemblies, cache, full_tarballs, settle)  # type: ignore[method-assign,assignment]
    _spare_type_checks(typeguard)


def _spare_type_checks(typeguard: Any) -> None:
    """Leave the checking of arguments to mypy before, and to the kernel at the call.

    Every generated constructor evaluates its annotations anew and has typeguard walk the arguments along them: a
    thirtieth of a synth. ``GROUNDPLAN_PLAIN_IMPORTS=1`` brings them back, for messages in Python's terms.
    """
    evaluate = typing.get_type_hints
    known: dict[object, dict[str, Any]] = {}

    def get_type_hints(obj: Any, *args: Any, **options: Any) -> dict[str, Any]:
        if args or options or not getattr(obj, "__name__", "").startswith("_typecheckingstub__"):
            return evaluate(obj, *args, **options)
        if obj not in known:
            known[obj] = evaluate(obj)
        return known[obj]

    typing.get_type_hints = get_type_hints
    typeguard.check_type = lambda *args, **options: None


def _stand_in(package: str) -> bool:
    """Put a module in the place of a root package that imports submodules on demand; False if that cannot be done."""
    spec = importlib.util.find_spec(package) if package not in sys.modules else None
    if spec is None or spec.submodule_search_locations is None:
        _debug(f"{package} is not installed, or already imported")
        return False
    root = importlib.util.module_from_spec(spec)

    def import_submodule(name: str) -> ModuleType:
        try:
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{package}.{name}":
                raise
            raise AttributeError(f"module {package!r} has no attribute {name!r}") from None

    root.__getattr__ = import_submodule  # type: ignore[method-assign]
    sys.modules[package] = root
    return True


class _Registry(MetaPathFinder):
    """Finds the provider modules of the registry, and refuses the others.

    A module that the slim assembly does not hold could be imported in Python, but Node would answer
    ``Type not found`` when one of its classes is first used.
    """

    def __init__(self, modules: Mapping[str, frozenset[str]]) -> None:
        self._modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        known = self._modules.get(package)
        if known is None or name.startswith("_"):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and name not in known:
            raise BindingsError(
                f"{fullname} is not among the modules that groundplan loads; set GROUNDPLAN_EXTRA_MODULES="
                f"{package.removeprefix(PYTHON_PREFIX)}.{name} (more of them with commas) or GROUNDPLAN_PLAIN_IMPORTS=1"
            )
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """The ordinary loader, spared the garbage collection: some modules hold hundreds of classes."""

    def exec_module(self, module: ModuleType) -> None:
        with _importing():
            super().exec_module(module)


def _load_slim(
    load_assembly: Callable[[str, str, str], None],
    modules: Mapping[str, frozenset[str]],
    cache: Path | None,
    full_tarballs: MutableMapping[str, str],
    settle: Callable[[], None],
) -> Callable[[str, str, str], None]:
    """jsii's ``kernel.load``, which gets a provider's slim tarball instead of the full one where that is possible.

    `full_tarballs` is where the pipeline looks for what to load instead, should Node refuse the slim one; `settle`
    waits for Node, which must have read a tarball of this run's own before it is deleted.
    """

    def load(name: str, version: str, tarball: str) -> None:
        if name not in modules:
            load_assembly(name, version, tarball)
            return
        with tempfile.TemporaryDirectory(prefix="groundplan-") as scratch:
            try:
                small = _slim_tarball(Path(tarball), name, version, sorted(modules[name]), cache, Path(scratch))
            except Exception as error:
                _debug(f"the full tarball of {name}, for there is no slim one: {error}")
                load_assembly(name, version, tarball)
                return
            full_tarballs[name] = tarball
            load_assembly(name, version, str(small))
            if small.is_relative_to(scratch):
                settle()

    return load


def _slim_tarball(
    full: Path, name: str, version: str, modules: Sequence[str], cache: Path | None, scratch: Path
) -> Path:
    """The slim tarball in the cache or, where that does not work, one for this run: still faster than the full one."""
    if cache is not None:
        try:
            return slim.cached(full, name, version, modules, cache)
        except OSError as error:
            _debug(f"no slim assembly in the cache: {error}")
    return slim.cached(full, name, version, modules, scratch)


@contextmanager
def _importing() -> Iterator[None]:
    """Keep the garbage collector away from what an import makes: it lives until the program ends.

    Without this the collector takes a fifth of the whole run: during imports, in between, and once more at exit.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()


def _debug(message: str) -> None:
    if is_on("GROUNDPLAN_DEBUG"):
        sys.stderr.write(f"groundplan: bindings: {message}\n")
