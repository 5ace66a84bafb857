"""The rules of a rehearsal: what it finds, beside what Terraform and the providers say themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from findings import RULES, Problem, Rule, Severity, Subject, rule
from staged_terraform.simulated_cloud import LEFT
from staged_terraform.stacks import Stack, other_versions

if TYPE_CHECKING:
    from staged_terraform.terraform import Result


@rule("rehearsal-provider", subject=Subject.REHEARSAL)
def unknown_provider(stack: Stack) -> Iterator[Problem]:
    """A stack needs a provider that is not simulated.

    Only google, kubernetes, helm and Terraform's own can be; what the stack would do with another is unknown.

    Source: groundplan's own limit: a simulation needs the provider's schema and facts of its behaviour.

    Mend: rehearse the stacks without it (`--stack` stops before it).
    """
    if missing := stack.unknown_providers:
        yield Problem((), f"no simulation of {', '.join(missing)}", "", address=stack.name)


@rule("rehearsal-version", Severity.WARNING, subject=Subject.REHEARSAL)
def other_version(pinned: tuple[Stack, Mapping[str, str]]) -> Iterator[Problem]:
    """A stack pins another version of a provider than the one whose schema is simulated.

    Arguments that came or went between the two are judged by the wrong version.

    Source: Terraform, "Provider Requirements": a configuration is validated against the schema of the version chosen.

    Mend: pin the version that `groundplan doctor` names, or read the provider's upgrade notes beside the rehearsal.
    """
    stack, versions = pinned
    for mismatch in other_versions(stack, versions):
        yield Problem((), mismatch, "", address=stack.name)


#: Exit code of `terraform plan -detailed-exitcode` where there is something to change.
_CHANGES = 2

#: Types that stay after a destroy on purpose.
_STAYS = {"google_project_service", LEFT}


@rule("rehearsal-fault", subject=Subject.REHEARSAL)
def idle_faults(faults: Sequence[str]) -> Iterator[Problem]:
    """A fault that was asked for hit nothing.

    The site makes nothing of its type, so that nothing about recovery was shown.

    Source: groundplan's own limit: a rehearsal says no more than it played.

    Mend: name a type that the site makes (`--fault KIND:TYPE`), or leave the fault out.
    """
    for text in faults:
        yield Problem((), "it hit nothing: the stacks make nothing of its type", "", address=f"--fault {text}")


@rule("rehearsal-perpetual-diff", subject=Subject.REHEARSAL)
def perpetual_difference(again: Result) -> Iterator[Problem]:
    """The plan after the apply is not empty.

    The same difference would stand in every plan from then on, and hide the one that matters.

    Source: Terraform, "terraform plan -detailed-exitcode" (2: there are changes).

    Mend: emit the value as the provider stores it, or leave out what it does not store.
    """
    for address, action in (again.changes.items() or [("(outputs)", "update")]) if again.code == _CHANGES else ():
        yield Problem((), f"the plan after the apply is not empty: {action}", "", address=address)


@rule("rehearsal-left-behind", subject=Subject.REHEARSAL)
def left_behind(remaining: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    """Something that the site made is still there after the destroy.

    It goes on costing money, and stops the next apply, which would make it again under the same name. Services of the
    project that were enabled stay, as the configuration says: others may use them.

    Source: Terraform, "terraform destroy": it removes what the state holds, and nothing else.

    Mend: let a stack own it, or name it in the run-book's last step.
    """
    for kind, identity in remaining:
        if kind not in _STAYS:
            yield Problem((), f"{identity} is still there after the destroy", "", address=kind)


def diagnostics(run: tuple[str, Result]) -> Iterator[Problem]:
    """What Terraform and the providers said of one step, ``("apply", result)``."""
    step, result = run
    for each in result.messages:
        severity = Severity.ERROR if each.severity == "error" else Severity.WARNING
        yield Problem((), each.summary, each.detail, severity, address=each.address or step)
    if not result.ok and not result.errors:
        yield Problem((), f"terraform {result.command} ended with {result.code}", result.output, address=step)


#: First word of a step -> what its failing means.
_STEPS = {
    "init": "Terraform cannot initialise a stack: a provider, a backend or the syntax.",
    "validate": "Terraform refuses the configuration of a stack: an argument, a type or a reference.",
    "plan": "Terraform or a provider refuses to plan a stack.",
    "apply": "A simulated API refuses what a stack asks for, or something it refers to is not there yet.",
    "re-plan": "A stack that was applied cannot be planned again.",
    "lift": "The protection against destruction cannot be lifted.",
    "destroy": "A stack cannot be destroyed in its order.",
}

for _step, _what in _STEPS.items():
    _page = f"""{_what}

    What Terraform and the providers say is given word by word.

    Source: Terraform, "terraform {"plan" if _step == "re-plan" else "apply" if _step == "lift" else _step}".

    Mend: as the message says; `groundplan check` names the place in the profile where it knows one.
    """
    RULES.add(Rule(f"rehearsal-{_step}", Severity.ERROR, diagnostics, "terraform", Subject.REHEARSAL, _page))


def rule_of(step: str) -> Rule:
    """The rule of a step of Terraform: of ``"apply (previous)"`` it is `rehearsal-apply`."""
    return RULES.of(Subject.REHEARSAL)[f"rehearsal-{step.partition(' ')[0]}"]
