"""Many profiles in one run: folders in the place of files, one process and one Node, one table, one exit code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click

from findings import UnavailableError, UserError
from findings.text import format_finding, summary
from groundplan.site.check import Checked, check_files, has_errors

#: What a profile has, and a catalog file or a schema's companion has not.
_PROFILE = re.compile(rb"^project:", re.MULTILINE)


def profiles_in(paths: Iterable[Path]) -> list[Path]:
    """The files named, and of each folder the profiles in it, by name. Raises UnavailableError when one has none."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = [each for each in sorted(path.glob("*.y*ml")) if _PROFILE.search(each.read_bytes())]
        if not inside:
            raise UnavailableError(f"{path} has no profile: no YAML file in it has a `project:`")
        found += inside
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one profile."""

    site: str
    state: str
    """``written``, ``the same``, ``changed`` or ``refused``."""
    resources: str
    where: str
    ok: bool


def synth_fleet(files: list[Path], out: Path, *, strict: bool, compare: bool, replace: bool, quiet: bool) -> bool:
    """Write (or compare) each profile's site in ``out/<file's name>``, and say what came of it; whether all is well.

    A profile that is refused, on its own or for a clash with another, leaves the others' output alone.
    """
    names = [file.stem for file in files]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UserError(f"several profiles are called {', '.join(sorted(twice))}; a site's folder has its file's name")
    outcomes = [_one(each, out, strict, compare, replace) for each in check_files(files)]
    if not quiet:
        _table(outcomes)
    return all(outcome.ok for outcome in outcomes)


def _one(checked: Checked, out: Path, strict: bool, compare: bool, replace: bool) -> Outcome:
    from groundplan.emit.app import SiteProgram
    from groundplan.emit.compare import differences

    file = Path(checked.file)
    folder = out / file.stem
    for finding in checked.findings:
        if not finding.ignored:
            click.echo(format_finding(finding) + "\n", err=True)
    if checked.site is None or has_errors(checked.findings, strict=strict):
        return Outcome(checked.site.name if checked.site else "-", "refused", "-", summary(checked.findings), False)
    site = checked.site
    try:
        if compare:
            changed = differences(file, folder, strict=strict)
            for line in changed:
                click.echo(f"{folder}: {line}", err=True)
            return Outcome(site.name, "changed" if changed else "the same", "-", str(folder), not changed)
        output = SiteProgram(site, folder, profile=file, replace=replace).synth()
    except UserError as error:
        click.echo(f"error: {file}: {error}", err=True)
        return Outcome(site.name, "refused", "-", str(folder), False)
    return Outcome(site.name, "written", str(sum(stack.count for stack in output.stacks)), str(folder), True)


def _table(outcomes: list[Outcome]) -> None:
    width = max(len("site"), *(len(each.site) for each in outcomes))
    click.echo(f"{'site':{width}}  {'':8}  resources  where")
    for each in outcomes:
        click.echo(f"{each.site:{width}}  {each.state:8}  {each.resources:>9}  {each.where}")
    bad = sum(not each.ok for each in outcomes)
    click.echo(f"\n{len(outcomes)} sites" + (f", {bad} of them to be looked at" if bad else ""))
