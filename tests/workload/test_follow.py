"""Hints that are tried before they are given."""

from __future__ import annotations

from typing import Any

import pytest

from findings import Problem
from groundplan.nemo_rl.follow import errors, followed, settings, settled
from groundplan.nemo_rl.training import Training
from groundplan.workload.training_rules import training_of
from workload.jobs import findings, site

MEGATRON = "grpo-llama3.1-8b-megatron"
M = "policy.megatron_cfg"


def training(overrides: dict[str, Any], recipe: str = MEGATRON, **workload: Any) -> Training:
    job = site("b200", workload={"recipe": recipe, "overrides": overrides, **workload}).job
    assert job is not None
    return training_of(job)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("set `a.b: 1` and `++c.d: null`", {"a.b": 1, "c.d": None}),
        ("set `a.b: [x, 1]`, or leave it out", {"a.b": ["x", 1]}),
        ("use `workload.nodes: 2`", {"workload.nodes": 2}),
        ("write `a.b`", {}),
        ("set `a.b: [`", {}),
        ("", {}),
    ],
)
def test_settings_of_a_hint(text: str, wanted: dict[str, Any]) -> None:
    assert settings(text) == wanted


def test_a_copy_is_changed_and_not_the_training() -> None:
    before = training({"~grpo.val_period": None, "policy.precision": "float16"})
    after = followed(before, {"grpo.val_period": 5, "policy.precision": "bfloat16", "mine.new": 1})
    assert (after.config.get("grpo.val_period"), before.config.get("grpo.val_period")) == (5, None)
    assert after.overrides == {"grpo.val_period": 5, "policy.precision": "bfloat16", "++mine.new": 1}
    assert before.overrides == {"~grpo.val_period": None, "policy.precision": "float16"}


def test_what_a_way_lacks_is_added() -> None:
    """Context parallel needs packing, and packing then needs padding that divides."""
    found = [
        f for f in findings(site(workload={"recipe": MEGATRON, "overrides": _UNPACKED})) if f.rule != "gated-model"
    ]
    (hint,) = [f.hint for f in found if f.rule == "sequence-batching"]
    packing = "`policy.sequence_packing.enabled: true` and `policy.make_sequence_length_divisible_by: 4`"
    assert hint == f"set {packing}, or `{M}.context_parallel_size: 1`"


_UNPACKED = {
    f"{M}.context_parallel_size": 2,
    "policy.sequence_packing.enabled": False,
    "policy.logprob_batch_size": 1,
}


def test_a_way_that_leads_to_another_error_is_left_out() -> None:
    wrong = training({"loss_fn.ratio_clip_c": 1})
    problem = Problem(("workload",), "m", "set `loss_fn.ratio_clip_c: 0.5`, or `loss_fn.ratio_clip_c: 3`")
    assert settled(wrong, "loss-options", problem).hint == "set `loss_fn.ratio_clip_c: 3`"
    short = Problem(("workload",), "m", "set `loss_fn.ratio_clip_c: 0.5`")
    assert settled(wrong, "loss-options", short).hint == "set `loss_fn.ratio_clip_c: 3`", "what the error then says"
    words = Problem(("workload",), "m", "ask a friend")
    assert settled(wrong, "loss-options", words) == words


def test_keys_that_the_release_lacks_are_written_with_a_plus() -> None:
    wrong = training({"loss_fn.ratio_clip_c": 1})
    problem = Problem(("workload",), "m", "set `loss_fn.ratio_clip_c: 3` and `mine.new: 1`")
    assert settled(wrong, "loss-options", problem).hint == "set `loss_fn.ratio_clip_c: 3` and `++mine.new: 1`"


def test_the_errors_of_a_training_are_those_of_the_site() -> None:
    overrides = {"loss_fn.ratio_clip_c": 1, "policy.train_global_batch_size": 7}
    of = site("b200", workload={"recipe": MEGATRON, "overrides": overrides})
    assert (
        {rule for rule, _ in errors(training(overrides))}
        == {f.rule for f in findings(of) if f.severity == "error"}
        == {"loss-options", "batch-size"}
    )
