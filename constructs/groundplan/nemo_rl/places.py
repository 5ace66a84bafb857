"""Where in the profile a value of the training comes from, so that a finding points at the line to change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from findings import ProfilePath
from groundplan.nemo_rl.config import split_prefix
from groundplan.nemo_rl.training import Training

OVERRIDES: ProfilePath = ("workload", "overrides")
#: Where a user's own configuration file is named.
CONFIG: ProfilePath = ("workload", "config")


def place(training: Training, *paths: str) -> ProfilePath:
    """The user's own override of one of `paths`, in that order of preference; else the recipe."""
    for path in paths:
        found = _find(training.overrides, path)
        if found is not None:
            return (*OVERRIDES, *found)
    return CONFIG if training.file_name else ("workload", "recipe")


def given(training: Training) -> dict[str, tuple[ProfilePath, str, Any]]:
    """The same as :func:`written`, with what the user's own file sets where no override does."""
    own = written(training.overrides)
    file = {path: value for path, value in training.file.items() if not any(_within(path, other) for other in own)}
    return {**{path: (CONFIG, "", value) for path, value in file.items()}, **own}


def _within(path: str, group: str) -> bool:
    return path == group or path.startswith(group + ".")


def written(overrides: dict[str, Any]) -> dict[str, tuple[ProfilePath, str, Any]]:
    """Dotted path -> profile path, the user's own prefix (``+`` ...), value, of each override that the user wrote."""
    return {path: (place_, prefix, value) for path, place_, prefix, value in _walked(overrides)}


def written_twice(overrides: dict[str, Any]) -> Iterator[tuple[str, ProfilePath, ProfilePath]]:
    """Dotted path, first and later place of each override that is written again in another spelling."""
    first: dict[str, ProfilePath] = {}
    for path, place_, _, _ in _walked(overrides):
        if path in first:
            yield path, first[path], place_
        first.setdefault(path, place_)


def _walked(overrides: dict[str, Any]) -> list[tuple[str, ProfilePath, str, Any]]:
    """Dotted path, profile path, prefix and value of each override, in order."""
    found: list[tuple[str, ProfilePath, str, Any]] = []

    def walk(values: dict[str, Any], dotted: str, place: ProfilePath) -> None:
        for key, value in values.items():
            path, here = f"{dotted}.{key}" if dotted else str(key), (*place, key)
            if isinstance(value, dict) and value:
                walk(value, path, here)
            else:
                prefix, plain = split_prefix(path)
                found.append((plain, here, prefix, value))

    walk(overrides, "", OVERRIDES)
    return found


def _find(values: dict[str, Any], path: str) -> ProfilePath | None:
    for plain, (place_, _, _) in written(values).items():
        if plain == path:
            return place_[len(OVERRIDES) :]
    return None
