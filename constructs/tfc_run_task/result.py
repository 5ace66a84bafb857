"""The answer to a run task, as the callback sends it (JSON:API)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: Terraform Cloud shows a message in one line.
_MESSAGE = 500

#: Outcomes that are sent, and the length of each body: a page shows them all.
MOST_OUTCOMES, _BODY = 50, 20_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """One finding: `body` is Markdown."""

    id: str
    description: str
    body: str
    level: Literal["none", "info", "warning", "error"]
    label: str


@dataclass(frozen=True, slots=True)
class TaskResult:
    """`pages` are files to be served, by their endings: ``{".html": ..., ".json": ...}``; the first is linked."""

    passed: bool
    message: str
    outcomes: tuple[Outcome, ...] = ()
    pages: Mapping[str, str] = field(default_factory=dict)

    def body(self, url: str, takes_outcomes: bool) -> dict[str, Any]:
        """The document that is sent; `url` is that of the first page, or empty."""
        attributes = {"status": "passed" if self.passed else "failed", "message": _cut(self.message, _MESSAGE)}
        data: dict[str, Any] = {"type": "task-results", "attributes": attributes | ({"url": url} if url else {})}
        if takes_outcomes and self.outcomes:
            outcomes = [_outcome(each, url) for each in self.outcomes[:MOST_OUTCOMES]]
            data["relationships"] = {"outcomes": {"data": outcomes}}
        return {"data": data}


def _outcome(outcome: Outcome, url: str) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "outcome-id": outcome.id,
        "description": _cut(outcome.description, _MESSAGE),
        "body": _cut(outcome.body, _BODY),
        "tags": {"Status": [{"label": outcome.label, "level": outcome.level}]},
    }
    return {"type": "task-result-outcomes", "attributes": attributes | ({"url": url} if url else {})}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
