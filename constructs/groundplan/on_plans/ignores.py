"""What a profile may ignore."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from findings import RULES, Problem, rule
from findings.redaction import mask_secrets
from groundplan.site.resolve import Site

if TYPE_CHECKING:
    from plan_review.judgement import PlanRule


@rule("ignore-unknown")
def ignore_unknown(site: Site) -> Iterator[Problem]:
    """The profile ignores a rule that there is not.

    A misspelt rule would be believed ignored, and a rule that was renamed would come back unseen. What makes a profile
    unreadable (unknown keys, wrong types, literal secrets) is no rule and cannot be ignored.

    Source: groundplan's own limit: a rule that is ignored must be one that `groundplan rules` lists.

    Mend: a rule of `groundplan rules`, of profiles or of plans.
    """
    known: Mapping[str, object] = RULES.of_profiles
    if any(entry.rule not in known for entry in site.profile.ignore):
        known = {**known, **_plan_rules()}
    for index, entry in enumerate(site.profile.ignore):
        if entry.rule not in known or entry.rule == "ignore-unknown":
            near = difflib.get_close_matches(entry.rule, known, n=1, cutoff=0.5)
            hint = f"did you mean `{near[0]}`?" if near else "`groundplan rules` lists them"
            yield Problem(
                ("ignore", index, "rule"),
                f"`ignore` names {mask_secrets(entry.rule)}, which is no rule that can be ignored",
                hint,
            )


def _plan_rules() -> Mapping[str, PlanRule]:
    from groundplan.on_plans.assess import plan_rules  # a tenth of a second, which most checks need not wait for

    return plan_rules()
