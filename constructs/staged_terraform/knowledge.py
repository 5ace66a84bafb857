"""What a rehearsal is told of the outside: facts of provider types, the order of stacks, and where to keep schemas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from staged_terraform.facts import Facts
from staged_terraform.schema_changes import NO_CHANGES, SchemaChanges


def _no_kind(stack: str) -> str | None:
    return None


def _by_name(stack: str) -> tuple[int, str]:
    return 0, stack


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What a program knows beyond the schemas.

    `kind_of` says what a stack of a name is (None: its name), `rank` sorts names into the order of application.
    `cache` is the folder for recovered schemas; None is this package's own. `changes` says which releases of the
    providers are meant, and what their schemas have beyond the bindings'.
    """

    facts: Facts = field(default_factory=Facts)
    kind_of: Callable[[str], str | None] = _no_kind
    rank: Callable[[str], tuple[int, str]] = _by_name
    cache: Path | None = None
    changes: SchemaChanges = NO_CHANGES


#: Facts are guessed from schemas, and stacks go by name.
NOTHING_KNOWN = Knowledge()
