"""``groundplan rules`` and ``groundplan explain``: what is checked, and why."""

from __future__ import annotations

import difflib
import json

import click

import groundplan.site.check  # noqa: F401  (registers the rules)
from findings import RULES, Rule
from groundplan.on_plans.assess import PLAN_RULES
from groundplan.site.stacks import STACKS


def by_topic() -> dict[str, list[Rule]]:
    """Rules by what they are about: the parts of the site in the order of its stacks, then the site as a whole."""
    topics: dict[str, list[Rule]] = {stack: [] for stack in STACKS}
    for entry in RULES.values():
        topics.setdefault(entry.topic, []).append(entry)
    return topics


def rules_markdown() -> str:
    """The docs page of all rules, made from their docstrings."""
    lines = [
        "# Rules",
        "",
        "What `groundplan check` says, by the part of the site it is about. This page is made from the rules' "
        "docstrings",
        "(`scripts/docs-rules`); `groundplan explain RULE` prints one of them.",
        "",
        "An error refuses the profile. A warning is printed, and refuses it under `--strict`. Some rules warn "
        "where sources",
        "disagree and refuse where they agree. A profile can ignore a rule, with a reason that stands in every report:",
        "",
        "```yaml",
        "ignore:",
        "  - rule: nat-off",
        "    reason: images and models come from a mirror in the VPC",
        "```",
    ]
    for topic, entries in by_topic().items():
        lines += ["", f"## {topic}"]
        for entry in entries:
            lines += ["", f"### {entry.slug}", "", f"*{entry.severity}*", "", entry.documentation]
    return "\n".join(lines) + "\n"


@click.command()
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How."
)
@click.option("--markdown", is_flag=True, help="Print the whole documentation of all rules as Markdown.")
def rules(format_: str, markdown: bool) -> None:
    """List the rules by the part of the site that they are about."""
    if markdown:
        click.echo(rules_markdown(), nl=False)
    elif format_ == "json":
        listed = [
            {"rule": r.slug, "severity": str(r.severity), "topic": r.topic, "summary": r.summary}
            for r in RULES.values()
        ]
        click.echo(json.dumps(listed, indent=2))
    else:
        width = max(map(len, RULES))
        for topic, entries in by_topic().items():
            click.echo(click.style(topic, bold=True))
            for entry in entries:
                click.echo(f"  {entry.slug:{width}}  {entry.severity:7}  {entry.summary}")
        click.echo(click.style("plans", bold=True) + " (`groundplan review` and `diff`)")
        for plan_entry in PLAN_RULES.values():
            click.echo(f"  {plan_entry.slug:{width}}  {plan_entry.severity:7}  {plan_entry.summary}")
        click.echo(f"\n{len(RULES)} rules of profiles, {len(PLAN_RULES)} of plans; `groundplan explain RULE` says why")


@click.command()
@click.argument("rule")
def explain(rule: str) -> None:
    """Say what RULE checks, why, by which source, and how to mend what it finds."""
    entry = RULES.get(rule)
    of_plan = PLAN_RULES.get(rule)
    if entry is None and of_plan is not None:
        click.echo(f"{click.style(of_plan.slug, bold=True)} ({of_plan.severity}, plans)\n")
        click.echo(of_plan.documentation)
        return
    if entry is None:
        near = difflib.get_close_matches(rule, [*RULES, *PLAN_RULES], n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise click.UsageError(f"there is no rule {rule}{hint} `groundplan rules` lists them")
    click.echo(f"{click.style(entry.slug, bold=True)} ({entry.severity}, {entry.topic})\n")
    click.echo(entry.documentation)
