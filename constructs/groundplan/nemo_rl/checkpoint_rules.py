"""Conditions of checkpoints: the metric that they are kept by, their time, their format, and a run's start."""

from __future__ import annotations

import re
from collections.abc import Iterator

from findings import Problem, Severity
from groundplan.nemo_rl.conditions import Broken, Condition, Facts, broken, judged
from groundplan.nemo_rl.deadline import SAVE_BY, must_save_by
from groundplan.nemo_rl.places import place
from groundplan.nemo_rl.stated import shown
from groundplan.nemo_rl.training import Training, check

_C = "checkpointing"
_METRIC, _BY, _FORMAT = f"{_C}.metric_name", SAVE_BY, f"{_C}.model_save_format"
_SECOND = "policy.dtensor_cfg._v2"
_TIME = re.compile(r"(\d+):(\d+):(\d+):(\d+)")
#: What a validation of GRPO reports whatever the environment.
_VALIDATION = ("accuracy", "avg_length")


def _metric(facts: Facts) -> Broken | None:
    metric = facts.config.text(_METRIC)
    if not facts.on(f"{_C}.enabled") or not metric:
        return None
    kind, _, name = metric.partition(":")
    if kind not in ("train", "val") or not name:
        return broken(_METRIC, "it must begin with train: or val:", f"set `{_METRIC}: val:accuracy`")
    if kind == "train" or name in _VALIDATION or "/" in name or facts.gym or _own_environment(facts):
        return None
    reason = f"a validation reports {' and '.join(_VALIDATION)}, and no {name}"
    return broken(_METRIC, reason, f"set `{_METRIC}: val:accuracy`")


def _own_environment(facts: Facts) -> bool:
    """Whether another environment than NeMo RL's own of mathematics is there, which may report metrics of its own."""
    groups = {path.split(".")[1] for path in facts.config.values if path.startswith("env.")}
    return bool(groups - {"math", "dapo"})


def _no_validation(facts: Facts) -> Broken | None:
    if not facts.on(f"{_C}.enabled") or not facts.config.text(_METRIC).startswith("val:"):
        return None
    if facts.gym or facts.number("checkpointing.keep_top_k") is None:  # no order, or one that the rollouts report
        return None
    validates = facts.on("grpo.val_at_start") or (facts.on("grpo.val_at_end") and facts.since("v0.6.0"))
    if validates or (facts.number("grpo.val_period") or 0) > 0:
        return None
    reason = "there is no validation, so that every checkpoint counts as the worst"
    return broken(f"{_METRIC} grpo.val_period", reason, f"set `{_METRIC}: null`, or `grpo.val_period: 10`")


def _kept(facts: Facts) -> Broken | None:
    key = f"{_C}.keep_top_k"
    kept = facts.number(key)
    if kept is None or kept >= 1 or not facts.on(f"{_C}.enabled"):
        return None
    return broken(key, "no number of checkpoints to keep, and nothing checks it", f"set `{key}: 3`")


def _save_by(facts: Facts) -> Broken | None:
    value = facts.get(_BY)
    if value is None or not facts.on(f"{_C}.enabled") or _TIME.fullmatch(str(value)):
        return None
    return broken(_BY, "it must be DD:HH:MM:SS, days first", f'set `{_BY}: "00:03:45:00"`, or `{_BY}: null`')


def _save_format(facts: Facts) -> Broken | None:
    value = facts.get(_FORMAT)
    if not facts.on(f"{_C}.enabled") or facts.on(_SECOND) or value is None:
        return None
    reason = f"{_SECOND} is {str(facts.get(_SECOND, 'not set')).lower()}, and its worker takes null alone"
    return broken(f"{_FORMAT} {_SECOND}", reason, f"set `{_FORMAT}: null`, or `{_SECOND}: true`")


def _start(facts: Facts) -> Broken | None:
    for group in ("policy.pretrained_checkpoint", f"{_C}.pretrained_checkpoint"):
        if facts.megatron and facts.config.has(group) and not facts.config.text(f"{group}.path"):
            whole = facts.config.text(group)
            if not whole:
                return broken(
                    f"{group}.path {group}", "it names the folder to start from", "name a folder of the shared volume"
                )
    return None


CHECKPOINTS = (
    Condition("J1", _metric),
    Condition("J2", _no_validation, sure=False),
    Condition("J3", _kept),
    Condition("J4", _save_by),
    Condition("J5", _save_format),
    Condition("J7", _start),
)


@check("checkpoint-options")
def checkpoint_options(training: Training) -> Iterator[Problem]:
    """Checkpoints are kept by a metric that exists, and saved in a form and at a time that NeMo RL takes.

    Most of it stops the job at its first save, when save_period steps have been done.

    Source: NVIDIA-NeMo/RL, at the line and the release that the finding names; conditions J1 to J7 of
    docs/nemo-rl-conditions.md.

    Mend: set the key that the finding names.
    """
    yield from judged(training, CHECKPOINTS)


@check("first-worker", Severity.WARNING)
def first_worker(training: Training) -> Iterator[Problem]:
    """DTensor's first worker, `policy.dtensor_cfg._v2: false`, goes: from v0.8.0 on it may be refused.

    Upstream refuses it at set-up and has deleted it; whether v0.8.0 is without it is not confirmed. The second worker
    wants `_v2` written out, and a format of its checkpoints.

    Source: NVIDIA-NeMo/RL PR 4196, 4207 and 4198 (merged in September 2026).

    Mend: set `policy.dtensor_cfg._v2: true` and `checkpointing.model_save_format: safetensors`.
    """
    facts = Facts(training)
    if not training.release.since("v0.8.0") or not facts.dtensor or facts.second:
        return
    now, version = shown(facts.get(_SECOND)), training.release.version
    message = f"`{_SECOND}` is {now}, which NeMo RL {version} may refuse at set-up (PR 4207; not confirmed of it)"
    hint = f"set `{_SECOND}: true` and `{_FORMAT}: safetensors`"
    yield Problem(place(training, _SECOND, "policy.dtensor_cfg.enabled"), message, hint)


@check("checkpoint-deadline", Severity.WARNING)
def checkpoint_deadline(training: Training) -> Iterator[Problem]:
    """The last checkpoint is saved before the job's deadline.

    At the end of the first step after that time NeMo RL saves and ends the training, as a success. Its clock starts
    with the training loop, the deadline's when the job is submitted; a job that is ended between two saves loses up to
    save_period steps.

    Source: NVIDIA-NeMo/RL v0.7.0, nemo_rl/utils/timer.py line 260; KubeRay API reference, activeDeadlineSeconds.

    Mend: set `checkpointing.checkpoint_must_save_by` well before the deadline, or a later `workload.deadline_hours`.
    """
    found = _TIME.fullmatch(training.config.text(_BY))
    if not found or not training.deadline_hours or not training.config.on(f"{_C}.enabled"):
        return
    days, hours, minutes, _ = (int(part) for part in found.groups())
    if (days * 24 + hours) * 60 + minutes < training.deadline_hours * 60:
        return
    ends = f"the job ends after workload.deadline_hours {training.deadline_hours}"
    message = f"`{_BY}` is {training.config.text(_BY)}, and {ends}"
    hint = f'set `{_BY}: "{must_save_by(training.deadline_hours)}"`'
    yield Problem(place(training, _BY), message, hint)
