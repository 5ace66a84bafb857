"""The provider modules that a program names: checked, imported on demand, and the only ones that are found."""

from __future__ import annotations

import difflib
import gc
import importlib
import importlib.util
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType

from fast_bindings.node import BindingsError
from fast_bindings.options import Options

PYTHON_PREFIX = "cdktf_cdktf_provider_"
"""How the provider packages are named. cdktn, the successor of cdktf, has the same modules under other names."""

Modules = Mapping[str, Collection[str]]
"""Names of provider modules by provider: ``{"google": ["compute_network"]}``."""


def chosen_modules(modules: Modules, extra: Modules | None, options: Options) -> dict[str, frozenset[str]]:
    """The named modules with the call's and the user's additions, by provider.

    Raises:
        BindingsError: a module of `extra` or of the variable EXTRA_MODULES does not exist.
    """
    chosen = {provider: set(names) for provider, names in modules.items()}
    for provider, names in (extra or {}).items():
        for name in names:
            _demand(provider, name, "extra")
            chosen.setdefault(provider, set()).add(name)
    variable = options.variable("EXTRA_MODULES")
    for item in filter(None, (part.strip() for part in os.environ.get(variable, "").split(","))):
        provider, _, name = item.partition(".")
        if provider not in chosen or not name.isidentifier():
            known = ", ".join(chosen)
            raise BindingsError(f"{variable}: {item!r} is not PROVIDER.MODULE with one of {known}")
        _demand(provider, name, variable)
        chosen[provider].add(name)
    return {provider: frozenset(names) for provider, names in chosen.items()}


def _demand(provider: str, name: str, where: str) -> None:
    package = PYTHON_PREFIX + provider
    existing = submodules(package)
    if name not in existing:
        near = difflib.get_close_matches(name, existing, n=1)
        hint = f"; did you mean {provider}.{near[0]}?" if near else ""
        raise BindingsError(f"{where}: {package} has no module {name}{hint}")


def submodules(package: str) -> list[str]:
    """Modules of an installed provider package; none if it is not installed."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or ()
    return [path.parent.name for folder in folders for path in Path(folder).glob("*/__init__.py")]


def stand_in(package: str, options: Options) -> bool:
    """Put a module in the place of a root package that imports submodules on demand; False if that cannot be done."""
    spec = importlib.util.find_spec(package) if package not in sys.modules else None
    if spec is None or spec.submodule_search_locations is None:
        options.note(f"{package} is not installed, or already imported")
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


class Registry(MetaPathFinder):
    """Finds the provider modules of the registry, and refuses the others.

    A module that the slim assembly does not hold could be imported in Python, but Node would answer
    ``Type not found`` when one of its classes is first used.
    """

    def __init__(self, modules: Mapping[str, frozenset[str]], options: Options) -> None:
        self._modules = modules
        self._options = options

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.rpartition(".")
        known = self._modules.get(package)
        if known is None or name.startswith("_"):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and name not in known:
            extra, plain = (self._options.variable(suffix) for suffix in ("EXTRA_MODULES", "PLAIN_IMPORTS"))
            raise BindingsError(
                f"{fullname} is not among the modules that {self._options.name} loads; set {extra}="
                f"{package.removeprefix(PYTHON_PREFIX)}.{name} (more of them with commas) or {plain}=1"
            )
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """The ordinary loader, spared the garbage collection: some modules hold hundreds of classes."""

    def exec_module(self, module: ModuleType) -> None:
        with importing():
            super().exec_module(module)


@contextmanager
def importing() -> Iterator[None]:
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
