"""What a profile may ignore."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from importlib import import_module

from findings import RULES, Problem, rule
from findings.redaction import mask_secrets
from groundplan.site.resolve import Site


@rule("ignore-unknown")
def ignore_unknown(site: Site) -> Iterator[Problem]:
    """The profile ignores a rule that there is not.

    A misspelt rule would be believed ignored, and a rule that was renamed would come back unseen. What makes a profile
    unreadable (unknown keys, wrong types, literal secrets) is no rule and cannot be ignored.

    Mend: a rule of `groundplan rules`, of profiles or of plans.
    """
    unknown = [entry.rule for entry in site.profile.ignore if entry.rule not in RULES]
    # Rules of plans stand in the review, above this module; they are looked up by name, and only when one is named.
    of_plans = import_module("groundplan.on_plans.assess").PLAN_RULES if unknown else {}
    for index, entry in enumerate(site.profile.ignore):
        if entry.rule not in {**RULES, **of_plans} or entry.rule == "ignore-unknown":
            near = difflib.get_close_matches(entry.rule, [*RULES, *of_plans], n=1, cutoff=0.5)
            hint = f"did you mean `{near[0]}`?" if near else "`groundplan rules` lists them"
            yield Problem(
                ("ignore", index, "rule"),
                f"`ignore` names {mask_secrets(entry.rule)}, which is no rule that can be ignored",
                hint,
            )
