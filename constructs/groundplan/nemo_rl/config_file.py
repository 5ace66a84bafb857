"""A NeMo RL configuration of the user's own: a YAML file with what it inherits from, as one file for the job.

NeMo RL composes files by ``defaults:``, a path or a list of paths, beside the file or absolute; later ones win, and a
mapping with ``_override_: true`` replaces instead of adding (nemo_rl/utils/config.py). Files beside the user's are put
together here, so that one goes into the job. What is inherited from the image must be grpo_math_1B.yaml, whose keys are
known of each release, unless the configuration is none that is judged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from findings.redaction import find_secrets
from groundplan.nemo_rl.releases import BASE_CONFIG, WORKDIR, flatten

#: A ConfigMap holds 1 MiB; scripts stand beside it.
MOST_BYTES = 256 * 1024
_MARK = "_override_"
_CONFIGS = "examples/configs/"
#: How deep files may inherit.
_DEPTH = 8


class _Loader(yaml.SafeLoader):
    """Reads numbers as OmegaConf does: ``1e-5`` is one."""


_Loader.yaml_implicit_resolvers = {
    letter: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:float"]
    for letter, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9_]+(?:[eE][-+]?[0-9]+)?"
        r"|\.(?:inf|Inf|INF))$|\.(?:nan|NaN|NAN)$"
    ),
    list("-+0123456789."),
)


@dataclass(frozen=True)
class ConfigFile:
    """A user's configuration. `values` is flat: dotted path -> value, over the base."""

    name: str
    """As the profile names it."""
    values: dict[str, Any] = field(default_factory=dict)
    base: str = ""
    """The image's file that it inherits from; empty when it stands alone."""
    taken: tuple[str, ...] = ()
    """Groups that replace the base's: its keys below them go."""
    text: str = ""
    """The one file that the job gets."""
    fault: str = ""
    """Why it cannot be used; empty when it can."""
    hint: str = ""

    @property
    def whole(self) -> bool:
        """Whether it inherits nothing of the image."""
        return not self.base


class _Unusable(Exception):
    """Carries what is wrong, and what to do."""


def read_config(folder: Path, name: str, *, any_base: bool = False) -> ConfigFile:
    """The configuration `name` beside the profile in `folder`; with a `fault` when it cannot be used.

    `any_base`: it may inherit from any file of the image.
    """
    bases: list[str] = []
    try:
        merged = _composed(folder / name, bases, any_base)
    except _Unusable as error:
        return ConfigFile(name, fault=str(error.args[0]), hint=str(error.args[1]))
    if len(set(bases)) > 1:
        fault = f"it inherits from {' and '.join(sorted(set(bases)))}"
        return ConfigFile(name, fault=fault, hint="inherit from one file of the image")
    base, taken = (bases[0] if bases else ""), tuple(_marked(merged))
    plain = _without_marks(merged)
    text = yaml.safe_dump({"defaults": f"{WORKDIR}/{base}", **plain} if base else plain, sort_keys=False, width=120)
    if len(text.encode()) > MOST_BYTES:
        return ConfigFile(name, fault=f"it has more than {MOST_BYTES} bytes", hint="put data into files of their own")
    if find_secrets(text):
        return ConfigFile(name, fault="it holds a secret, which would stand in the manifest", hint="use `secrets:`")
    return ConfigFile(name, flatten(plain), base, taken, text)


def _composed(file: Path, bases: list[str], any_base: bool, depth: int = 0) -> dict[str, Any]:
    """The file over the files beside it that it inherits from; what it inherits of the image is noted in `bases`."""
    data = _read(file)
    parents = data.pop("defaults", [])
    parents = [parents] if isinstance(parents, str) else parents
    if not isinstance(parents, list) or not all(isinstance(each, str) for each in parents):
        raise _Unusable(f"{file.name}: `defaults` is no path and no list of paths", "write `defaults: a.yaml`")
    if depth == _DEPTH:
        raise _Unusable(f"{file.name}: `defaults` goes round in a circle", "take one of them out")
    merged: dict[str, Any] = {}
    for parent in parents:
        beside = file.parent / parent
        if beside.is_file():
            merged = _over(merged, _composed(beside, bases, any_base, depth + 1))
        else:
            bases.append(_of_the_image(parent, file.name, any_base))
    return _over(merged, data)


def _of_the_image(parent: str, name: str, any_base: bool) -> str:
    """The image's file that `parent` means, relative to its folder of sources."""
    tail = parent.partition(_CONFIGS)[2] or PurePosixPath(parent).name
    path = f"{_CONFIGS}{tail}"
    if path == BASE_CONFIG or any_base:
        return path
    hint = f"put {PurePosixPath(parent).name} beside it, or write `defaults: {WORKDIR}/{BASE_CONFIG}`"
    raise _Unusable(f"{name} inherits from {parent}, which is no file beside it, nor {BASE_CONFIG} of the image", hint)


def _read(file: Path) -> dict[str, Any]:
    try:
        data = yaml.load(file.read_text("utf-8"), Loader=_Loader)  # a safe loader, with OmegaConf's numbers
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise _Unusable(f"{file.name} cannot be read: {reason}", "name a YAML file, relative to the profile") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise _Unusable(f"{file.name} is no YAML{where}", "correct it") from None
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise _Unusable(f"{file.name} is no mapping", "write NeMo RL's configuration: `policy:`, `grpo:` and so on")
    return data


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """`above` over `below`, mapping by mapping; one that is marked replaces, and stays marked."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(value, dict) and isinstance(under, dict) and not value.get(_MARK):
            merged[key] = _over(under, value)
        else:
            merged[key] = value
    return merged


def _marked(values: dict[str, Any], prefix: str = "") -> list[str]:
    found = []
    for key, value in values.items():
        if isinstance(value, dict):
            path = f"{prefix}{key}"
            found += [path] if value.get(_MARK) else _marked(value, f"{path}.")
    return found


def _without_marks(values: dict[str, Any]) -> dict[str, Any]:
    return {k: _without_marks(v) if isinstance(v, dict) else v for k, v in values.items() if k != _MARK}
