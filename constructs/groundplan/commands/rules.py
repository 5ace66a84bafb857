"""``groundplan rules`` and ``groundplan explain``: what is checked, and why."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from pathlib import Path

import click
import yaml

import groundplan.on_plans.assess
import groundplan.site.check  # noqa: F401  (those of profiles)
import staged_terraform.rules  # noqa: F401  (and those of rehearsals)
from findings import RULES, Rule, Subject
from findings.writers import rules_data
from groundplan.site.stacks import STACKS

#: One input that trips each rule and a near twin that does not; made from the tests' tables by scripts/docs-rules.
EXAMPLES = Path(__file__).with_name("rule_examples.yaml")

#: What is said after a rule's severity.
_JUDGED = {
    Subject.SITE: "",
    Subject.FLEET: ", several profiles",
    Subject.PLAN: ", plans",
    Subject.REHEARSAL: ", rehearsal",
}

_INTRODUCTION = """\
# Rules

What `groundplan check` says of profiles, by the part of the site it is about; then what `review` and `diff` say of
plans, and `rehearse` of a rehearsal. This page is made from the rules' docstrings and the tests' tables
(`scripts/docs-rules`); `groundplan explain RULE` prints one of them.

An error refuses the profile. A warning is printed, and refuses it under `--strict`. Some rules warn where sources
disagree and refuse where they agree. A profile can ignore a rule, with a reason that stands in every report:

```yaml
ignore:
  - rule: nat-off
    reason: images and models come from a mirror in the VPC
```

Below each rule stand the smallest input of the tests that trips it, and a near twin that it lets pass."""


def by_topic() -> dict[str, list[Rule]]:
    """Rules by what they are about: the parts of the site in the order of its stacks, the site, plans, rehearsals."""
    topics: dict[str, list[Rule]] = {stack: [] for stack in STACKS}
    for entry in RULES.of_profiles.values():
        topics.setdefault(entry.topic, []).append(entry)
    topics["plans"] = list(RULES.of(Subject.PLAN).values())
    topics["rehearsals"] = list(RULES.of(Subject.REHEARSAL).values())
    return topics


def example_of(entry: Rule) -> str:
    """Where a rule's example stands: under its slug, or ``plan:SLUG`` and ``rehearsal:SLUG``."""
    return entry.slug if entry.subject in (Subject.SITE, Subject.FLEET) else f"{entry.subject}:{entry.slug}"


def page_of(entry: Rule, examples: dict[str, dict[str, str]]) -> list[str]:
    """A rule's page: its docstring, the input that trips it and the twin that passes."""
    lines = [entry.documentation]
    shown = examples.get(example_of(entry))
    for title, key in (("Trips it:", "trips"), ("Passes:", "passes")):
        lines += ["", title, "", "```yaml", shown[key].rstrip("\n"), "```"] if shown else []
    return lines


def read_examples() -> dict[str, dict[str, str]]:
    """The examples by slug; those of plans and rehearsals by ``plan:SLUG`` and ``rehearsal:SLUG``."""
    found: dict[str, dict[str, str]] = yaml.load(
        EXAMPLES.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
    return found


def rules_markdown() -> str:
    """The docs page of all rules."""
    lines = [_INTRODUCTION]
    examples = read_examples()
    for topic, entries in by_topic().items():
        lines += ["", f"## {topic}"] if entries else []
        for entry in entries:
            lines += ["", f"### {entry.slug}", "", f"*{entry.severity}{_JUDGED[entry.subject]}*", ""]
            lines += page_of(entry, examples)
    return "\n".join(lines) + "\n"


@click.command()
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How."
)
@click.option("--markdown", is_flag=True, help="Print the whole documentation of all rules as Markdown.")
def rules(format_: str, markdown: bool) -> None:
    """List the rules by the part of the site that they are about, and those of plans and rehearsals."""
    if markdown:
        click.echo(rules_markdown(), nl=False)
    elif format_ == "json":
        click.echo(json.dumps(rules_data(), indent=2, ensure_ascii=False))
    else:
        width = max(len(entry.slug) for entry in RULES.all())
        for topic, entries in by_topic().items():
            click.echo(click.style(topic, bold=True))
            for entry in entries:
                click.echo(f"  {entry.slug:{width}}  {entry.severity:7}  {entry.summary}")
        count = {subject: len(RULES.of(subject)) for subject in Subject}
        click.echo(
            f"\n{count[Subject.SITE] + count[Subject.FLEET]} rules of profiles, {count[Subject.PLAN]} of plans, "
            f"{count[Subject.REHEARSAL]} of rehearsals; `groundplan explain RULE` says why"
        )


def _completed(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return sorted({entry.slug for entry in RULES.all() if entry.slug.startswith(incomplete)})


@click.command()
@click.argument("rule", shell_complete=_completed)
def explain(rule: str) -> None:
    """Say what RULE checks, why, by which source, how to mend what it finds; with an example and its near twin."""
    entries = RULES.named(rule)
    if not entries:
        raise click.UsageError(f"there is no rule {rule}{_near(rule, (each.slug for each in RULES.all()))}")
    examples = read_examples()
    for number, entry in enumerate(entries):
        about = "" if entry.subject in (Subject.PLAN, Subject.REHEARSAL) else f", {entry.topic}"
        click.echo("" if number else None, nl=bool(number))
        click.echo(f"{click.style(entry.slug, bold=True)} ({entry.severity}{about}{_JUDGED[entry.subject]})\n")
        click.echo("\n".join(page_of(entry, examples)))


def _near(slug: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(slug, dict.fromkeys(known), n=1, cutoff=0.4)
    return f"{f'; did you mean {near[0]}?' if near else ''} `groundplan rules` lists them"
