"""``groundplan verify``: is the plan to be applied the one that was reviewed? Thin: read, compare, exit."""

from __future__ import annotations

from pathlib import Path

import click

from findings import UserError, writers
from findings.printing import print_report
from groundplan.commands.review_inputs import DIGEST, read_plans
from plan_review import display
from plan_review.verification import Mismatch, SignedReport, matching, mismatches, read_report


@click.command()
@click.argument("plans", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--against",
    "signed_report",
    required=True,
    type=click.Path(path_type=Path),
    help="The report that was signed, of `groundplan review --format json`.",
)
@click.option(
    "--expect", type=DIGEST, help="The approval digest that was signed: refuse a report that has another (exit 1)."
)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.pass_context
def verify(context: click.Context, plans: tuple[Path, ...], signed_report: Path, expect: str | None, form: str) -> None:
    """Refuse to go on when a plan is not the one that was reviewed.

    PLANS are of `terraform show -json`, of any of the report's stacks, or of Terraform Cloud; - is standard input. A
    plan that was made again and does the same is the same; one that does anything else is named, with what differs.

    \b
    groundplan review *.json --format json -o report.json
    terraform show -json plan.tfplan | groundplan verify - --against report.json && terraform apply plan.tfplan
    """
    try:
        signed = read_report(signed_report)
        given = read_plans(plans)
    except UserError as error:
        click.echo(f"groundplan verify: {error}", err=True)
        context.exit(2)
    other_report = expect is not None and expect != signed.approval.digest
    wrong = mismatches(given, signed)
    stacks = matching(given, signed)
    if form == "json":
        print_report(
            writers.as_json(
                {
                    "schema": 1,
                    "verified": not wrong and not other_report,
                    "approval": signed.approval.digest,
                    "expected": expect,
                    "verdict": signed.verdict,
                    "stacks": stacks,
                    "mismatches": [
                        {"stack": each.stack, "file": each.file, "differences": list(each.lines)} for each in wrong
                    ],
                }
            ),
            "groundplan verify",
        )
    else:
        _print(signed_report, signed, expect if other_report else None, wrong, stacks)
    if wrong or other_report:
        context.exit(1)


def _print(file: Path, signed: SignedReport, expected: str | None, wrong: list[Mismatch], stacks: list[str]) -> None:
    if expected:
        click.echo(f"groundplan verify: {file} has the approval {signed.approval.digest}, not {expected}", err=True)
    for each in wrong:
        click.echo(f"groundplan verify: {display.plain(each.stack)} is not the plan that was reviewed:", err=True)
        for line in each.lines:
            click.echo(f"  {display.plain(line)}", err=True)
    if wrong:
        click.echo("do not apply it: review the plan, and have that report signed", err=True)
    if not wrong and not expected:
        whole = display.count(len(signed.approval.plans), "stack")
        click.echo(
            f"as reviewed: {', '.join(map(display.plain, stacks))} ({len(stacks)} of {whole}; verdict: "
            f"{display.plain(signed.verdict)}; {signed.approval.digest})"
        )
