"""Comparing GKE versions, whole ones and prefixes such as ``1.35``."""

from __future__ import annotations

import re

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+)(?:-gke\.(\d+))?)?\Z")

#: What a part of a wanted version that is not written stands for: GKE takes the newest that the prefix admits.
_NEWEST = 10**9

Version = tuple[int, int, int, int]


def parse(version: str, left_out: int = 0) -> Version:
    """``1.35.2-gke.1842000`` -> (1, 35, 2, 1842000); parts that are left out are `left_out`.

    Raises ValueError for anything else.
    """
    match = _VERSION.match(version)
    if not match:
        raise ValueError(f"{version!r} is not a GKE version")
    major, minor, patch, build = (left_out if part is None else int(part) for part in match.groups())
    return major, minor, patch, build


def is_below(version: str | None, floor: str) -> bool:
    """Whether every GKE version that `version` can mean is older than `floor`; None, the channel's own, never is."""
    return version is not None and parse(version, _NEWEST) < parse(floor)
