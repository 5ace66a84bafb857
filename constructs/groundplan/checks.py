"""Running every rule over a Site."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from groundplan.findings import RULES, Finding, ProfileError, Severity
from groundplan.profile import Profile, load_profile
from groundplan.site import Site, resolve
from groundplan.source import Source


def findings_of(site: Site, source: Source | None = None) -> list[Finding]:
    """All findings of all rules, in the order of the file; ignored ones are left out."""
    ignored = {entry.rule for entry in site.profile.ignore}
    found = [f for rule in RULES.values() if rule.slug not in ignored for f in rule.findings(site)]
    if source is None:
        return found
    placed = [dataclasses.replace(f, location=source.locate(f.path)) for f in found]
    return sorted(placed, key=lambda f: (f.location.line, f.location.column) if f.location else (0, 0))


def checked_site(file: Path) -> tuple[Site, list[Finding]]:
    """Load, resolve and check a profile. Raises ProfileError when any finding is an error; else returns the warnings."""
    profile, source = load_profile(file)
    return check_profile(profile, source, file.parent)


def check_profile(profile: Profile, source: Source | None = None, folder: Path = Path()) -> tuple[Site, list[Finding]]:
    """The same for a profile in memory."""
    site = resolve(profile, folder)
    findings = findings_of(site, source)
    if any(f.severity is Severity.ERROR for f in findings):
        raise ProfileError(findings)
    return site, findings
