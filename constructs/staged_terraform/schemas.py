"""Provider schemas, recovered from the cdktf wheels that are installed, and kept in a cache.

A wheel carries one npm tarball; each type is a JavaScript file whose inline source map holds the generated TypeScript.
Reading google's takes a second even for a few types, so each recovered type is written to a small file of its own under
the user's cache folder, named by wheel and version: the next rehearsal reads only the types it uses. Files are written
whole and renamed, so that runs side by side never see half a file, and one that does not parse is recovered again.
Nothing is imported from the wheels: importing them would start Node.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from findings import UnavailableError
from staged_terraform.schema_types import Block, from_json, to_json
from staged_terraform.typescript import Source

#: Raise it when what is recovered changes: older cache files are then left alone.
CACHE_FORMAT = 1

#: ``("resource", "google_compute_network")``, ``("data", "google_client_config")`` or ``("provider", "google")``.
TypeKey = tuple[str, str]


class WheelMissing(UnavailableError):
    """A provider's bindings are not installed, or hold no schema where we look for it."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """One provider's bindings; `version` is the wheel's, `provider_version` the Terraform provider's."""

    provider: str
    version: str
    provider_version: str

    @property
    def framework(self) -> bool:
        """Built on the plugin framework, whose objects are nested attributes and need no legacy type system."""
        return self.provider == "helm"

    @property
    def distribution(self) -> str:
        return f"cdktf-cdktf-provider-{self.provider}"


PROVIDERS = ("google", "kubernetes", "helm")

#: The provider release each pinned wheel was generated from. Terraform checks no versions under reattach, so we do.
_PROVIDER_VERSIONS = {
    ("google", "16.12.1"): "6.50.0",
    ("kubernetes", "12.1.1"): "2.38.0",
    ("helm", "12.1.2"): "3.1.1",
}


def wheel(provider: str) -> Wheel:
    """The installed bindings of a provider. Raises WheelMissing."""
    try:
        version = metadata.version(f"cdktf-cdktf-provider-{provider}")
    except metadata.PackageNotFoundError:
        raise WheelMissing(f"cdktf-cdktf-provider-{provider} is not installed: pip install it") from None
    return Wheel(provider, version, _PROVIDER_VERSIONS.get((provider, version), ""))


def cache_folder() -> Path:
    """Where recovered schemas are kept unless told: $STAGED_TERRAFORM_CACHE, else in the user's cache folder."""
    if chosen := os.environ.get("STAGED_TERRAFORM_CACHE"):
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "staged-terraform"


def load(keys: Iterable[TypeKey], cache: Path | None = None) -> dict[TypeKey, Block]:
    """The schemas of these types, from the cache or the wheels; a type that no provider has is left out."""
    wanted = sorted(set(keys))
    found: dict[TypeKey, Block] = {}
    for provider in PROVIDERS:
        mine = [key for key in wanted if provider_of(key[1]) == provider]
        if mine:
            found.update(_load(wheel(provider), mine, cache or cache_folder()))
    return found


def provider_of(type_name: str) -> str:
    """``google_compute_network`` -> ``google``."""
    return type_name.partition("_")[0]


def every_type(provider: str) -> list[TypeKey]:
    """Every type that a provider's wheel has, its own configuration included."""
    keys = set()
    with tarfile.open(_tarball(wheel(provider))) as archive:
        for name in archive.getnames():
            parts = name.split("/")
            if len(parts) == 4 and parts[3] == "index.js":
                keys.add(_key(provider, parts[2]))
    return sorted(keys)


def _load(source: Wheel, keys: list[TypeKey], cache: Path) -> dict[TypeKey, Block]:
    folder = cache / "schemas" / f"{source.provider}-{source.version}-f{CACHE_FORMAT}"
    found: dict[TypeKey, Block] = {}
    missing: list[TypeKey] = []
    for key in keys:
        try:
            text = (folder / f"{key[0]}.{key[1]}.json").read_text()
            if text != "null":
                found[key] = from_json(json.loads(text))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            missing.append(key)
    if missing:
        recovered = recover(source, missing)
        for key in missing:
            _write(folder / f"{key[0]}.{key[1]}.json", recovered.get(key))
        found.update(recovered)
    return found


def recover(source: Wheel, keys: Iterable[TypeKey]) -> dict[TypeKey, Block]:
    """Read types straight from a wheel, without the cache."""
    folders = {_folder(source.provider, key): key for key in keys}
    texts: dict[TypeKey, list[str]] = {}
    for folder, text in _typescript(_tarball(source), set(folders)):
        texts.setdefault(folders[folder], []).append(text)
    return {key: Source.of("\n".join(parts), source.framework).block() for key, parts in texts.items()}


def _folder(provider: str, key: TypeKey) -> str:
    kind, name = key
    if kind == "provider":
        return "provider"
    prefix = f"data-{provider}-" if kind == "data" else ""
    return prefix + name.removeprefix(f"{provider}_").replace("_", "-")


def _key(provider: str, folder: str) -> TypeKey:
    if folder == "provider":
        return "provider", provider
    if folder.startswith(f"data-{provider}-"):
        return "data", folder.removeprefix("data-").replace("-", "_")
    return "resource", f"{provider}_" + folder.replace("-", "_")


def _tarball(source: Wheel) -> Path:
    files = metadata.files(source.distribution) or []
    for file in files:
        if file.name.endswith(".jsii.tgz"):
            return Path(str(file.locate()))
    raise WheelMissing(f"{source.distribution} {source.version} holds no npm tarball; reinstall it")


def _typescript(tarball: Path, folders: set[str]) -> Iterator[tuple[str, str]]:
    """(folder, TypeScript) of each JavaScript file in these folders of the package."""
    with tarfile.open(tarball) as archive:
        for member in archive:
            parts = member.name.split("/")
            if len(parts) < 4 or parts[2] not in folders or not member.name.endswith(".js"):
                continue
            handle = archive.extractfile(member)
            assert handle is not None
            code = handle.read()
            start = code.rfind(b"sourceMappingURL=data:application/json")
            if start < 0:
                raise WheelMissing(f"{tarball.name}: {member.name} has no source map, so no schema can be read from it")
            mapping = json.loads(base64.b64decode(code[start:].partition(b"base64,")[2].strip()))
            yield parts[2], mapping["sourcesContent"][0]


def _write(path: Path, block: Block | None) -> None:
    """Write a cache file whole; a cache that cannot be written is no reason to fail."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w") as stream:
            json.dump(to_json(block) if block else None, stream, separators=(",", ":"))
        Path(temporary).replace(path)
