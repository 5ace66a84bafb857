"""Findings for programs: JSON, GitHub annotations, SARIF 2.1.0. One writer of each for every command.

Text for people is in :mod:`findings.text`. What a command adds (a verdict, the stacks) stands around what is written
here; a finding reads the same wherever it comes from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from findings import RULES, Finding, Rule, dotted

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_json(document: Mapping[str, Any]) -> str:
    """A report as JSON, with its line break; text of any language stays readable."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def finding_data(finding: Finding) -> dict[str, Any]:
    """One finding as data. What does not apply is null: a profile's has no stack, a plan's no path."""
    place = finding.location
    return {
        "rule": finding.rule,
        "severity": str(finding.severity),
        "category": finding.category or None,
        "message": finding.message,
        "consequence": finding.consequence or None,
        "hint": finding.hint,
        "path": dotted(finding.path),
        "stack": finding.stack or None,
        "address": finding.address or None,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "standing": finding.standing,
        "ignored": finding.ignored or None,
    }


def as_github(findings: Iterable[Finding]) -> str:
    """Workflow commands, which GitHub shows beside the line in the pull request; what does not count is a notice."""
    return "".join(f"{_annotation(finding)}\n" for finding in findings)


def _annotation(finding: Finding) -> str:
    passed = "ignored" if finding.ignored else "was so before" if finding.standing else ""
    body = finding.text + (f"\nignored: {finding.ignored}" if finding.ignored else f"\nhelp: {finding.hint}")
    properties = {"title": f"{passed}: {finding.rule}" if passed else finding.rule}
    if place := finding.location:
        properties = {"file": place.file, "line": str(place.line), "col": str(place.column)} | properties
    written = ",".join(f"{key}={_escape(value, ':,')}" for key, value in properties.items())
    return f"::{'notice' if passed else finding.severity} {written}::{_escape(body)}"


def _escape(text: str, more: str = "") -> str:
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def as_sarif(tool: str, version: str, findings: Sequence[Finding], rules: Mapping[str, Rule]) -> str:
    """SARIF 2.1.0 for code scanning: every rule with its page; what is ignored or was so before is suppressed."""
    slugs = list(dict.fromkeys([*rules, *(finding.rule for finding in findings)]))
    driver = {"name": tool, "version": version, "rules": [_sarif_rule(slug, rules.get(slug)) for slug in slugs]}
    results = [_sarif_result(finding, slugs.index(finding.rule)) for finding in findings]
    _tell_apart(results)
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return as_json({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]})


def _sarif_rule(slug: str, entry: Rule | None) -> dict[str, Any]:
    if entry is None:  # what stops the reading of a profile is no rule
        return {"id": slug, "shortDescription": {"text": "The input cannot be read as what it should be."}}
    return {
        "id": slug,
        "shortDescription": {"text": entry.summary},
        "fullDescription": {"text": entry.documentation},
        "help": {"text": entry.documentation},
        "defaultConfiguration": {"level": str(entry.severity)},
        "properties": {"tags": [str(entry.subject), entry.topic]},
    }


def _sarif_result(finding: Finding, index: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": str(finding.severity),
        "message": {"text": ". ".join(filter(None, (finding.text, finding.hint)))},
    }
    where = ":".join(filter(None, (finding.stack, finding.where)))
    if place := finding.location:
        region = {"startLine": place.line, "startColumn": place.column}
        artifact = {"uri": quote(PurePath(place.file).as_posix())}
        result["locations"] = [
            {
                "physicalLocation": {"artifactLocation": artifact, "region": region},
                "logicalLocations": [{"fullyQualifiedName": where}] if where else [],
            }
        ]
    result["partialFingerprints"] = {"ruleAndPlace/v1": f"{finding.rule}:{where}"}
    if finding.ignored:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.ignored}]
    elif finding.standing:
        result["suppressions"] = [{"kind": "external", "justification": "it was so before the plan"}]
    return result


def _tell_apart(results: Iterable[dict[str, Any]]) -> None:
    """Give each result a fingerprint of its own: a second finding of one rule at one place adds a hash of what it says.

    Code scanning takes results with one fingerprint for one.
    """
    seen: set[str] = set()
    for result in results:
        prints = result["partialFingerprints"]
        if prints["ruleAndPlace/v1"] in seen:
            said = hashlib.sha256(result["message"]["text"].encode()).hexdigest()
            prints["ruleAndPlace/v1"] += f":{said[:12]}"
        seen.add(prints["ruleAndPlace/v1"])


def rules_data() -> list[dict[str, str]]:
    """Every rule of the registry as data."""
    return [
        {
            "rule": each.slug,
            "subject": str(each.subject),
            "severity": str(each.severity),
            "topic": each.topic,
            "summary": each.summary,
            "source": each.source,
            "mend": each.mend,
        }
        for each in RULES.all()
    ]
