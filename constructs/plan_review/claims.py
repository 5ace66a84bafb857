"""What a change is meant to do, in words: ``gpu pool grows 2 -> 4``. All else that a plan does is outside the claim.

A claim is ``WHAT [NAME] [VERB] [OLD -> NEW [UNIT]]``. WHAT is an address or a pattern of addresses (``STACK:`` may
stand before it), a type, or a noun of :data:`KINDS`. Without a verb it covers whatever happens to the thing; ``grows``,
``shrinks`` and amounts cover the size alone, so that whatever else changes in the same resource is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from findings import Severity
from plan_review import display, values
from plan_review.changed import arguments
from plan_review.judgement import Alike, Breach, Category, plan_rule
from plan_review.model import QUIET, Action, Change, Plan

#: An amount before and after, by its unit: ``{"nodes": (2, 4), "GPUs": (16, 32)}``.
Amounts = Mapping[str, tuple[int | str, int | str]]


def _any(change: Change) -> bool:
    return True


def _none(change: Change) -> Amounts:
    return {}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a noun stands for: patterns of types, and which resources of them.

    `amounts` are its sizes, and `sizing` the arguments (first steps of their paths) that set them.
    """

    types: tuple[str, ...]
    holds: Callable[[Change], bool] = _any
    amounts: Callable[[Change], Amounts] = _none
    sizing: tuple[str, ...] = ()

    def has(self, change: Change) -> bool:
        return any(fnmatchcase(change.type, pattern) for pattern in self.types) and self.holds(change)


def _version(change: Change) -> Amounts:
    return {"version": (values.text(change.before, "version"), values.text(change.after, "version"))}


#: Nouns of a claim, singular. Products add theirs.
KINDS: dict[str, Kind] = {
    "bucket": Kind(("*_bucket",)),
    "chart": Kind(("helm_release",), amounts=_version, sizing=("version",)),
    "firewall": Kind(("*_firewall", "*_firewall_policy_rule", "*_security_group*", "*_network_firewall_policy*")),
    "grant": Kind(("*_iam_*",)),
    "network": Kind(("*_network", "aws_vpc", "azurerm_virtual_network")),
    "secret": Kind(("*_secret", "*_secret_version", "kubernetes_secret_v1")),
    "service account": Kind(("*_service_account", "kubernetes_service_account_v1")),
    "subnetwork": Kind(("*_subnetwork", "*_subnet")),
}

_VERBS = {
    "created": (Action.CREATE,),
    "destroyed": (Action.DESTROY,),
    "replaced": (Action.REPLACE,),
    "updated": (Action.UPDATE, Action.MOVE),
    "forgotten": (Action.FORGET,),
    "imported": (Action.IMPORT,),
    "moved": (Action.MOVE,),
    "grows": (Action.UPDATE,),
    "shrinks": (Action.UPDATE,),
}

_SAME = {
    "added": "created",
    "changed": "updated",
    "changes": "updated",
    "deleted": "destroyed",
    "recreated": "replaced",
    "removed": "destroyed",
    "grow": "grows",
    "shrink": "shrinks",
}

#: Words of English that say nothing here.
_FILLERS = frozenset({"is", "are", "be", "the", "from", "gets", "get"})

