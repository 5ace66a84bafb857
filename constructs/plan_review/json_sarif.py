"""The report for programs: JSON, and SARIF 2.1.0 for code scanning."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from findings import Severity
from plan_review import report
from plan_review.assess import Assessment
from plan_review.judgement import PLAN_RULES, Notice, PlanRule
from plan_review.model import QUIET, Plan

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_json(result: Assessment) -> str:
    """One object; `schema` grows when its shape changes. Values are shown as in the other formats: masked and cut."""
    document = {
        "schema": 1,
        result.provenance.tool: result.provenance.version,
        "verdict": str(result.verdict),
        "headline": report.headline(result),
        "actions": {str(action): amount for action, amount in sorted(result.counts.items())},
        "findings": [_finding(each) for each in result.notices],
        **result.supplement.data(),
        "stacks": [_stack(plan) for plan in result.plans],
        "made_from": dict(report.provenance(result)),
        "caveats": report.caveats(result),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _finding(notice: Notice) -> dict[str, Any]:
    return {
        "rule": notice.rule,
        "severity": str(notice.severity),
        "category": str(notice.category),
        "stack": notice.stack,
        "address": notice.address,
        "message": notice.message,
        "consequence": notice.consequence,
        "hint": notice.hint,
        "standing": notice.standing,
        "ignored": notice.ignored or None,
    }


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
    """Findings as results; those that are ignored or were so before are suppressed."""
    rules = {**PLAN_RULES, **{each.slug: each for each in policies}}
    slugs = list(rules)
    files = {plan.stack: plan.file for plan in result.plans}
    driver = {
        "name": result.provenance.tool,
        "version": result.provenance.version,
        "rules": [_rule(r) for r in rules.values()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, slugs.index(each.rule), files) for each in result.notices],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(rule: PlanRule) -> dict[str, Any]:
    return {
        "id": rule.slug,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.documentation},
        "help": {"text": rule.documentation},
        "defaultConfiguration": {"level": str(rule.severity)},
        "properties": {"tags": ["plan", str(rule.category)]},
    }


def _result(notice: Notice, index: int, files: dict[str, str]) -> dict[str, Any]:
    text = ". ".join(filter(None, (notice.finding.message, notice.hint)))
    uri = quote(PurePath(files.get(notice.stack) or "plan.json").as_posix())
    result: dict[str, Any] = {
        "ruleId": notice.rule,
        "ruleIndex": index,
        "level": "error" if notice.severity is Severity.ERROR else "warning",
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}},
                "logicalLocations": [{"fullyQualifiedName": notice.address or notice.stack}],
            }
        ],
        "partialFingerprints": {"ruleAndResource/v1": f"{notice.rule}:{notice.stack}:{notice.address}"},
    }
    if notice.ignored:
        result["suppressions"] = [{"kind": "inSource", "justification": notice.ignored}]
    elif notice.standing:
        result["suppressions"] = [{"kind": "external", "justification": "it was so before the plan"}]
    return result
