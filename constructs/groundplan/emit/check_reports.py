"""What `check` found, for programs: JSON, GitHub annotations, SARIF 2.1.0."""

from __future__ import annotations

from collections.abc import Sequence

from findings import RULES, Finding, Severity, writers
from groundplan import __version__
from groundplan.site.check import Checked


def as_json(results: Sequence[Checked]) -> str:
    """One object: the profiles, a flat list of findings, and their counts. `schema` grows when the shape changes."""
    findings = _all(results)
    counted = [each for each in findings if each.counts]
    return writers.as_json(
        {
            "schema": 1,
            "groundplan": __version__,
            "profiles": [{"file": r.file, "site": r.site.name if r.site else None} for r in results],
            "findings": [writers.finding_data(each) for each in findings],
            "errors": sum(each.severity is Severity.ERROR for each in counted),
            "warnings": sum(each.severity is Severity.WARNING for each in counted),
            "ignored": len(findings) - len(counted),
        }
    )


def as_github(results: Sequence[Checked]) -> str:
    """Annotations of a pull request."""
    return writers.as_github(_all(results))


def as_sarif(results: Sequence[Checked]) -> str:
    """SARIF for code scanning, with every rule's page."""
    return writers.as_sarif("groundplan", __version__, _all(results), RULES.of_profiles)


def _all(results: Sequence[Checked]) -> list[Finding]:
    return [finding for result in results for finding in result.findings]
