"""What the catalog says of a condition of NeMo RL, in words for a finding: when a job stops, and in which line."""

from __future__ import annotations

from typing import Any

import yaml

from groundplan.catalog import shipped
from groundplan.nemo_rl.releases import Release

#: The first release that is known.
FIRST = "v0.4.0"


def catalog() -> dict[str, dict[str, Any]]:
    """All conditions that are known, by name."""
    found: dict[str, dict[str, Any]] = shipped("nemo_rl_conditions")["conditions"]
    return found


def line_of(name: str, release: Release) -> str:
    """File and line at the release, or at the last one before it that is known; else the library's."""
    entry = catalog()[name]
    lines: dict[str, str] = entry.get("at", {})
    known = [line for tag, line in lines.items() if release.since(tag)]
    if known:
        first = known[-1].partition(", ")[0]
        return first if first.startswith("examples/") else f"nemo_rl/{first}"
    return str(entry.get("library", "")).partition("; ")[0].partition(". ")[0]


def stated(release: Release, *names: str) -> str:
    """``condition A1 of NeMo RL v0.6.0: first step, nemo_rl/...:375``; of several, the first one's time and line."""
    word = "condition" if len(names) == 1 else "conditions"
    entry, line = catalog()[names[0]], line_of(names[0], release)
    told = f"{word} {' and '.join(names)} of NeMo RL {release.version}: {entry['stops']}"
    return f"{told}, {line}" if line else told


def setting(key: str, value: Any) -> str:
    """A setting as a hint names it."""
    return f"`{key}: {yaml_text(value)}`"


def yaml_text(value: Any) -> str:
    """A value as a profile would have it, on one line."""
    if value is None or isinstance(value, bool | int):  # the usual ones, without a whole writer of YAML
        return "null" if value is None else str(value).lower()
    return str(yaml.safe_dump(value, default_flow_style=True, width=4096)).strip().removesuffix("...").strip()


def shown(value: Any) -> str:
    """A value of the configuration for a message."""
    return value if isinstance(value, str) else yaml_text(value)
