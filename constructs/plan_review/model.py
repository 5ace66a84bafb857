"""What a review works on: plans, their changes, and the resources before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from plan_review import values
from plan_review.values import Path


class Action(StrEnum):
    """What happens to a resource. The order is the order of reports: the gravest first."""

    REPLACE = "replace"
    DESTROY = "destroy"
    UPDATE = "update"
    CREATE = "create"
    FORGET = "forget"
    IMPORT = "import"
    MOVE = "move"
    READ = "read"
    NONE = "no-op"


#: Actions that a reader of a report need not see.
QUIET = frozenset({Action.READ, Action.NONE})


@dataclass(frozen=True, slots=True)
class Change:
    """One resource of a plan. `before` and `after` are empty when it is not there.

    `unknown`, `secret_before` and `secret_after` are Terraform's marks: true, or the shape of the value with true where
    a value is known only after the apply, or hidden. `replace_paths` are the arguments that force a replacement;
    `reason` is Terraform's word for why it acts; `refers` are the resources that its configuration names, and `written`
    the expressions of that configuration (None where the plan holds none). `imported` is the identifier by which it is
    taken into the state.
    """

    stack: str
    address: str
    type: str
    name: str
    action: Action
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)
    unknown: Any = None
    secret_before: Any = None
    secret_after: Any = None
    replace_paths: tuple[Path, ...] = ()
    reason: str = ""
    previous_address: str = ""
    create_first: bool = False
    refers: frozenset[str] = frozenset()
    written: Any = None
    imported: str = ""

    @property
    def gone(self) -> bool:
        """Whether what exists now goes away."""
        return self.action in (Action.REPLACE, Action.DESTROY)

    @property
    def label(self) -> str:
        """The name that its owner gave it, else that of the configuration; of what goes, the name that goes."""
        sides = (self.before, self.after) if self.gone else (self.after, self.before)
        return resource_name(sides[0]) or resource_name(sides[1]) or self.name


def resource_name(of: dict[str, Any]) -> str:
    """The name in a resource's values; empty when it has none, or none known yet."""
    for path in ("name", "instance_id", "account_id", "secret_id", "metadata.name"):
        found = values.text(of, path)
        if found and not values.is_expression(found):
            return values.last_part(found) if values.is_link(found) else found
    return ""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as it stands, or as it will: the subject of policies."""

    stack: str
    address: str
    type: str
    values: dict[str, Any]
    unknown: Any = None
    refers: frozenset[str] = frozenset()

    def get(self, path: str, default: Any = None) -> Any:
        """The value at a dotted path (first element of each block)."""
        return values.get(self.values, path, default)

    def text(self, path: str) -> str:
        return values.text(self.values, path)

    def texts(self, path: str) -> list[str]:
        return values.texts(self.values, path)

    def blocks(self, path: str) -> list[dict[str, Any]]:
        return values.blocks(self.values, path)

    def flag(self, path: str) -> bool | None:
        return values.flag(self.values, path)

    def is_unknown(self, path: str) -> bool:
        """Whether the value is known only after the apply."""
        return values.unknown_at(self.unknown, path) or values.is_expression(self.get(path))

    @property
    def name(self) -> str:
        return resource_name(self.values) or self.address.rpartition(".")[2]


class Resources(Sequence[Resource]):
    """All resources of all plans on one side of the change, found by type."""

    def __init__(self, members: Sequence[Resource]) -> None:
        self._members = tuple(members)
        self._by_type: dict[str, list[Resource]] = {}
        for each in self._members:
            self._by_type.setdefault(each.type, []).append(each)

    def of(self, *types: str) -> Iterator[Resource]:
        """Resources of the types, in the order of the plans."""
        for kind in types:
            yield from self._by_type.get(kind, ())

    @property
    def types(self) -> frozenset[str]:
        return frozenset(self._by_type)

    def __getitem__(self, index: Any) -> Any:
        return self._members[index]

    def __len__(self) -> int:
        return len(self._members)


@dataclass(frozen=True, slots=True)
class Plan:
    """One Terraform root: a plan, or the difference between two configurations of it.

    `file` says where it came from, `digest` is the SHA-256 of the input, `content` that of what the plan does
    (plan_review.approval), `planned_at` when it was made, as Terraform writes it; `providers` are version constraints
    by full name, `charts` Helm charts as ``(release, chart, version)``. `outputs` are (name, before, after) of changed
    ones that are not sensitive; `hidden` the texts that are, which no report may show. `identical`: both configurations
    have the same bytes.

    `drift` is what was changed outside Terraform, from the state to what is there. `deferred` are (address, reason),
    `failed_checks` (check, message), `invocations` of actions (address, what triggers it), `revealed` outputs that were
    sensitive and are no longer, and `standing` the number of resources in the state (None: not told).
    """

    stack: str
    changes: tuple[Change, ...]
    file: str = ""
    digest: str = ""
    content: str = ""
    planned_at: str = ""
    terraform: str = ""
    providers: tuple[tuple[str, str], ...] = ()
    charts: tuple[tuple[str, str, str], ...] = ()
    variables: tuple[tuple[str, Any], ...] = ()
    outputs: tuple[tuple[str, Any, Any], ...] = ()
    drift: tuple[Change, ...] = ()
    deferred: tuple[tuple[str, str], ...] = ()
    failed_checks: tuple[tuple[str, str], ...] = ()
    invocations: tuple[tuple[str, str], ...] = ()
    revealed: tuple[str, ...] = ()
    standing: int | None = None
    hidden: frozenset[str] = frozenset()
    simulated: bool = False
    errored: bool = False
    complete: bool = True
    identical: bool = False
    configuration: bool = False


def hidden(plans: Sequence[Plan]) -> tuple[str, ...]:
    """Every text that must not be shown, the longest first."""
    found = {text for plan in plans for text in plan.hidden}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def updates(plans: Sequence[Plan], *types: str) -> Iterator[Change]:
    """The updates of resources of these types."""
    for plan in plans:
        yield from (each for each in plan.changes if each.action is Action.UPDATE and each.type in types)


def before(plans: Sequence[Plan]) -> Resources:
    """What stands now, as far as the plans tell."""
    return Resources([_old(each) for plan in plans for each in plan.changes if each.before])


def after(plans: Sequence[Plan]) -> Resources:
    """What will stand when all plans are applied."""
    return Resources(
        [
            Resource(each.stack, each.address, each.type, each.after, each.unknown, each.refers)
            for plan in plans
            for each in plan.changes
            if each.after or each.action is Action.CREATE
        ]
    )


def _old(change: Change) -> Resource:
    return Resource(change.stack, change.address, change.type, change.before, refers=change.refers)
