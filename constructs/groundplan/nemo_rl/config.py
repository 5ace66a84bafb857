"""The configuration that a job will have: the release's defaults, the recipe, and what site and user set over them.

It is composed here the way NeMo RL composes it in the pod, as a flat mapping of dotted paths, so that rules can judge
it before a GPU is touched, and each override is written in the form its path needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from groundplan.catalog import shipped
from groundplan.nemo_rl.config_file import ConfigFile
from groundplan.nemo_rl.hydra import Override
from groundplan.nemo_rl.releases import Recipe, Release, flatten

#: The group of vLLM's own settings.
VLLM = "policy.generation.vllm_cfg"

_REFERENCE = re.compile(r"\$\{([A-Za-z0-9_.]+)\}")
#: How many references are followed before a circle is assumed.
_DEPTH = 8


@dataclass
class Draft:
    """A configuration while it is put together. `values` is flat; `known` are the paths that stand in files."""

    values: dict[str, Any]
    overrides: dict[str, Override] = field(default_factory=dict)
    anything_goes: bool = False
    """No keys file is known for the release, or none for sure: every path is written set-or-add."""

    def set(self, key: str, value: Any, origin: str) -> None:
        """Set the path `key`, which may carry a user's own prefix, and note the override that does it."""
        asked, path = split_prefix(key)
        prefix = asked or ("" if not self.anything_goes and self.stands(path) else "++")
        for deeper in [p for p in self.overrides if p.startswith(path + ".")]:
            del self.overrides[deeper]
        if path in self.overrides and not asked:
            prefix = self.overrides[path].prefix
        self.overrides[path] = Override(path, value, prefix, origin)
        self._store(path, value, delete=asked == "~")

    def stands(self, path: str) -> bool:
        """Whether ``path=value`` names something that is there: a leaf, or a group."""
        return path in self.values or any(p.startswith(path + ".") for p in self.values)

    def _store(self, path: str, value: Any, delete: bool) -> None:
        if path in self.values and not delete:  # a leaf, so nothing stands below it and no null above
            self.values[path] = value
            return
        for other in list(self.values):
            if other.startswith(path + ".") or (path.startswith(other + ".") and self.values[other] in (None, {})):
                del self.values[other]
        if delete:
            self.values.pop(path, None)
        else:
            self.values[path] = value


def split_prefix(key: str) -> tuple[str, str]:
    """``++a.b`` -> (``++``, ``a.b``)."""
    path = key.lstrip("+~")
    return key[: len(key) - len(path)], path


@dataclass(frozen=True)
class Config:
    """A composed configuration; :meth:`get` follows references such as ``${logger.log_dir}/checkpoints``."""

    values: Mapping[str, Any]

    def get(self, path: str, default: Any = None) -> Any:
        """The value at `path`, references followed; `default` when it is not there."""
        return self._followed(self.values.get(path, default), default, _DEPTH)

    def _followed(self, value: Any, default: Any, depth: int) -> Any:
        """A value that is one reference becomes what that names; within a text, each becomes text."""
        if not isinstance(value, str) or "${" not in value:
            return value
        if depth == 0:
            return default
        whole = _REFERENCE.fullmatch(value.strip())
        if whole:
            return self._followed(self.values.get(whole.group(1), default), default, depth - 1)

        def text(found: re.Match[str]) -> str:
            inner = self._followed(self.values.get(found.group(1)), None, depth - 1)
            # What names nothing, or a group, stays as it stands.
            return str(inner) if isinstance(inner, str | int | float) else found.group(0)

        return _REFERENCE.sub(text, value)

    def count(self, path: str, default: int = 1) -> int:
        """The whole number at `path`; `default` when there is none, or something that is no positive number."""
        value = self.get(path)
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default

    def on(self, path: str) -> bool:
        """Whether the switch at `path` is true."""
        return self.get(path) is True

    def text(self, path: str) -> str:
        """The text at `path`, or an empty one."""
        value = self.get(path)
        return value if isinstance(value, str) else ""

    def has(self, group: str) -> bool:
        """Whether anything but null stands at `group` or below it."""
        return self.values.get(group) is not None or any(p.startswith(group + ".") for p in self.values)


def start(release: Release, recipe: Recipe, file: ConfigFile | None = None) -> Draft:
    """The configuration before anything is set: the release's base config with what the recipe's file sets, or the
    user's own `file`."""
    keys = release.keys
    draft = Draft({} if file and file.whole else dict(keys), anything_goes=not keys or bool(release.unconfirmed))
    for path, value in recipe.sets.items():
        draft._store(path, value, delete=False)
    for group in file.taken if file else ():
        for path in [p for p in keys if p.startswith(group + ".") and p not in recipe.sets and p in draft.values]:
            draft.set("~" + path, None, "file")
    return draft


def set_all(draft: Draft, values: Mapping[str, Any], origin: str) -> None:
    """Set many, nested or dotted."""
    for path, value in flatten(dict(values)).items():
        draft.set(path, value, origin)


def is_open(path: str, known: Iterable[str]) -> bool:
    """Whether `path` lies in a group of `known` that takes keys of its own choosing."""
    groups: Iterable[str] = shipped("nemo_rl")["open_groups"]
    inside = [group for group in groups if path == group or path.startswith(group + ".")]
    return any(key == group or key.startswith(group + ".") for group in inside for key in known)
