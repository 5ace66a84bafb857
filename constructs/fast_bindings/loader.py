"""Puts the stand-ins and the slim assemblies in place, once to a process (see :mod:`fast_bindings`)."""

import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path

from fast_bindings import pipeline, slim
from fast_bindings.node import BindingsError, use_node
from fast_bindings.options import Options
from fast_bindings.registry import PYTHON_PREFIX, Modules, Registry, chosen_modules, importing, stand_in

CORE_PACKAGE = "cdktf"
NPM_PREFIX = "@cdktf/provider-"
"""The names of the bindings in Python and in Node; those of the provider packages stand in the registry."""

_loaded: dict[str, frozenset[str]] | None = None


def load(modules: Modules, *, extra: Modules | None = None, name: str = "fast-bindings") -> None:
    """Make cdktf and provider packages ready to be imported. A further call for the same or fewer modules is free.

    Args:
        modules: names of the provider modules that the program may import, by provider.
        extra: more of them, for constructs of your own beside a library's; a provider may be new.
        name: the program's name: prefix of its environment variables, and its folder in the user's cache.

    Raises:
        BindingsError: no Node was found, an additional module does not exist, or an earlier call left out a module.
    """
    global _loaded
    options = Options(name)
    plain = options.is_on("PLAIN_IMPORTS")
    if _loaded is not None:
        _demand_loaded({} if plain else chosen_modules(modules, extra, options), _loaded)
        return
    # Node reads the environment once, when the import of cdktf starts it; so all of this comes first.
    use_node(os.environ)
    cache = options.cache_folder()
    chosen: dict[str, frozenset[str]] = {}
    if not plain:
        chosen = chosen_modules(modules, extra, options)
        with importing():
            _install(chosen, cache, options)
            importlib.import_module(CORE_PACKAGE)
    _loaded = chosen


def stop() -> None:
    """End Node and wait for its end, for who cleans up after an interrupt; cdktf is of no more use then.

    Node finishes what it was asked last, though nobody waits for the answer: it may write files.
    """
    with suppress(ImportError, AttributeError):  # jsii is not as expected, or was interrupted while it started Node
        import jsii

        jsii.kernel.provider._process.stop()  # type: ignore[attr-defined]


def _demand_loaded(wanted: Mapping[str, frozenset[str]], loaded: Mapping[str, frozenset[str]]) -> None:
    """Node reads a provider's assembly once. A provider that was not named at all comes the plain way."""
    missing = [f"{key}.{name}" for key, names in wanted.items() for name in sorted(names - loaded.get(key, names))]
    if missing:
        raise BindingsError(f"the first call of load left out {', '.join(missing)}; name all modules there")


def _install(modules: Mapping[str, frozenset[str]], cache: Path | None, options: Options) -> None:
    """Put the stand-ins and the slim assemblies in place, or nothing at all if jsii is not as expected."""
    try:
        import jsii
        from jsii import _reference_map
        from jsii._kernel import types as kernel_types
        from jsii._kernel.providers import process

        load_assembly = jsii.kernel.load
        known_modules = _reference_map._submodule_fqn_map
        full_tarballs: dict[str, str] = {}
        settle = pipeline.install(process, kernel_types, full_tarballs, options.note, options.variable("PLAIN_IMPORTS"))
    except (ImportError, AttributeError) as error:
        options.note(f"plain imports: jsii is not as expected: {error}")
        return
    used = {provider: names for provider, names in modules.items() if stand_in(PYTHON_PREFIX + provider, options)}
    for provider, names in used.items():
        # A value from Node may be of a class whose module nobody has imported yet: jsii looks here where to find it.
        for name in names:
            known_modules[f"{NPM_PREFIX}{provider}.{slim.submodule(name)}"] = f"{PYTHON_PREFIX}{provider}.{name}"
    sys.meta_path.insert(0, Registry({PYTHON_PREFIX + provider: names for provider, names in used.items()}, options))
    assemblies = {NPM_PREFIX + provider: names for provider, names in used.items()}
    jsii.kernel.load = _load_slim(load_assembly, assemblies, cache, full_tarballs, settle, options)  # type: ignore[method-assign,assignment]


def _load_slim(
    load_assembly: Callable[[str, str, str], None],
    modules: Mapping[str, frozenset[str]],
    cache: Path | None,
    full_tarballs: MutableMapping[str, str],
    settle: Callable[[], None],
    options: Options,
) -> Callable[[str, str, str], None]:
    """jsii's ``kernel.load``, which gets a provider's slim tarball instead of the full one where that is possible.

    `full_tarballs` is where the pipeline looks for what to load instead, should Node refuse the slim one; `settle`
    waits for Node, which must have read a tarball of this run's own before it is deleted.
    """

    def load(name: str, version: str, tarball: str) -> None:
        if name not in modules:
            load_assembly(name, version, tarball)
            return
        with tempfile.TemporaryDirectory(prefix=f"{options.name}-") as scratch:
            try:
                small = _slim_tarball(
                    Path(tarball), name, version, sorted(modules[name]), cache, Path(scratch), options
                )
            except Exception as error:
                options.note(f"the full tarball of {name}, for there is no slim one: {error}")
                load_assembly(name, version, tarball)
                return
            full_tarballs[name] = tarball
            load_assembly(name, version, str(small))
            if small.is_relative_to(scratch):
                settle()

    return load


def _slim_tarball(
    full: Path, name: str, version: str, modules: Sequence[str], cache: Path | None, scratch: Path, options: Options
) -> Path:
    """The slim tarball in the cache or, where that does not work, one for this run: still faster than the full one."""
    if cache is not None:
        try:
            return slim.cached(full, name, version, modules, cache)
        except OSError as error:
            options.note(f"no slim assembly in the cache: {error}")
    return slim.cached(full, name, version, modules, scratch)
