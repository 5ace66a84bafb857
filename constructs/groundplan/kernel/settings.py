"""What the environment decides: switches, and the profile that is meant when none is named."""

from __future__ import annotations

import json
import os
from pathlib import Path

from findings import UserError

PROFILE_VARIABLE = "GROUNDPLAN_PROFILE"

#: The profile that is meant when nothing names one: what `groundplan init` writes.
PROFILE_FILE = "profile.yaml"


def is_on(variable: str) -> bool:
    """Whether a switch in the environment is on: set, and not to 0."""
    return os.environ.get(variable, "") not in ("", "0")


def default_profile(folder: Path = Path()) -> Path:
    """The profile that the environment or `folder`'s cdktf.json names, else `folder`'s profile.yaml.

    Raises UserError when there is none of them.
    """
    named = os.environ.get(PROFILE_VARIABLE)
    if named:
        return Path(named)
    file = folder / "cdktf.json"
    try:
        context = json.loads(file.read_text("utf-8")).get("context", {})
        named = context.get("profile")
    except (OSError, ValueError, AttributeError):
        named = None
    if named:
        return folder / str(named)
    if (folder / PROFILE_FILE).is_file():
        return folder / PROFILE_FILE
    raise UserError(
        f"no profile named, and there is no {PROFILE_FILE} here: give one as argument, set {PROFILE_VARIABLE}, set"
        " `context.profile` in cdktf.json, or write one with `groundplan init`"
    )