_DONE = {
    Action.REPLACE: "replaced",
    Action.DESTROY: "destroyed",
    Action.UPDATE: "updated",
    Action.CREATE: "created",
    Action.FORGET: "forgotten",
    Action.IMPORT: "imported",
    Action.MOVE: "moved",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim. Of `address`, `type` and `kind` one is given; the others are empty."""

    text: str
    address: str = ""
    type: str = ""
    kind: str = ""
    name: str = ""
    verb: str = ""
    amounts: tuple[str, str] | None = None
    unit: str = ""

    def names(self, change: Change) -> bool:
        """Whether the change is of what the claim names, whatever happens to it."""
        if self.address:
            pattern = self.address.replace("[", "[[]")
            return any(fnmatchcase(each, pattern) for each in (change.address, f"{change.stack}:{change.address}"))
        fits = fnmatchcase(change.type, self.type) if self.type else KINDS[self.kind].has(change)
        return fits and (not self.name or fnmatchcase(change.label, self.name) or change.name == self.name)

    def covers(self, change: Change) -> tuple[str, ...] | None:
        """The arguments of the change that the claim covers (``*``: whatever happens); None when it is outside."""
        if not self.names(change):
            return None
        if self.verb and change.action not in _VERBS[self.verb]:
            return None
        if self.amounts is None and self.verb not in ("grows", "shrinks"):
            return ("*",)
        found: list[str] = []
        for amounts, arguments_ in self._sizes(change):
            if all(self._right(*pair) for pair in amounts):
                found += arguments_
        return tuple(found) or None

    def _sizes(self, change: Change) -> Iterator[tuple[list[tuple[int | str, int | str]], tuple[str, ...]]]:
        """(the amounts that are one thing's size, the arguments that set it)."""
        kinds = [KINDS[self.kind]] if self.kind else [kind for kind in KINDS.values() if kind.has(change)]
        for kind in kinds:
            amounts = {unit.lower(): pair for unit, pair in kind.amounts(change).items() if pair[0] != pair[1]}
            wanted = [pair for unit, pair in amounts.items() if not self.unit or unit == self.unit.lower()]
            if self.amounts is not None:  # any unit of a thing will do
                wanted = [pair for pair in wanted if self._same(*pair)][:1]
            if wanted:
                yield wanted, kind.sizing
        if self.amounts is not None and not self.unit:
            for each in arguments(change) if change.action is Action.UPDATE else ():
                if (
                    isinstance(each.old, int | str)
                    and isinstance(each.new, int | str)
                    and self._same(each.old, each.new)
                ):
                    yield [(each.old, each.new)], (each.name,)

    def _same(self, old: int | str, new: int | str) -> bool:
        return self.amounts is not None and [_plain(old), _plain(new)] == [_plain(each) for each in self.amounts]

    def _right(self, old: int | str, new: int | str) -> bool:
        if self.verb not in ("grows", "shrinks"):
            return True
        was, becomes = values.number(old), values.number(new)
        if was is None or becomes is None:
            return False
        return becomes > was if self.verb == "grows" else becomes < was


def _plain(amount: int | str) -> str:
    return str(amount).replace(",", "").strip('"')


def parse_claim(text: str) -> Claim | str:
    """A claim from its words; a text says what is not understood."""
    words = [word for word in text.replace("->", " -> ").split() if word.lower() not in _FILLERS]
    if not words:
        return "it says nothing"
    subject, words = _subject(words)
    if not subject:
        return f"{words[0]} is no address, type, or one of {', '.join(sorted(KINDS))}"
    name = verb = unit = ""
    if words and _verb(words[0]) is None and not _starts_amounts(words):
        if "address" in subject:
            return _unknown(words[0])
        name, words = words[0], words[1:]
    if words and (found := _verb(words[0])):
        verb, words = found, words[1:]
    amounts = None
    if _starts_amounts(words):
        amounts, words = (words[0], words[2]), words[3:]
        if words:
            unit, words = words[0], words[1:]
    if words:
        return _unknown(words[0])
    if unit and unit.lower() not in (units := _units(subject)):
        return f"{unit} is no unit of it; it has {', '.join(sorted(units)) or 'none'}"
    return Claim(text, name=name, verb=verb, amounts=amounts, unit=unit, **subject)


def _subject(words: list[str]) -> tuple[dict[str, str], list[str]]:
    for length in (3, 2, 1):
        noun = " ".join(words[:length]).lower()
        for each in (noun, noun.removesuffix("s")):
            if each in KINDS:
                return {"kind": each}, words[length:]
    first = words[0]
    if "." in first or ":" in first or first == "*":
        return {"address": first}, words[1:]
    return ({"type": first}, words[1:]) if "_" in first else ({}, words)


def _verb(word: str) -> str | None:
    word = word.lower()
    word = _SAME.get(word, word)
    return word if word in _VERBS else None


def _starts_amounts(words: Sequence[str]) -> bool:
    return len(words) >= 3 and words[1] in ("->", "to")


def _unknown(word: str) -> str:
    return f"{word} is not understood; write WHAT [NAME] [{'|'.join(_VERBS)}] [OLD -> NEW [UNIT]]"


def _units(subject: dict[str, str]) -> set[str]:
    kind = KINDS.get(subject.get("kind", ""))
    if kind is None:
        return {"nodes", "gpus", "gib", "version", "workers"}
    empty = Change("", "", "", "", Action.UPDATE)
    return {unit.lower() for unit in kind.amounts(empty)}


@plan_rule("outside-claim", Severity.WARNING, Category.CLAIM, on="claims")
def outside_claim(subject: tuple[Sequence[Plan], Sequence[Claim]]) -> Iterator[Breach]:
    """The plan does something that no `--claim` says, or does not do what one says.

    A claim says what a change is meant to do. Whatever else the plan creates, updates, replaces or destroys stands
    before every other finding: it came with a stale branch, somebody's edit by hand, or an argument that reaches
    further than its author thought.

    Source: groundplan's own check: the claims of the command line against the plan's `resource_changes`.

    Mend: find out why it is in the plan; then say so with another `--claim`, or take it out.
    """
    plans, claims = subject
    fulfilled: set[str] = set()
    order = list(Action)
    changes = [change for plan in plans for change in plan.changes if change.action not in QUIET]
    for change in sorted(changes, key=lambda each: order.index(each.action)):
        covered = {claim.text: held for claim in claims if (held := claim.covers(change)) is not None}
        fulfilled |= set(covered)
        yield from _outside(change, [path for held in covered.values() for path in held])
    for claim in claims:
        if claim.text not in fulfilled:
            yield _unfulfilled(claim, plans)


def _outside(change: Change, covered: Sequence[str]) -> Iterator[Breach]:
    hint = "find out why it is in the plan; then claim it too, or take it out"
    if not covered:
        done = _DONE[change.action]
        yield Breach(
            change.stack,
            change.address,
            f"outside the claim: {change.address} is {done}",
            hint,
            alike=Alike((done,), f"outside the claim: {change.address}", "resources", f" are {done}", across=True),
        )
        return
    if "*" in covered or change.action is not Action.UPDATE:
        return
    left = dict.fromkeys(each.name for each in arguments(change) if not _within(each.name, covered))
    if left:
        message = f"outside the claim: {change.address} also changes {display.listed(list(left))}"
        yield Breach(change.stack, change.address, message, hint)


def _within(path: str, covered: Sequence[str]) -> bool:
    return any(path == each or path.startswith((f"{each}.", f"{each}[")) for each in covered)


def _unfulfilled(claim: Claim, plans: Sequence[Plan]) -> Breach:
    """A claim that nothing in the plans does."""
    named = [change for plan in plans for change in plan.changes if claim.names(change)]
    near = next((each for each in named if each.action not in QUIET), None)
    if near:
        so = f"{near.address} is {_DONE[near.action]}{_sizes(near)}"
    else:
        so = f"{named[0].address} does not change" if named else "no plan has such a resource"
    stack, address = (named[0].stack, (near or named[0]).address) if named else (plans[0].stack if plans else "", "")
    hint = "correct the claim, or make the plan anew with the edit in it"
    return Breach(stack, address, f"claimed and not so: {claim.text}: {so}", hint)


def _sizes(change: Change) -> str:
    said = [
        f"{old} -> {new} {unit}"
        for kind in KINDS.values()
        if kind.has(change)
        for unit, (old, new) in kind.amounts(change).items()
        if old != new
    ]
    return f" ({', '.join(dict.fromkeys(said))})" if said else ""
