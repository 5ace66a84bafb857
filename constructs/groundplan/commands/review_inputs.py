"""What `review`, `diff` and `verify` take: their options, and the plans, profiles and words given with them."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

from groundplan.on_plans.assess import Assessment, Verdict, plan_rules
from groundplan.site.stacks import rank
from plan_review.acceptance import Acceptance, parse
from plan_review.approval import parse_digest
from plan_review.claims import Claim, parse_claim
from plan_review.judgement import Category, PlanRule
from plan_review.model import Plan
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
class Asked:
    """What both commands take."""

    form: str
    output: Path | None
    fail_on: tuple[str, ...]
    prices: Path | None
    ignores: tuple[str, ...]
    claims: tuple[str, ...]
    policies: tuple[Path, ...]


def options(command: _Command) -> _Command:
    """The options of both commands, which are given to it together, as `asked`."""

    @functools.wraps(command)
    def gather(*arguments: Any, **given: Any) -> Any:
        asked = Asked(**{each.name: given.pop(each.name) for each in fields(Asked)})
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


def read_plans(files: Sequence[Path], *, with_state: bool = False) -> list[Plan]:
    """Read plans and put them into the order of a site (`with_state`: as read_plan says). Raises UnusableInput."""
    found = []
    for file in dict.fromkeys(files):
        data = sys.stdin.buffer.read() if str(file) == "-" else None
        found.append(read_plan(file, data, "plan" if str(file) == "-" else "", with_state=with_state))
    names = [plan.stack for plan in found]
    if len(set(names)) < len(names):
        found = [
            read_plan(Path(plan.file), None, plan.file, with_state=with_state) if plan.file != "-" else plan
            for plan in found
        ]
    return sorted(found, key=lambda plan: rank(plan.stack))


def inputs_of(asked: Asked) -> tuple[tuple[str, str], ...]:
    """Files beside the plans that decide the verdict, which could all be read a moment ago."""
    files = [("policy", file) for file in asked.policies]
    files += [("prices", asked.prices)] if asked.prices else []
    return tuple((f"{kind} {file}", hashlib.sha256(file.read_bytes()).hexdigest()) for kind, file in files)


def words_of(given: tuple[str, ...], own: tuple[PlanRule, ...]) -> list[str]:
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


def acceptances_of(given: tuple[str, ...], own: tuple[PlanRule, ...]) -> list[Acceptance]:
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


def claims_of(given: tuple[str, ...]) -> list[Claim]:
    found = []
    for text in given:
        claim = parse_claim(text)
        if isinstance(claim, str):
            raise click.BadParameter(f"'{text}': {claim}", param_hint="--claim")
        found.append(claim)
    return found


def profile_of(profile: Path | None, own: tuple[PlanRule, ...]) -> tuple[list[Acceptance], str]:
    """The profile's ignore entries that concern plans, and its hash."""
    if profile is None:
        return [], ""
    from groundplan.site.profile import load_profile

    loaded, _ = load_profile(profile)
    rules = {*plan_rules(), *(rule.slug for rule in own)}
    accepted = [Acceptance(each.rule, each.address, each.reason) for each in loaded.ignore if each.rule in rules]
    return accepted, hashlib.sha256(profile.read_bytes()).hexdigest()
