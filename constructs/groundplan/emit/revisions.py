"""A profile at two git revisions as two synth outputs, in scratch folders; the work tree is not touched."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

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
    """Write a profile, and the catalog files that it names, as of a git revision. Raises UnusableInput."""
    target = folder / profile.name
    target.write_bytes(_show(profile.parent, revision, profile.name))
    try:
        names = (yaml.safe_load(target.read_text("utf-8")) or {}).get("catalog") or []
    except (yaml.YAMLError, AttributeError, UnicodeDecodeError):
        names = []  # loading it will say what is wrong
    for name in names if isinstance(names, list) else []:
        path = folder / str(name)
        if folder.resolve() not in path.resolve().parents:
            raise UnusableInput(f"{profile}: catalog file {name} stands outside the profile's folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_show(profile.parent, revision, str(name)))
    return target


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
