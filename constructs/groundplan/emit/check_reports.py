"""Findings for programs: JSON, GitHub annotations, SARIF 2.1.0."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from findings import RULES, Finding, Rule, Severity, dotted
from groundplan import __version__
from groundplan.site.check import Checked

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_json(results: Sequence[Checked]) -> str:
    """One object: the profiles, a flat list of findings, and their counts. `schema` grows when the shape changes."""
    findings = [_json_finding(finding) for result in results for finding in result.findings]
    counted = [entry for entry in findings if entry["ignored"] is None]
    document = {
        "schema": 1,
        "groundplan": __version__,
        "profiles": [{"file": r.file, "site": r.site.name if r.site else None} for r in results],
        "findings": findings,
        "errors": sum(entry["severity"] == Severity.ERROR for entry in counted),
        "warnings": sum(entry["severity"] == Severity.WARNING for entry in counted),
        "ignored": len(findings) - len(counted),
    }
    return json.dumps(document, indent=2)


def _json_finding(finding: Finding) -> dict[str, Any]:
    place = finding.location
    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "message": finding.message,
        "hint": finding.hint,
        "path": dotted(finding.path),
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "ignored": finding.ignored or None,
    }


def as_github(results: Sequence[Checked]) -> str:
    """Workflow commands, which GitHub shows beside the line in the pull request; ignored findings become notices."""
    return "\n".join(_annotation(finding) for result in results for finding in result.findings)


def _annotation(finding: Finding) -> str:
    command = "notice" if finding.ignored else str(finding.severity)
    title = f"ignored: {finding.rule}" if finding.ignored else finding.rule
    body = finding.message + (f"\nignored: {finding.ignored}" if finding.ignored else f"\nhelp: {finding.hint}")
    properties = {"title": title}
    if finding.location:
        place = finding.location
        properties = {"file": place.file, "line": str(place.line), "col": str(place.column)} | properties
    written = ",".join(f"{key}={_escape(value, ':,')}" for key, value in properties.items())
    return f"::{command} {written}::{_escape(body)}"


def _escape(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def as_sarif(results: Sequence[Checked]) -> str:
    """SARIF 2.1.0 for code scanning: every rule with its documentation, ignored findings as suppressed results."""
    findings = [finding for result in results for finding in result.findings]
    slugs = list(dict.fromkeys([*RULES, *(finding.rule for finding in findings)]))
    driver = {
        "name": "groundplan",
        "version": __version__,
        "rules": [_sarif_rule(slug, RULES.get(slug)) for slug in slugs],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(finding, slugs.index(finding.rule)) for finding in findings],
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _sarif_rule(slug: str, entry: Rule | None) -> dict[str, Any]:
    if entry is None:  # what stops the reading of a profile
        return {"id": slug, "shortDescription": {"text": "The profile cannot be read as one."}}
    return {
        "id": slug,
        "shortDescription": {"text": entry.summary},
        "fullDescription": {"text": entry.documentation},
        "help": {"text": entry.documentation},
        "defaultConfiguration": {"level": str(entry.severity)},
        "properties": {"tags": [entry.topic]},
    }


def _sarif_result(finding: Finding, index: int) -> dict[str, Any]:
    text = f"{finding.message}. {finding.hint}" if finding.hint else finding.message
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": str(finding.severity),
        "message": {"text": text},
    }
    if finding.location:
        place = finding.location
        result["locations"] = [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(PurePath(place.file).as_posix())},
                    "region": {"startLine": place.line, "startColumn": place.column},
                },
                "logicalLocations": [{"fullyQualifiedName": finding.where}] if finding.where else [],
            }
        ]
        result["partialFingerprints"] = {"ruleAndPlace/v1": f"{finding.rule}:{finding.where}"}
    if finding.ignored:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.ignored}]
    return result
