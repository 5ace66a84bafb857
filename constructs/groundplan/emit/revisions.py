"""A profile at two git revisions as two synth outputs, in scratch folders; the work tree is not touched."""

from __future__ import annotations

import hashlib
import posixpath
import subprocess
from pathlib import Path
from typing import Any

import yaml

from findings import ProfileError, UserError
from plan_review.reading import UnusableInput


def synthesize_profile(profile: Path, out: Path) -> str:
    """Synthesize a profile as it is, without the rules' consent; SHA-256 of its text.

    A difference is wanted of what stands, and that may break a rule of today.
    """
    from groundplan.emit.app import write_site
    from groundplan.site.profile import load_profile
    from groundplan.site.resolve import resolve

    try:
        loaded, _ = load_profile(profile)
        write_site(resolve(loaded, profile.parent), out)
    except (UserError, ProfileError):
        raise
    except Exception as error:
        raise UserError(f"{profile} cannot be synthesized ({type(error).__name__}); see `groundplan check`") from error
    return hashlib.sha256(profile.read_bytes()).hexdigest()


def checkout(profile: Path, revision: str, folder: Path) -> Path:
    """Write a profile, and the files that it names, as of a git revision: catalog files, and a NeMo RL configuration
    with what it inherits from. Raises UnusableInput."""
    target = folder / profile.name
    target.write_bytes(_show(profile.parent, revision, profile.name))
    data = _mapping(target)
    names = data.get("catalog") or []
    for name in names if isinstance(names, list) else []:
        _write(profile, revision, folder, str(name), "catalog file")
    workload = data.get("workload")
    sections = [workload, *(workload.get("jobs") or [])] if isinstance(workload, dict) else []
    configs = (section.get("config") for section in sections if isinstance(section, dict))
    for config in dict.fromkeys(each for each in configs if isinstance(each, str)):
        _write_config(profile, revision, folder, config)
    return target


def _write(profile: Path, revision: str, folder: Path, name: str, what: str) -> Path:
    path = folder / name
    if folder.resolve() not in path.resolve().parents:
        raise UnusableInput(f"{profile}: {what} {name} stands outside the profile's folder")
    text = _show(profile.parent, revision, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    return path


def _write_config(profile: Path, revision: str, folder: Path, name: str) -> None:
    """A configuration and the files beside it that it inherits from; the others are the image's."""
    parents = _mapping(_write(profile, revision, folder, name, "configuration")).get("defaults") or []
    for parent in [parents] if isinstance(parents, str) else parents:
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(name), str(parent)))
        if (folder / beside).exists():
            continue
        try:
            _write_config(profile, revision, folder, beside)
        except UnusableInput:
            continue  # composing it will say what is missing


def _mapping(file: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(file.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError):
        return {}  # loading it will say what is wrong
    return data if isinstance(data, dict) else {}


def _show(folder: Path, revision: str, name: str) -> bytes:
    if revision.startswith("-"):
        raise UnusableInput(f"{revision} is no git revision")
    command = ["git", "-C", str(folder or Path()), "show", f"{revision}:./{name}"]
    try:
        ran = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        raise UnusableInput("git is not installed; --revisions needs it") from None
    if ran.returncode:
        lines = ran.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
        raise UnusableInput(f"{name} at {revision}: {lines[0].removeprefix('fatal: ')}")
    return ran.stdout
