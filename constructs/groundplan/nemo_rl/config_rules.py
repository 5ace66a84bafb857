"""Rules of the configuration itself: the keys exist in the release, the values are of their type, Hydra takes them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any

from findings import Problem
from groundplan.catalog import shipped
from groundplan.nemo_rl.config import Config, is_open
from groundplan.nemo_rl.hydra import is_sweep, unwritable_keys
from groundplan.nemo_rl.places import written
from groundplan.nemo_rl.training import Training, check

_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
_PREFIXES = ("", "+", "++", "~")


@check("config-key")
def config_key(training: Training) -> Iterator[Problem]:
    """An override must name a key that the release's configuration has.

    NeMo RL's configuration is a Hydra struct: an unknown key stops the job at its start, after the nodes have come up.
    A key that is new on purpose is written with a plus, ``+policy.generation.some_key``. Groups such as vllm_kwargs
    take any.

    Source: NVIDIA-NeMo/RL, examples/configs/grpo_math_1B.yaml at the release's tag (the keys) and
    nemo_rl/utils/config.py (the overrides, which Hydra applies to a struct); Hydra documentation, "Basic Override
    syntax".

    Mend: write the key as the release has it; the finding names the nearest, or where the key has moved to.
    """
    known = _known(training)
    for path, (place, prefix, value) in written(training.overrides).items():
        if not _PATH.fullmatch(path) or prefix not in _PREFIXES:
            message = f"override `{prefix}{path}` is no configuration path"
            yield Problem(place, message, "write a dotted path such as grpo.max_num_steps")
            continue
        if prefix != "~" and (keys := unwritable_keys(value)):
            names = ", ".join(f"`{key}`" for key in keys)
            message = f"`{path}` holds a mapping with the key {names}, which Hydra takes in no form"
            yield Problem(place, message, "use keys of letters, digits, underscores, hyphens and dots")
        if not known:
            continue  # a release of the user's own, without a keys file
        leaf, group = path in known, any(k.startswith(path + ".") for k in known)
        version = training.release.version
        if prefix == "+" and (leaf or group):
            yield Problem(
                place, f"`+{path}`: NeMo RL {version} has this key already", f"write `{path}`, without the plus"
            )
        elif prefix == "~" and not (leaf or group):
            yield Problem(place, f"`~{path}`: NeMo RL {version} has no such key", nearest(path, known))
        elif prefix == "" and not (leaf or group or is_open(path, known) or _under_nothing(path, known)):
            yield Problem(place, f"`{path}` is no configuration key of NeMo RL {version}", _key_hint(path, known))
        elif prefix == "" and group and not leaf and value == {}:
            yield Problem(
                place, f"`{path}` is an empty mapping, which changes nothing", "leave it out, or set it to null"
            )


@check("config-type")
def config_type(training: Training) -> Iterator[Problem]:
    """An override must be of the type that its key has: a number where NeMo RL counts, text where it reads text.

    Source: NVIDIA-NeMo/RL, the defaults of examples/configs/grpo_math_1B.yaml at the release's tag. v0.7.0 refuses a
    wrong type itself (`MasterConfig`, nemo_rl/algorithms/grpo.py line 236); before it shows where the value is used.

    Mend: write a value of the type that the finding names.
    """
    known = _known(training)
    defaults = Config(known)
    for path, (place, prefix, value) in written(training.overrides).items():
        if is_sweep(value) or prefix == "~":
            continue
        if path in known:
            wanted = wanted_type(path, defaults.get(path, known[path]))
        elif any(k.startswith(path + ".") for k in known) and not is_open(path, known):
            wanted = "a group of keys, or null"
        else:
            continue
        if wanted and not fits(wanted, value):
            shown = f"`{value}`" if not isinstance(value, dict) else "a mapping"
            hint = "a sweep over several values is not taken" if _several(value) else f"write {wanted}"
            yield Problem(place, f"`{path}` is {shown} and must be {wanted}", hint)


@check("config-sweep")
def config_sweep(training: Training) -> Iterator[Problem]:
    """Hydra's sweep functions, ``choice(1,2)`` or ``range(1,9)``, are refused: one job is one training.

    Source: Hydra documentation, "Extended Override syntax", sweeps; that one job is one training is groundplan's own
    limit.

    Mend: give one value, and make a profile for each training.
    """
    for path, (place, _, value) in written(training.overrides).items():
        if is_sweep(value):
            yield Problem(place, f"`{path}`: `{value}` is a sweep", "give one value; make a profile for each training")


def wanted_type(path: str, default: Any) -> str:
    """What a value of the key must be, in words; empty when anything goes."""
    if isinstance(default, bool):
        return "true or false"
    if isinstance(default, int):
        return "a whole number" if _COUNTED.search(path) else "a number"
    if isinstance(default, float) or (isinstance(default, str) and _NUMBER.fullmatch(default)):
        return "a number"
    if isinstance(default, list):
        return "a list"
    if isinstance(default, str) and "${" not in default:
        return "text"
    return ""


def fits(wanted: str, value: Any) -> bool:
    """Whether `value` is of that kind; a reference such as ``${policy.precision}`` always is."""
    if isinstance(value, str) and "${" in value:
        return True
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match wanted:
        case "true or false":
            return isinstance(value, bool)
        case "a whole number":
            return number and isinstance(value, int)
        case "a number":
            return number
        case "a list":
            return isinstance(value, list) or value is None
        case "text":
            return isinstance(value, str)
        case _:
            return value is None or value == {}


#: Keys whose whole-number default means a count; others take fractions too (grpo.batch_multiplier).
_COUNTED = re.compile(
    r"(num_|size|period|steps|length|batch_size|nodes|gpus|tokens|epochs|seed|workers|turns|iters|dim)"
)
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")


def _several(value: Any) -> bool:
    return isinstance(value, str) and "," in value


def _known(training: Training) -> dict[str, Any]:
    keys = training.release.keys
    return {**keys, **training.recipe.sets} if keys else {}


def _under_nothing(path: str, known: dict[str, Any]) -> bool:
    """Below a key that is null or empty by default, where nothing is known of what belongs there."""
    parents = (path[:n] for n, letter in enumerate(path) if letter == ".")
    return any(known.get(parent, 0) in (None, {}) for parent in parents)


def _key_hint(path: str, known: dict[str, Any]) -> str:
    moved: dict[str, str] = shipped("nemo_rl").get("moved", {})
    if path in moved:
        return moved[path]
    groups = {k.rpartition(".")[0] for k in known}
    near = difflib.get_close_matches(path, [*known, *groups], n=1, cutoff=0.7)
    last = path.rpartition(".")[2]
    elsewhere = [k for k in known if k.rpartition(".")[2] == last]
    best = near[0] if near else elsewhere[0] if elsewhere else ""
    add = f"write `+{path}` if it is a new key on purpose"
    return f"did you mean `{best}`? Or {add}" if best else add


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names the known word next to `name`, or the first few."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean `{near[0]}`?" if near else f"known: {', '.join(names[:12])}"
