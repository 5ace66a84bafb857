"""Hints that are tried before they are given: what one says, when it is done, leads to no other error.

A hint names settings in backticks, ``set `a.b: 1` and `c: true`, or `d: null```: ``and`` joins what goes together,
``or`` parts the ways. Each way is done on a copy of the training, which all rules then judge. What it still lacks is
added from the hints of the errors that it brought; a way that leads to none is left out while another does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import yaml

from findings import Problem, Severity
from groundplan.nemo_rl.config import Config, Draft
from groundplan.nemo_rl.config_rules import known_keys
from groundplan.nemo_rl.places import written
from groundplan.nemo_rl.stated import yaml_text
from groundplan.nemo_rl.training import CHECKS, Training

#: A setting of the configuration in a hint.
_SETTING = re.compile(r"`\+*([a-z_]\w*(?:\.\w+)+): ([^`]+)`")
_WAYS = re.compile(r",? or (?=`|set )")
#: Keys of a profile, which are not tried here.
_OF_THE_PROFILE = ("workload.", "platform.", "gpu.", "secrets.", "cluster.cpu_pool.")
#: So many further settings are added to a way at most.
_STEPS = 4

#: A way: key -> value.
Way = dict[str, Any]


def settled(training: Training, slug: str, problem: Problem) -> Problem:
    """The problem of rule `slug` with a hint that holds, as far as it names settings."""
    hint = problem.hint
    parts = _WAYS.split(hint)
    ways = [settings(part) for part in parts]
    if not any(ways) or any(key.startswith(_OF_THE_PROFILE) for way in ways for key in way):
        return replace(problem, hint=_spelled(training, hint))
    tried = [_completed(training, slug, way) if way else None for way in ways]
    if any(tried) and tried != ways:
        told = list(dict.fromkeys(_text(done) for done in tried if done))
        free = [part for part, way in zip(parts, ways, strict=True) if not way and part.strip()]
        hint = ", or ".join([f"set {told[0]}", *told[1:], *free])
    return replace(problem, hint=_spelled(training, hint))


def settings(text: str) -> Way:
    """The settings that a hint, or a part of one, names; none when a value of the user's own in it is no YAML."""
    try:
        return {path: yaml.safe_load(value) for path, value in _SETTING.findall(text)}
    except yaml.YAMLError:
        return {}


def followed(training: Training, way: Way) -> Training:
    """The training with these settings over its configuration."""
    draft = Draft(dict(training.config.values))
    own = {f"{prefix}{path}": (path, value) for path, (_, prefix, value) in written(training.overrides).items()}
    known = known_keys(training)
    for key, value in way.items():
        draft.set(key, value, "hint")
        own = {spelled: (path, old) for spelled, (path, old) in own.items() if not _covers(key, path)}
        own[key if key in known else f"++{key}"] = (key, value)
    overrides = {spelled: value for spelled, (_, value) in own.items()}
    return replace(training, config=Config(draft.values), overrides=overrides)


def errors(training: Training) -> Iterator[tuple[str, Problem]]:
    """Rule and problem of each error of the training, hints untried."""
    for check in CHECKS:
        for problem in check.run(training):
            if (problem.severity or check.severity) is Severity.ERROR:
                yield check.slug, problem


def _completed(training: Training, slug: str, way: Way) -> Way | None:
    """The way with what it needs besides, so that nothing is wrong that was not before; None when there is none."""
    before = Counter(rule for rule, _ in errors(training))
    done = dict(way)
    for _ in range(_STEPS):
        found = list(errors(followed(training, done)))
        after = Counter(rule for rule, _ in found)
        fewer = after[slug] < before[slug]
        new = [problem for rule, problem in found if after[rule] > before[rule] or (rule == slug and not fewer)]
        if not new:
            return done
        hints = (settings(part) for problem in new for part in _WAYS.split(problem.hint))
        more = next((way for way in hints if way and not _held(way, done)), None)
        if more is None or any(key.startswith(_OF_THE_PROFILE) for key in more):
            return None
        done |= more
    return None


def _held(way: Way, done: Way) -> bool:
    return all(key in done and done[key] == value for key, value in way.items())


def _covers(key: str, path: str) -> bool:
    return path == key or path.startswith(key + ".")


def _text(way: Way) -> str:
    return " and ".join(f"`{key}: {yaml_text(value)}`" for key, value in way.items())


def _spelled(training: Training, hint: str) -> str:
    """The hint with ``++`` before each key that the release's configuration does not have by itself."""
    known = known_keys(training)

    def spelled(found: re.Match[str]) -> str:
        path, value = found.groups()
        plain = not known or path in known or path.startswith(_OF_THE_PROFILE)
        return found.group(0) if plain else f"`++{path}: {value}`"

    return _SETTING.sub(spelled, hint)
