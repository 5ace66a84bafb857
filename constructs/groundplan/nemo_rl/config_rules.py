"""Rules of the configuration itself: the keys exist in the release, the values are of their type, Hydra takes them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from findings import Problem, Severity
from groundplan.catalog import shipped
from groundplan.nemo_rl.config import is_open
from groundplan.nemo_rl.hydra import is_sweep, unwritable_keys
from groundplan.nemo_rl.places import CONFIG, written
from groundplan.nemo_rl.training import Training, check

_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
_PREFIXES = ("", "+", "++", "~")


@check("config-key")
def config_key(training: Training) -> Iterator[Problem]:
    """An override must name a key that the release's configuration has.

    NeMo RL's configuration is a Hydra struct: an unknown key stops the job at its start, after the nodes have come up.
    A key that is new on purpose is written with a plus, ``+policy.generation.some_key``. Groups such as vllm_kwargs
    take any. For a release whose keys are not confirmed (v0.8.0) it is a warning, and what groundplan sets itself is
    written ``++``, which sets a key or adds it. A file of your own may hold any key; one of an older release, or a
    letter amiss, leaves the default in force, and is a warning.

    Source: NVIDIA-NeMo/RL, examples/configs/grpo_math_1B.yaml at the release's tag (the keys) and
    nemo_rl/utils/config.py (the overrides, which Hydra applies to a struct); Hydra documentation, "Basic Override
    syntax".

    Mend: write the key as the release has it; the finding names the nearest, or where the key has moved to.
    """
    yield from _unread(training)
    known, unsure = known_keys(training), training.release.unconfirmed
    known |= {path: value for path, value in training.file.items() if known and path not in known}
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
        if unsure and prefix in ("", "+", "~") and (leaf or group) == (prefix == "+"):
            if prefix == "" and (is_open(path, known) or _under_nothing(path, known)):
                continue
            message = f"`{prefix}{path}`: the keys of NeMo RL {version} are not confirmed"
            has = f"{training.release.keys_of or version} has {'this key' if prefix == '+' else 'no such key'}"
            hint = f"write `++{path}`, which sets it either way" if prefix != "~" else "leave it out, or set it to null"
            yield Problem(place, f"{message}, and {has}", hint, Severity.WARNING)
        elif prefix == "+" and (leaf or group):
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


def _unread(training: Training) -> Iterator[Problem]:
    """Keys of the user's own file that the release does not read, by all appearances: of an older one, or misspelt."""
    known, version = known_keys(training), training.release.version
    moved: dict[str, str] = shipped("nemo_rl").get("moved", {})
    for path in training.file:
        if not known or path in known or any(key.startswith(path + ".") for key in known):
            continue
        if path in moved:
            message = f"`{path}` in {training.file_name} is no key of NeMo RL {version}, and is not read"
            yield Problem(CONFIG, message, moved[path], Severity.WARNING)
        elif not is_open(path, known) and (near := _beside(path, known, training.file)):
            message = f"`{path}` in {training.file_name} is no key of NeMo RL {version}"
            yield Problem(CONFIG, message, f"did you mean `{near}`?", Severity.WARNING)


def _beside(path: str, known: dict[str, Any], file: Mapping[str, Any]) -> str:
    """The known key of the same group that is a letter or two away, and that the file does not set."""
    group = path.rpartition(".")[0]
    others = [key for key in known if key.rpartition(".")[0] == group and key not in file]
    return next(iter(difflib.get_close_matches(path, others, n=1, cutoff=0.93)), "")


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


def known_keys(training: Training) -> dict[str, Any]:
    """Every leaf of the base config and of the recipe's file, with its value; empty when the release has no file.

    What a user's own file sets is no default, and is left out.
    """
    keys = training.release.keys
    return {**keys, **({} if training.file_name else training.recipe.sets)} if keys else {}


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
