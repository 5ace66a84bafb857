"""Running every rule over a Site, and over a file, and over many."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from findings import RULES, Finding, ProfileError, Rule, Severity, Subject, UserError
from findings.redaction import MASK, is_secret_path
from groundplan.kernel.source import Source
from groundplan.site.fleet import Member, fleet_problems
from groundplan.site.profile import Profile, load_profile
from groundplan.site.resolve import JobPart, Site, resolve
from groundplan.workload.spec import MERGED

#: The modules whose import registers the rules; their order is the order of `groundplan rules`.
RULE_MODULES = (
    "groundplan.network.rules",
    "groundplan.network.exposure_rules",
    "groundplan.network.connection_rules",
    "groundplan.network.fabric_rules",
    "groundplan.network.sharing_rules",
    "groundplan.storage.rules",
    "groundplan.storage.mode_rules",
    "groundplan.storage.bucket_rules",
    "groundplan.cluster.rules",
    "groundplan.cluster.maintenance_rules",
    "groundplan.gpu.fabric_rules",
    "groundplan.gpu.machine_rules",
    "groundplan.gpu.rules",
    "groundplan.gpu.transports.roce_rules",
    "groundplan.gpu.capacity_rules",
    "groundplan.gpu.label_rules",
    "groundplan.platform.rules",
    "groundplan.workload.rules",
    "groundplan.site.rules.names",
    "groundplan.site.rules.labels",
    "groundplan.site.rules.backend",
    "groundplan.site.rules.secrets",
    "groundplan.site.rules.templates",
    "groundplan.on_plans.ignores",
    "groundplan.site.fleet",
)

#: Letters of the shortest value that is masked as a secret; a shorter one would mask words of the message.
_SHORTEST = 4

for _module in RULE_MODULES:
    importlib.import_module(_module)


@dataclass(frozen=True)
class Checked:
    """What came of checking one file. `site` and `source` are None when the file could not be read as a profile."""

    file: str
    findings: list[Finding]
    site: Site | None = None
    source: Source | None = None


def all_findings(site: Site, source: Source | None = None) -> list[Finding]:
    """All findings of all rules, in the order of the file; those that the profile ignores carry its reason."""
    found = [f for rule in RULES.of(Subject.SITE).values() for f in _findings(rule, site)]
    return in_order([settle(finding, site, source) for finding in found])


def _findings(rule: Rule, site: Site) -> list[Finding]:
    """What a rule finds in the site as each of its jobs sees it, each thing once, at the job that says it."""
    if not site.parts:
        return list(rule.findings(site))
    views = zip(site.parts, site.views, strict=True)
    found = [_at_its_job(finding, site, part) for part, view in views for finding in rule.findings(view)]
    return list(dict.fromkeys(found))


def _at_its_job(finding: Finding, site: Site, part: JobPart) -> Finding:
    """A finding on a key of the job, at the entry of `workload.jobs` that has it, or that takes its default."""
    top, *rest = finding.path or ("",)
    workload = site.profile.workload
    if top != "workload" or rest[:1] == ["jobs"]:
        return finding
    entry, key = workload.jobs[part.index], str(rest[0]) if rest else ""
    theirs = key not in entry.model_fields_set and key in workload.model_fields_set
    if key in MERGED & workload.model_fields_set & entry.model_fields_set and len(rest) > 1:
        theirs = rest[1] not in getattr(entry, key)
    return finding if theirs else dataclasses.replace(finding, path=("workload", "jobs", part.index, *rest))


def settle(finding: Finding, site: Site, source: Source | None) -> Finding:
    """Put a finding at its place in the file, with the reason for which the profile ignores it, if it does."""
    reason = next((entry.reason for entry in site.profile.ignore if entry.rule == finding.rule), "")
    if finding.rule == "ignore-unknown":
        reason = ""
    if source and is_secret_path(finding.path):
        finding = _without_value(finding, source)
    location = source.locate(finding.path) if source else None
    if location and source and finding.path[:1] not in source.keys:  # nothing of it is written: no line to show
        location = dataclasses.replace(location, text="")
    return dataclasses.replace(finding, location=location, ignored=reason)


def _without_value(finding: Finding, source: Source) -> Finding:
    """A finding on something secret, should its rule quote the value."""
    value: object = source.data
    for part in finding.path:
        if isinstance(value, dict | list) and (part in value if isinstance(value, dict) else True):
            value = value[part]  # type: ignore[index]
    if not isinstance(value, str) or len(value) < _SHORTEST:
        return finding
    quoted = re.compile(rf"(?<![\w-]){re.escape(value)}(?![\w-])")
    message, hint = quoted.sub(MASK, finding.message), quoted.sub(MASK, finding.hint)
    return dataclasses.replace(finding, message=message, hint=hint)


def in_order(findings: list[Finding]) -> list[Finding]:
    """Findings by file, line and column; those without a place keep their order."""

    def key(finding: Finding) -> tuple[str, int, int]:
        place = finding.location
        return (place.file, place.line, place.column) if place else ("", 0, 0)

    return sorted(findings, key=key)


def findings_of(site: Site, source: Source | None = None) -> list[Finding]:
    """The findings that count: those that the profile ignores are left out."""
    return [finding for finding in all_findings(site, source) if not finding.ignored]


def checked_site(file: Path) -> tuple[Site, list[Finding]]:
    """Load, resolve and check a profile: the site and its warnings. Raises ProfileError when a finding is an error."""
    profile, source = load_profile(file)
    return check_profile(profile, source, file.parent)


def check_profile(profile: Profile, source: Source | None = None, folder: Path = Path()) -> tuple[Site, list[Finding]]:
    """The same for a profile in memory."""
    site = resolve(profile, folder)
    findings = findings_of(site, source)
    if any(f.severity is Severity.ERROR for f in findings):
        raise ProfileError(findings)
    return site, findings


def check_file(file: Path, as_of: date | None = None) -> Checked:
    """Check one file; whatever is wrong with it becomes a finding."""
    try:
        profile, source = load_profile(file)
    except ProfileError as error:
        return Checked(str(file), in_order(error.findings))
    try:
        site = resolve(profile, file.parent, as_of)
        return Checked(str(file), all_findings(site, source), site, source)
    except UserError as error:  # a catalog file that cannot be used, or an entry of one
        finding = Finding(
            "catalog-file",
            Severity.ERROR,
            str(error),
            "correct the file; docs/add-a-machine-type.md shows what an entry holds",
            ("catalog",),
            location=source.locate(("catalog",)),
        )
        return Checked(str(file), [finding])


def check_files(files: Sequence[Path], as_of: date | None = None) -> list[Checked]:
    """Check files, each on its own and all as a fleet."""
    checked = [check_file(file, as_of) for file in files]
    members = [(n, Member(c.file, c.site)) for n, c in enumerate(checked) if c.site]
    if len(members) < 2:
        return checked
    for rule, problem in fleet_problems([member for _, member in members]):
        position = members[problem.member][0]
        whole = checked[position]
        if whole.site:
            finding = settle(rule.finding(problem), whole.site, whole.source)
            checked[position] = dataclasses.replace(whole, findings=in_order([*whole.findings, finding]))
    return checked


def has_errors(findings: list[Finding], *, strict: bool = False) -> bool:
    """Whether findings refuse a profile: an error that is not ignored, or under `strict` a warning."""
    return any(not f.ignored and (strict or f.severity is Severity.ERROR) for f in findings)
