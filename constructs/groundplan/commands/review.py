"""``groundplan review`` and ``groundplan diff``: the commands. Thin: read, assess, render, exit."""

from __future__ import annotations

import functools
import hashlib
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

from findings import ProfileError, UserError
from findings.printing import print_report
from groundplan import __version__
from groundplan.on_plans.assess import Assessment, Provenance, Verdict, assess, compare_outputs, plan_rules
from groundplan.on_plans.prices import load_prices
from groundplan.site.stacks import rank
from plan_review.acceptance import Acceptance, parse
from plan_review.approval import parse_digest
from plan_review.assess import approval
from plan_review.claims import Claim, parse_claim
from plan_review.judgement import Category, PlanRule
from plan_review.model import Plan
from plan_review.policy import load_policies
from plan_review.reading import read_plan


class _Digest(click.ParamType[str]):
    """An approval digest, as reports have it."""

    name = "digest"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        found = parse_digest(str(value))
        if found is None:
            self.fail(f"{value} is no approval digest; give the 64 hexadecimal digits that the report has", param, ctx)
        return found


DIGEST = _Digest()

FORMATS = ("text", "markdown", "html", "json", "github", "sarif")

#: Words of --fail-on beside the categories and rules.
_VERDICTS = {"dangerous": (Verdict.DANGEROUS,), "decision": (Verdict.DANGEROUS, Verdict.DECISION)}

