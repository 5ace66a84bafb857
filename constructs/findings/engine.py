"""The one way groundplan says that something is wrong, for profiles, rehearsals and reviews alike.

A :class:`Finding` names the rule that was broken, how bad that is, the thing, and the mend. A :class:`Rule` is a plain
function from a subject (a Site, a plan) to findings, registered with the :func:`rule` decorator; its docstring is its
documentation page (``groundplan explain RULE``), which ends with its `Source:` and its `Mend:`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

#: Rule of what is found of a file that cannot be read: nothing of it was judged.
UNREADABLE = "profile-unreadable"

#: Where in a profile: keys and list positions from the root, e.g. ``("gpu", "pools", 0, "nodes")``.
ProfilePath = tuple[str | int, ...]


class Severity(StrEnum):
    """An error stops synthesis; a warning is printed and stops it only under ``--strict``."""

    ERROR = "error"
    WARNING = "warning"


class Subject(StrEnum):
    """What a rule judges."""

    SITE = "site"
    """One profile, resolved."""
    FLEET = "fleet"
    """Several profiles, against one another."""
    PLAN = "plan"
    """Terraform's plans, or two synth outputs."""
    REHEARSAL = "rehearsal"
    """A run of Terraform on simulated providers."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file: line and column count from 1; `text` is the whole source line, for the caret display."""

    file: str
    line: int
    column: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    `message` names the thing, the value and the limit; `hint` is the mend. `path` points into the profile, `address`
    at a Terraform resource (reviews and rehearsals); `location` is filled in when the source file is known.
    """

    rule: str
    severity: Severity
    message: str
    hint: str = ""
    path: ProfilePath = ()
    address: str = ""
    location: Location | None = None
    ignored: str = ""
    """The reason for which the profile accepts it; empty when it counts."""
    stack: str = ""
    """The stack that `address` stands in."""
    category: str = ""
    """What it is about: the rule's topic."""
    consequence: str = ""
    """What comes of it, where that is not said in `message`."""
    standing: bool = False
    """Whether it was so before the plan: reported, and of no weight."""

    @property
    def counts(self) -> bool:
        """Whether it weighs: not accepted by anybody, and not so before."""
        return not self.standing and not self.ignored

    @property
    def text(self) -> str:
        """The message with what comes of it."""
        return f"{self.message}; {self.consequence}" if self.consequence else self.message

    @property
    def where(self) -> str:
        """The dotted place, ``gpu.pools[0].nodes``, or the resource address."""
        return self.address or dotted(self.path)


def dotted(path: ProfilePath) -> str:
    """``("gpu", "pools", 0, "nodes")`` -> ``gpu.pools[0].nodes``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule function yields: a finding less the rule's own name and severity.

    `severity` overrides the rule's default for this one finding (a rule may warn where sources disagree and refuse
    where they agree).
    """

    path: ProfilePath
    message: str
    hint: str
    severity: Severity | None = None
    member: int = 0
    """Which profile it is about, for the rules of a fleet."""
    address: str = ""
    """The resource or stack it is about, for the rules of a rehearsal."""


#: From what is judged to problems (a Problem; rules on plans yield a kind of their own).
CheckFunction = Callable[[Any], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A named check. `slug` is stable: profiles ignore rules by it, and reports cite it.

    `page` stands for the docstring of the check where one check serves several rules.
    """

    slug: str
    severity: Severity
    check: CheckFunction
    topic: str
    subject: Subject = Subject.SITE
    page: str = ""

    @property
    def documentation(self) -> str:
        """The rule's docs page: its docstring, cleaned of indentation."""
        import inspect  # a heavy module that only `groundplan rules` and `explain` need

        return inspect.cleandoc(self.page or self.check.__doc__ or "")

    @property
    def summary(self) -> str:
        """The first sentence of the docs page."""
        first = " ".join((self.page or self.check.__doc__ or "").strip().partition("\n\n")[0].split())
        sentence, dot, _ = first.partition(". ")
        return sentence + dot.strip()

    @property
    def source(self) -> str:
        """Where it is known from; empty when its page does not say."""
        return self._paragraph("Source:")

    @property
    def mend(self) -> str:
        """What to change, in a sentence; empty when its page does not say."""
        return self._paragraph("Mend:")

    def _paragraph(self, word: str) -> str:
        found = (each for each in self.documentation.split("\n\n") if each.startswith(word))
        return " ".join(next(found, "").removeprefix(word).split())

    def findings(self, subject: Any) -> Iterator[Finding]:
        """Run the check and give its problems this rule's name and severity."""
        return map(self.finding, self.check(subject))

    def finding(self, problem: Problem) -> Finding:
        """A problem under this rule's name."""
        return Finding(
            self.slug,
            problem.severity or self.severity,
            problem.message,
            problem.hint,
            problem.path,
            problem.address,
            category=self.topic,
        )


#: What a profile is judged as.
_PROFILES = (Subject.SITE, Subject.FLEET)


class Registry:
    """Every rule, by module and in each as it stands there: whatever was imported first, the order is the same."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def add(self, entry: Rule) -> None:
        """Register a rule. Raises ValueError when its slug is taken, or nothing documents it."""
        if not entry.page and not entry.check.__doc__:
            raise ValueError(f"rule {entry.slug} has no docstring")
        # Subjects that are judged together share their slugs; a plan has its own, since one fact may be told of both.
        if entry.slug in (self.of_profiles if entry.subject in _PROFILES else self.of(entry.subject)):
            raise ValueError(f"rule {entry.slug} is registered twice")
        insort(self._rules, entry, key=lambda each: each.check.__module__)

    def all(self) -> list[Rule]:
        """Every rule."""
        return list(self._rules)

    def of(self, *subjects: Subject) -> dict[str, Rule]:
        """The rules on these subjects by slug."""
        return {entry.slug: entry for entry in self._rules if entry.subject in subjects}

    @property
    def of_profiles(self) -> dict[str, Rule]:
        """The rules of `check`: those on a site, and those on several."""
        return self.of(*_PROFILES)

    def named(self, slug: str) -> list[Rule]:
        """All rules of this name: one, or one for profiles and one for plans."""
        return [entry for entry in self._rules if entry.slug == slug]


#: The one registry.
RULES = Registry()


def rule(
    slug: str, severity: Severity = Severity.ERROR, subject: Subject = Subject.SITE
) -> Callable[[CheckFunction], CheckFunction]:
    """Register a check function under `slug`; its topic is the folder it stands in.

    Raises ValueError when the slug is taken or the function has no docstring (it is the rule's documentation).
    """

    def register(check: CheckFunction) -> CheckFunction:
        parts = check.__module__.split(".")  # groundplan.network.rules; groundplan.site.rules.names for the whole site
        topic = parts[-1] if parts[1] in ("site", "on_plans") else parts[1]
        RULES.add(Rule(slug, severity, check, topic, subject))
        return check

    return register


class UserError(Exception):
    """Something the user must mend; printed as its message alone, never as a traceback. Exit code 1."""


class ProfileError(UserError):
    """A profile that cannot be used; carries every finding, not the first only."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__(f"{len(findings)} error{'s' if len(findings) != 1 else ''}")
        self.findings = findings


class UnavailableError(UserError):
    """A tool, a package or a file that a command needs cannot be had; one line says how to mend it. Exit code 2."""
