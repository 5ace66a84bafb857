"""Rules on the plan as such: incomplete, in error, or of a kind that comes back with every run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from findings import Severity
from plan_review import display, values
from plan_review.differences import UNKNOWN, Pairs, walk
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import Action, Plan
from plan_review.values import Path


@plan_rule("plan-errored", Severity.ERROR, Category.INCOMPLETE)
def plan_errored(plans: Sequence[Plan]) -> Iterator[Breach]:
    """Terraform stopped with an error while it planned: what stands here is not everything.

    Source: Terraform documentation, "JSON output format", `errored`.

    Mend: see Terraform's own output for the error, and plan again.
    """
    for plan in plans:
        if plan.errored:
            message = f"Terraform stopped with an error while it planned {plan.stack}"
            yield Breach(plan.stack, "", message, "mend the error and plan again", "the plan is not complete")


@plan_rule("plan-incomplete", Severity.WARNING, Category.INCOMPLETE)
def plan_incomplete(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A plan leaves something out: made with -target, or with deferred changes.

    Source: Terraform documentation, "JSON output format", `complete`, and `terraform plan`, "Resource targeting".

    Mend: plan again without -target.
    """
    for plan in plans:
        if not plan.complete and not plan.errored:
            message = f"the plan of {plan.stack} is not complete (-target, or deferred changes)"
            yield Breach(plan.stack, "", message, "plan again without -target", "more changes will follow")


@plan_rule("perpetual-diff", Severity.WARNING, Category.DISTURB)
def perpetual_diff(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A change that is none in meaning: another order, notation or empty value. It would come back with every plan.

    Source: groundplan's own comparison of before and after, from what plans of the google provider show: null and [], a
    path and its full link, another order.

    Mend: write the value as the API gives it back; each report shows both.
    """
    for plan in plans:
        for change in plan.changes:
            if change.action is not Action.UPDATE:
                continue
            pairs = list(walk(change.before, change.after, _one_block, unknown=change.unknown))
            if pairs and all(new is not UNKNOWN and _alike(path, old, new) for path, old, new in pairs):
                path, old, new = pairs[0]
                yield Breach(
                    change.stack,
                    change.address,
                    f"{change.address} changes in notation alone: "
                    f"{values.dotted(path)} {display.show(old, width=60)} -> {display.show(new, width=60)}",
                    "write the value as the API gives it back",
                    "it is likely to come back with every plan",
                    arguments=("*",),
                )


def _one_block(old: list[Any], new: list[Any]) -> Pairs | None:
    """Lists of one object are blocks; all others, texts among them, are compared as a whole."""
    if len(old) == len(new) == 1 and isinstance(old[0], dict) and isinstance(new[0], dict):
        return [(0, old[0], new[0])]
    return None


#: Arguments whose letters count: another case is another value.
_LITERAL = re.compile(r"label|tag|annotation|name|data|key|path|prefix|value|password|description")


def _alike(path: Path, old: Any, new: Any) -> bool:
    if isinstance(old, str) and isinstance(new, str) and any(_LITERAL.search(str(step)) for step in path):
        return _plain(old, fold=False) == _plain(new, fold=False)
    return _same_meaning(old, new)


def _same_meaning(old: Any, new: Any) -> bool:
    if isinstance(old, list) and isinstance(new, list) and old and new:
        return len(old) == len(new) and sorted(map(repr, old)) == sorted(map(repr, new))
    if _empty(old) and _empty(new):
        return True
    if isinstance(old, bool) or isinstance(new, bool):
        return str(old).lower() == str(new).lower()
    if (isinstance(old, int | float) and isinstance(new, str)) or (
        isinstance(old, str) and isinstance(new, int | float)
    ):
        return str(old) == str(new)
    return isinstance(old, str) and isinstance(new, str) and _plain(old) == _plain(new)


def _empty(value: Any) -> bool:
    return value is None or value == "" or value == [] or value == {}


def _plain(text: str, fold: bool = True) -> str:
    """Links without their host, times without fractions, letters without case, space collapsed."""
    text = re.sub(r"^https://(www|compute|container)\.googleapis\.com/(compute/)?(v1|beta|v1beta1)/", "", text)
    text = re.sub(r"(T\d\d:\d\d:\d\d)\.0+Z$", r"\1Z", text)
    return " ".join(text.split()).lower() if fold else text