_Command = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What both commands take."""

    form: str
    output: Path | None
    fail_on: tuple[str, ...]
    prices: Path | None
    ignores: tuple[str, ...]
    claims: tuple[str, ...]
    policies: tuple[Path, ...]


def _options(command: _Command) -> _Command:
    """The options of both commands, which are given to it together, as `asked`."""

    @functools.wraps(command)
    def gather(*arguments: Any, **given: Any) -> Any:
        asked = _Asked(**{each.name: given.pop(each.name) for each in fields(_Asked)})
        return command(*arguments, asked=asked, **given)

    for option in reversed(
        (
            click.option(
                "--format",
                "form",
                type=click.Choice(FORMATS),
                default="text",
                show_default=True,
                help="text for a terminal, markdown for a comment on a pull request, html as a page, json for "
                "programs, github for annotations, sarif for code scanning.",
            ),
            click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write it to a file."),
            click.option(
                "--fail-on",
                "fail_on",
                multiple=True,
                metavar="WHAT",
                help="Exit 1 on: dangerous, decision, a kind of trouble (claim, data, replace, destroy, secret, open, "
                "unprotect, refused, capacity, disturb, policy, incomplete, unjudged), or a rule's name. Repeatable.",
            ),
            click.option(
                "--prices", type=click.Path(path_type=Path), help="A dated price file; without one no cost is given."
            ),
            click.option(
                "--ignore",
                "ignores",
                multiple=True,
                metavar="RULE@ADDRESS=REASON",
                help="Accept what a rule says of a resource (* and ? stand for any characters). Repeatable.",
            ),
            click.option(
                "--claim",
                "claims",
                multiple=True,
                metavar="WORDS",
                help="What the change is meant to do, such as 'gpu pool grows 2 -> 4' or 'helm_release.job updated'; "
                "all else stands first in the report. Repeatable.",
            ),
            click.option(
                "--policy", "policies", multiple=True, type=click.Path(path_type=Path), help="A file of your own rules."
            ),
        )
    ):
        gather = option(gather)
    return gather


@click.command()
@click.argument("plans", nargs=-1, required=True, type=click.Path(path_type=Path))
@_options
@click.option(
    "--profile", type=click.Path(path_type=Path), help="The profile: its `ignore` entries hold, its hash is printed."
)
@click.option(
    "--expect", type=DIGEST, help="The approval digest of a report: print nothing and exit 1 when this is another's."
)
@click.pass_context
def review(
    context: click.Context,
    plans: tuple[Path, ...],
    asked: _Asked,
    profile: Path | None,
    expect: str | None,
) -> None:
    """Report what Terraform plans would do, for a reviewer to sign.

    PLANS are files of `terraform show -json`, of one stack or of several, from groundplan's stacks or from any others;
    a plan's JSON from Terraform Cloud does too; - is standard input.

    \b
    terraform show -json plan.tfplan > gpu.json
    groundplan review network.json gpu.json
    groundplan review *.json --format markdown --fail-on dangerous > comment.md
    """

    def run() -> Sequence[Plan]:
        return read_plans(plans)

    _report(context, run, asked, profile=profile, expect=expect)


@click.command()
@click.argument("sides", nargs=-1, required=True, type=click.Path(path_type=Path))
@_options
@click.option("--revisions", nargs=2, metavar="OLD NEW", help="Compare one profile at two git revisions.")
@click.pass_context
def diff(
    context: click.Context,
    sides: tuple[Path, ...],
    asked: _Asked,
    revisions: tuple[str, str] | None,
) -> None:
    """Report what changes between two synth outputs, or two revisions of a profile: no state, no Terraform, no cloud.

    What would be replaced is told from the catalog's facts of the providers.

    \b
    groundplan diff OLD-OUTPUT NEW-OUTPUT
    groundplan diff old.yaml new.yaml
    groundplan diff profiles/nemo-rl-b200.yaml --revisions main HEAD
    """
    wanted = 1 if revisions else 2
    if len(sides) != wanted:
        raise click.UsageError("give two outputs (or profiles); or one profile and --revisions OLD NEW")
    with tempfile.TemporaryDirectory(prefix="groundplan-diff-") as scratch:
        if revisions:
            profile = sides[0]
            names = (f"{profile}@{revisions[0]}", f"{profile}@{revisions[1]}")
        else:
            names = (str(sides[0]), str(sides[1]))

        def run() -> Sequence[Plan]:
            old, new = _two_sides(sides, revisions, Path(scratch))
            return compare_outputs(old, new, names)

        _report(context, run, asked, compared=names)


def _two_sides(sides: tuple[Path, ...], revisions: tuple[str, str] | None, scratch: Path) -> tuple[Path, Path]:
    """The two folders to compare; profiles are synthesized into scratch folders."""
    from groundplan.emit.revisions import checkout, synthesize_profile

    folders = []
    for number in (0, 1):
        place = scratch / str(number)
        source = sides[0] if revisions else sides[number]
        if revisions:
            place.mkdir()
            source = checkout(source, revisions[number], place)
        if source.suffix in (".yaml", ".yml"):
            synthesize_profile(source, place / "out")
            source = place / "out"
        folders.append(source)
    return folders[0], folders[1]


def read_plans(files: Sequence[Path]) -> list[Plan]:
    """Read plans and put them into the order of a site. Raises UnusableInput."""
    found = []
    for file in dict.fromkeys(files):
        data = sys.stdin.buffer.read() if str(file) == "-" else None
        found.append(read_plan(file, data, "plan" if str(file) == "-" else ""))
    names = [plan.stack for plan in found]
    if len(set(names)) < len(names):
        found = [read_plan(Path(plan.file), None, plan.file) if plan.file != "-" else plan for plan in found]
    return sorted(found, key=lambda plan: rank(plan.stack))


def _report(
    context: click.Context,
    run: Callable[[], Sequence[Plan]],
    asked: _Asked,
    *,
    profile: Path | None = None,
    expect: str | None = None,
    compared: tuple[str, str] = ("", ""),
) -> None:
    try:
        own = load_policies(asked.policies)
        words = _words(asked.fail_on, own)
        given = _acceptances(asked.ignores, own)
        claims = _claims(asked.claims)
        listed = load_prices(asked.prices) if asked.prices else None
        accepted, digest = _profile(profile, own)
        result = assess(
            run(),
            provenance=Provenance(__version__, str(profile or ""), digest, compared, _inputs(asked)),
            prices=listed,
            acceptances=[*given, *accepted],
            claims=claims,
            policies=own,
        )
    except ProfileError:
        raise
    except UserError as error:  # plans, prices, policies, revisions: an input that cannot be used
        click.echo(f"groundplan {context.info_name}: {error}", err=True)
        context.exit(2)
    signed = approval(result)
    if expect and signed and signed.digest != expect:
        click.echo(
            f"groundplan {context.info_name}: this is not what was approved: it has the approval {signed.digest}, and "
            f"{expect} is expected; `groundplan verify PLANS --against report.json` says what differs",
            err=True,
        )
        context.exit(1)
    print_report(_render(asked.form, result, own), f"groundplan {context.info_name}", asked.output)
    failing = [word for word in words if fails(result, word)]
    if failing:
        click.echo(f"groundplan {context.info_name}: failing on {', '.join(failing)}", err=True)
        context.exit(1)


def _inputs(asked: _Asked) -> tuple[tuple[str, str], ...]:
    """Files beside the plans that decide the verdict, which could all be read a moment ago."""
    files = [("policy", file) for file in asked.policies]
    files += [("prices", asked.prices)] if asked.prices else []
    return tuple((f"{kind} {file}", hashlib.sha256(file.read_bytes()).hexdigest()) for kind, file in files)


def _words(given: tuple[str, ...], own: tuple[PlanRule, ...]) -> list[str]:
    words = [word for text in given for word in text.replace(",", " ").split()]
    known = {*_VERDICTS, *Category, *plan_rules(), *(rule.slug for rule in own)}
    for word in words:
        if word not in known:
            raise click.BadParameter(
                f"{word} is no verdict, kind of trouble or rule; take dangerous, decision, {', '.join(Category)}",
                param_hint="--fail-on",
            )
    return words


def fails(result: Assessment, word: str) -> bool:
    """Whether a word of --fail-on applies."""
    if word in _VERDICTS:
        return result.verdict in _VERDICTS[word]
    whole = {Category.REPLACE: "resource-replaced", Category.DESTROY: "resource-destroyed"}  # with data or without
    rule = next((slug for category, slug in whole.items() if category == word), word)
    return any(rule == each.rule or word == each.category for each in result.counting)


def _acceptances(given: tuple[str, ...], own: tuple[PlanRule, ...]) -> list[Acceptance]:
    """What --ignore says. A rule alone is refused: it would cover whatever else the rule finds one day."""
    found = []
    rules = {*plan_rules(), *(rule.slug for rule in own)}
    for text in given:
        acceptance = parse(text)
        if acceptance is None:
            rule, equals, reason = text.partition("=")
            named = f"{rule.strip()}@ADDRESS={reason.strip()}" if equals else "RULE@ADDRESS=REASON"
            raise click.BadParameter(
                f"{text}: an acceptance names a resource and a reason; write '{named}', with the address as the report "
                "has it (* and ? stand for any characters)",
                param_hint="--ignore",
            )
        if acceptance.rule not in rules:
            raise click.BadParameter(f"{acceptance.rule} is no rule on plans", param_hint="--ignore")
        found.append(acceptance)
    return found


def _claims(given: tuple[str, ...]) -> list[Claim]:
    found = []
    for text in given:
        claim = parse_claim(text)
        if isinstance(claim, str):
            raise click.BadParameter(f"'{text}': {claim}", param_hint="--claim")
        found.append(claim)
    return found


def _profile(profile: Path | None, own: tuple[PlanRule, ...]) -> tuple[list[Acceptance], str]:
    """The profile's ignore entries that concern plans, and its hash."""
    if profile is None:
        return [], ""
    from groundplan.site.profile import load_profile

    loaded, _ = load_profile(profile)
    rules = {*plan_rules(), *(rule.slug for rule in own)}
    accepted = [Acceptance(each.rule, each.address, each.reason) for each in loaded.ignore if each.rule in rules]
    return accepted, hashlib.sha256(profile.read_bytes()).hexdigest()


def _render(form: str, result: Assessment, own: tuple[PlanRule, ...]) -> str:
    if form == "html":
        from plan_review import html

        return html.render(result)
    if form == "markdown":
        from plan_review import markdown

        return markdown.render(result)
    if form in ("json", "github", "sarif"):
        from plan_review import programs

        if form == "sarif":
            return programs.as_sarif(result, own)
        return programs.as_json(result) if form == "json" else programs.as_github(result)
    from plan_review import text

    return text.render(result)
