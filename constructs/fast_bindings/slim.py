"""Slim assemblies: a provider's jsii tarball cut down to the modules that are used.

The google provider ships 1,470 modules in a tarball of 32 MB. Node unpacks it (334 MB), parses its 99 MB of type
information and requires every module, though a program uses some thirty. The jsii kernel checks nothing but the
name and version of what it is told to load, so it can be given a tarball with just these thirty, made of the same
files: 0.3 MB.

The tarballs are made on the user's machine and cached there. Shipping them would mean shipping derived files
of another licence (MPL-2.0) that go stale with every release of the provider.
"""

import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

LAYOUT = 1
"""Part of the cache key: raise it when :func:`build` changes what it writes."""

_UNUSED_KEYS = frozenset({"docs", "locationInModule", "readme", "symbolId"})
"""Keys of a jsii assembly that only documentation generators read."""

_OTHER_FOLDER = re.compile(rb"""require\(["']\.\./""")


def submodule(module: str) -> str:
    """jsii's name of a Python submodule: ``compute_network`` is ``computeNetwork``."""
    return re.sub(r"_(.)", lambda match: match[1].upper(), module)


def cache_folder(name: str, configured: str | None = None) -> Path:
    """Make the folder for slim tarballs: `configured`, or `name` in ``XDG_CACHE_HOME`` or ``~/.cache``.

    Node runs what is kept there. So a folder that others may write to is used only if it was asked for by name.

    Raises:
        OSError: the folder cannot be made or used.
        RuntimeError: there is no home directory.
    """
    if configured:
        folder = Path(configured).absolute()
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))  # to be ignored if relative, says the standard
        folder = (base if base.is_absolute() else Path.home() / ".cache") / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written")
    status = folder.stat()
    if not configured and hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        raise PermissionError(f"{folder} belongs to another user, or others may write to it")
    return folder


def cached(full: Path, name: str, version: str, modules: Sequence[str], folder: Path) -> Path:
    """The slim tarball of ``full`` in ``folder``, built first if it is not there or not intact.

    The file name ends in the SHA-256 of the content. So one rename publishes content and checksum together, and
    programs that build at the same time put the same bytes in the same place.

    Args:
        full: the tarball in the Python package.
        name: its npm name, such as ``@cdktf/provider-google``.
        version: its version.
        modules: names of the Python submodules to keep, such as ``compute_network``.
        folder: an existing folder.

    Raises:
        OSError: ``folder`` cannot be read and written.
        ValueError: the tarball is not laid out as expected.
    """
    key = _digest(repr((LAYOUT, name, version, full.stat().st_size, sorted(modules))).encode())[:16]
    stem = f"{name.rsplit('/', 1)[-1]}-{version}-{key}"
    for found in sorted(folder.glob(f"{stem}-*.tgz")):
        if found.stem == f"{stem}-{_digest(found.read_bytes())}":
            return found
    content = build(full, modules)
    target = folder / f"{stem}-{_digest(content)}.tgz"
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".slim-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


def build(full: Path, modules: Iterable[str]) -> bytes:
    """A tarball with these modules of ``full`` only; the same bytes for the same input.

    Raises:
        ValueError: a module is missing, or needs another one.
    """
    assembly, package, folders, sources = _read(full, {submodule(module) for module in modules})
    prefix = assembly["name"] + "."
    assembly["submodules"] = {prefix + name: assembly["submodules"][prefix + name] for name in sorted(folders)}
    assembly["types"] = {fqn: type_ for fqn, type_ in assembly["types"].items() if type_.get("namespace") in folders}
    return _pack(
        {
            "package/package.json": package,
            "package/.jsii": json.dumps(_without_docs(assembly), separators=(",", ":")).encode(),
            "package/lib/index.js": _index(folders),
            **sources,
        }
    )


def _read(full: Path, wanted: set[str]) -> tuple[dict[str, Any], bytes, dict[str, str], dict[str, bytes]]:
    """One pass over the tarball.

    Returns the assembly (type information), package.json, the folder of each wanted jsii submodule, and the
    JavaScript in these folders by its path.
    """
    assembly: dict[str, Any] = {}
    package = b""
    folders: dict[str, str] = {}
    sources: dict[str, bytes] = {}
    with tarfile.open(full, "r|gz") as tar:
        for member in tar:
            file = tar.extractfile(member)
            parts = member.name.split("/")
            if file is None:
                continue
            if member.name == "package/.jsii":
                assembly = json.load(file)
                folders = _folders(assembly, wanted)
            elif member.name == "package/package.json":
                package = file.read()
            elif parts[:2] == ["package", "lib"] and parts[2] in folders.values() and parts[-1].endswith(".js"):
                sources[member.name] = _without_source_map(file.read())
    lost = [folder for folder in folders.values() if f"package/lib/{folder}/index.js" not in sources]
    if not package or lost:
        # Also when the type information comes after the code: npm packs it first.
        raise ValueError(f"{full.name} is not laid out as expected: {', '.join(lost) or 'package.json'} not found")
    for path, source in sources.items():
        # No module of the pinned releases does this. For one that did, its requirements would have to be kept as well.
        if _OTHER_FOLDER.search(source):
            raise ValueError(f"{path} in {full.name} requires another module")
    return assembly, package, folders, sources


def _folders(assembly: Mapping[str, Any], wanted: set[str]) -> dict[str, str]:
    """The folder below ``lib/`` of each wanted submodule: ``computeNetwork`` is in ``compute-network``."""
    submodules = assembly["submodules"]
    missing = sorted(name for name in wanted if f"{assembly['name']}.{name}" not in submodules)
    if missing:
        raise ValueError(f"{assembly['name']} has no submodule {', '.join(missing)}")
    return {name: submodules[f"{assembly['name']}.{name}"]["symbolId"].split("/")[1] for name in wanted}


def _index(folders: Mapping[str, str]) -> bytes:
    """The package's entry point, which reads a module when one of its classes is first used."""
    lines = ['"use strict";', 'Object.defineProperty(exports, "__esModule", { value: true });']
    for name, folder in sorted(folders.items()):
        getter = f'{{ enumerable: true, get: () => require("./{folder}") }}'
        lines.append(f'Object.defineProperty(exports, "{name}", {getter});')
    return ("\n".join(lines) + "\n").encode()


def _without_source_map(source: bytes) -> bytes:
    """Inline source maps are two thirds of the JavaScript."""
    code, marker, rest = source.rpartition(b"\n//# sourceMappingURL=data:")
    return code + b"\n" if marker and b"\n" not in rest.strip() else source


def _without_docs(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_docs(item) for key, item in value.items() if key not in _UNUSED_KEYS}
    if isinstance(value, list):
        return [_without_docs(item) for item in value]
    return value


def _pack(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for path, content in sorted(files.items()):
            member = tarfile.TarInfo(path)  # neither time nor owner
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
