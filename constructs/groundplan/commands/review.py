"""``groundplan review`` and ``groundplan diff``: the commands. Thin: read, assess, render, exit."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from findings import ProfileError, UserError
from findings.printing import print_report
from groundplan import __version__
from groundplan.commands.review_inputs import (
    DIGEST,
    Asked,
    acceptances_of,
    claims_of,
    fails,
    inputs_of,
    options,
    profile_of,
    read_plans,
    words_of,
)
from groundplan.on_plans.assess import Assessment, Provenance, assess, compare_outputs
from groundplan.on_plans.prices import load_prices
from plan_review.assess import approval
from plan_review.judgement import PlanRule
from plan_review.model import Plan
from plan_review.policy import load_policies


@click.command()
@click.argument("plans", nargs=-1, required=True, type=click.Path(path_type=Path))
@options
@click.option(
    "--profile", type=click.Path(path_type=Path), help="The profile: its `ignore` entries hold, its hash is printed."
)
@click.option(
    "--expect", type=DIGEST, help="The approval digest of a report: print nothing and exit 1 when this is another's."
)
@click.option(
    "--drift",
    is_flag=True,
    help="Report what was changed by hand instead: PLANS are of `terraform plan -refresh-only`, of all stacks.",
)
@click.pass_context
def review(
    context: click.Context,
    plans: tuple[Path, ...],
    asked: Asked,
    profile: Path | None,
    expect: str | None,
    drift: bool,
) -> None:
    """Report what Terraform plans would do, for a reviewer to sign.

    PLANS are files of `terraform show -json`, of one stack or of several, from groundplan's stacks or from any others;
    a plan's JSON from Terraform Cloud does too; - is standard input.

    \b
    terraform show -json plan.tfplan > gpu.json
    groundplan review network.json gpu.json
    groundplan review *.json --format markdown --fail-on dangerous > comment.md
    groundplan review --drift refreshed/*.json
    """
    if drift:
        if expect:
            raise click.UsageError("a drift report approves nothing, so that there is no digest to expect")
        _report_drift(context, plans, asked, profile)
        return

    def run() -> Sequence[Plan]:
        return read_plans(plans)

    _report(context, run, asked, profile=profile, expect=expect)


@click.command()
@click.argument("sides", nargs=-1, required=True, type=click.Path(path_type=Path))
@options
@click.option("--revisions", nargs=2, metavar="OLD NEW", help="Compare one profile at two git revisions.")
@click.pass_context
def diff(
    context: click.Context,
    sides: tuple[Path, ...],
    asked: Asked,
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


def _report_drift(context: click.Context, plans: tuple[Path, ...], asked: Asked, profile: Path | None) -> None:
    from groundplan.on_plans.provider_facts import known
    from plan_review.drift_report import FORMATS, RULE, drift_report

    if asked.form not in FORMATS:
        raise click.UsageError(f"a drift report has the formats {', '.join(FORMATS)}")
    if asked.claims:
        raise click.UsageError("claims are about what a plan does; a drift report is about what somebody did")
    try:
        own = load_policies(asked.policies)
        words = words_of(asked.fail_on, own)
        given = acceptances_of(asked.ignores, own)
        accepted, digest = profile_of(profile, own)
        made_from = Provenance(__version__, str(profile or ""), digest, inputs=inputs_of(asked))

        def judge(plans: Sequence[Plan]) -> Assessment:
            others = [each for each in (*given, *accepted) if each.rule != RULE]
            return assess(plans, provenance=made_from, acceptances=others, policies=own)

        result = drift_report(read_plans(plans, with_state=True), judge, known, [*given, *accepted])
    except ProfileError:
        raise
    except UserError as error:
        click.echo(f"groundplan {context.info_name}: {error}", err=True)
        context.exit(2)
    print_report(FORMATS[asked.form](result), f"groundplan {context.info_name}", asked.output)
    _fail(context, [word for word in words if (word == RULE and result.open) or fails(result.done, word)])


def _report(
    context: click.Context,
    run: Callable[[], Sequence[Plan]],
    asked: Asked,
    *,
    profile: Path | None = None,
    expect: str | None = None,
    compared: tuple[str, str] = ("", ""),
) -> None:
    try:
        own = load_policies(asked.policies)
        words = words_of(asked.fail_on, own)
        given = acceptances_of(asked.ignores, own)
        claims = claims_of(asked.claims)
        listed = load_prices(asked.prices) if asked.prices else None
        accepted, digest = profile_of(profile, own)
        result = assess(
            run(),
            provenance=Provenance(__version__, str(profile or ""), digest, compared, inputs_of(asked)),
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
    _fail(context, [word for word in words if fails(result, word)])


def _fail(context: click.Context, failing: list[str]) -> None:
    if failing:
        click.echo(f"groundplan {context.info_name}: failing on {', '.join(failing)}", err=True)
        context.exit(1)


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
