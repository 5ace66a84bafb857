"""The report for programs: JSON, SARIF 2.1.0 for code scanning, annotations of a pull request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from findings import Finding, Location, writers
from plan_review import report
from plan_review.assess import Assessment, approval
from plan_review.drift import without_indices
from plan_review.judgement import PlanRule, plan_rules
from plan_review.model import QUIET, Plan


def as_json(result: Assessment) -> str:
    """One object; `schema` grows when its shape changes. Values are shown as in the other formats: masked and cut."""
    document: dict[str, Any] = {
        "schema": 1,
        result.provenance.tool: result.provenance.version,
        "verdict": str(result.verdict),
        "approval": signed.data() if (signed := approval(result)) else None,
        "headline": report.headline(result),
        "actions": {str(action): amount for action, amount in sorted(result.counts.items())},
        "findings": [writers.finding_data(each) for each in result.notices],
        **result.supplement.data(),
        "stacks": [_stack(plan) for plan in result.plans],
        "made_from": dict(report.provenance(result)),
        "accepted_without_effect": list(result.unused_acceptances),
        "safe_because": list(result.harmless),
        "not_looked_at": result.not_looked_at or None,
        "caveats": report.caveats(result),
    }
    return writers.as_json(document)


def _stack(plan: Plan) -> dict[str, Any]:
    return {
        "stack": plan.stack,
        "file": plan.file,
        "sha256": plan.digest,
        "simulated": plan.simulated,
        "byte_identical": plan.identical if plan.configuration else None,
        "unchanged": sum(each.action in QUIET for each in plan.changes),
        "changes": [
            {
                "address": row.address,
                "type": row.change.type,
                "action": str(row.change.action),
                "reason": row.change.reason or None,
                "differences": [
                    {"path": d.path, "old": d.old, "new": d.new, "forces": d.forces} for d in row.differences
                ],
            }
            for row in report.rows(plan)
        ],
    }


def as_sarif(result: Assessment, policies: tuple[PlanRule, ...] = ()) -> str:
    """SARIF for code scanning; `policies` are the user's own rules."""
    rules = {**plan_rules(), **{each.slug: each for each in policies}}
    return writers.as_sarif(result.provenance.tool, result.provenance.version, _placed(result), rules)


def as_github(result: Assessment) -> str:
    """Annotations of a pull request."""
    return writers.as_github(_placed(result))


def _placed(result: Assessment) -> list[Finding]:
    """The findings where a repository shows them: in the stack's cdk.tf.json or the profile, else at the plan's file.

    A plan's JSON is one line, and in no repository.
    """
    files = {plan.stack: _Place(plan, result.provenance.profile) for plan in result.plans}
    nowhere = _Place(Plan("", (), "plan.json"), result.provenance.profile)
    return [replace(each, location=files.get(each.stack, nowhere).of(each.address)) for each in result.notices]


class _Place:
    """Where the findings of a plan are shown."""

    def __init__(self, plan: Plan, profile: str) -> None:
        beside = Path(plan.file).parent
        candidates = [
            folder / "stacks" / plan.stack / "cdk.tf.json"
            for folder in (beside, Path("cdktf.out"), beside / "cdktf.out")
        ]
        found = next((each for each in candidates if plan.stack and each.is_file()), None)
        self.file = str(found) if found else profile or plan.file or "plan.json"
        self.lines = found.read_text("utf-8", "replace").splitlines() if found else []

    def of(self, address: str) -> Location:
        """The line at which the resource is written; the first where that is not known."""
        parts = without_indices(address.partition(" (")[0]).split(".")
        inside = False
        for number, line in enumerate(self.lines if len(parts) > 1 else (), 1):
            inside = inside or line.strip().startswith(f'"{parts[-2]}":')
            if inside and line.strip().startswith(f'"{parts[-1]}":'):
                return Location(self.file, number, len(line) - len(line.lstrip()) + 1)
        return Location(self.file, 1, 1)
