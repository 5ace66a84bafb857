"""Conditions of batches: what a step, a validation and the data loader divide."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem
from groundplan.nemo_rl.conditions import Broken, Condition, Facts, broken, divisor, judged
from groundplan.nemo_rl.run_rules import GSM8K_ROWS
from groundplan.nemo_rl.stated import setting
from groundplan.nemo_rl.training import Training, check

_LOGPROB, _MICRO, _BATCH = (
    "policy.logprob_batch_size",
    "policy.train_micro_batch_size",
    "policy.train_global_batch_size",
)
_PROMPTS, _MULTIPLIER = "grpo.num_prompts_per_step", "grpo.batch_multiplier"
_RATIO = "loss_fn.force_on_policy_ratio"


def _logprob_batches(facts: Facts) -> Broken | None:
    shape = facts.shape
    if facts.batched or not shape.data_parallel or shape.samples % shape.data_parallel:
        return None
    share = shape.samples // shape.data_parallel
    if share % shape.logprob_batch == 0:
        return None
    reason = f"it does not divide a copy's {shape.samples} samples / data parallel {shape.data_parallel} = {share}"
    size = divisor(shape.logprob_batch, share)
    if shape.tp < 4 or shape.logprob_batch != shape.micro_batch:
        return broken(_LOGPROB, reason, f"set `{_LOGPROB}: {size}`")
    size = next(n for n in range(size, 0, -1) if share % n == 0 and shape.global_batch // shape.data_parallel % n == 0)
    return broken(_LOGPROB, reason, f"set `{_LOGPROB}: {size}` and `{_MICRO}: {size}`")


def _one_batch(facts: Facts) -> Broken | None:
    shape = facts.shape
    if not facts.on(_RATIO) or shape.samples == shape.global_batch:
        return None
    product = f"{shape.prompts} prompts x {shape.generations} generations = {shape.samples}"
    mend = f"set `{_BATCH}: {shape.samples}`, or `{_RATIO}: false`"
    if shape.tp >= 4 and shape.micro_batch != shape.logprob_batch:  # the ratio is what lets the two be unequal
        mend = f"set `{_BATCH}: {shape.samples}`"
    reason = f"it needs one batch a step, and {product} is not train_global_batch_size {shape.global_batch}"
    return broken(f"{_RATIO} {_BATCH} {_PROMPTS}", reason, mend)


def _loaders(facts: Facts) -> Broken | None:
    key = "data.num_prompts_per_dataloader"
    each = facts.number(key)
    if not facts.on("data.use_multiple_dataloader") or each is None or each < 1:
        return None
    prompts = _batch(facts)
    if prompts % int(each) == 0:
        return None
    return broken(
        key, f"it does not divide the {prompts} prompts of a step", f"set `{key}: {divisor(int(each), prompts)}`"
    )


def _generation_batches(facts: Facts) -> Broken | None:
    key = "grpo.dynamic_sampling_max_gen_batches"
    most = facts.number(key)
    if not facts.on("grpo.use_dynamic_sampling") or most is None or most > 0:
        return None
    return broken(key, "dynamic sampling may not generate a single batch", f"set `{key}: 10`")


def _rows(facts: Facts) -> Broken | None:
    by_name = facts.config.text("data.train.dataset_name").lower() == "gsm8k"
    recipe = facts.training.recipe.dataset == "gsm8k"
    if not (by_name or recipe) or _batch(facts) <= GSM8K_ROWS or (recipe and facts.shape.prompts > GSM8K_ROWS):
        return None  # the last is rule `sampling`'s
    most = int(GSM8K_ROWS // (_batch(facts) / facts.shape.prompts))
    reason = (
        f"the loader's batch of {_batch(facts)} prompts is more than the {GSM8K_ROWS} rows of GSM8K, so that not one"
    )
    return broken(f"{_PROMPTS} {_MULTIPLIER}", f"{reason} step is done", f"set {setting(_PROMPTS, most)}, or fewer")


def _validation(facts: Facts) -> Broken | None:
    most, batch = "grpo.max_val_samples", "grpo.val_batch_size"
    period = facts.number("grpo.val_period") or 0
    if facts.gym or not (
        period > 0 or facts.on("grpo.val_at_start") or (facts.on("grpo.val_at_end") and facts.since("v0.6.0"))
    ):
        return None
    samples, size = facts.number(most), facts.number(batch)
    if samples is None or size is None:
        key = most if samples is None else batch
        return broken(key, "a validation divides by it, and null fails there", f"set `{key}: 256`")
    if samples >= size:
        return None
    reason = f"below {batch} {size}, so that a validation has no batch, and accuracy is 0.0 without a word"
    return broken(f"{most} {batch}", reason, f"set `{batch}: {samples}`")


def _batch(facts: Facts) -> int:
    """Prompts that the loader gives at once."""
    return int(facts.shape.prompts * (facts.number(_MULTIPLIER) or 1))


BATCHES = (
    Condition("A5", _logprob_batches),
    Condition("A7", _one_batch),
    Condition("A10", _loaders),
    Condition("A11", _generation_batches),
    Condition("A12", _rows),
    Condition("I2", _validation),
)


@check("step-batches")
def step_batches(training: Training) -> Iterator[Problem]:
    """A step's samples, its log-prob batches, its loaders and a validation divide as NeMo RL counts them.

    Some are asserted, at the start or in the first step; others go wrong in silence: a validation of fewer samples than
    its batch reports an accuracy of 0.0, and a data set of fewer rows than a step's prompts trains no step at all.

    Source: NVIDIA-NeMo/RL, at the line and the release that the finding names; conditions A5, A7, A10 to A12 and I2 of
    docs/nemo-rl-conditions.md.

    Mend: use the number that the finding names.
    """
    yield from judged(training, BATCHES)
