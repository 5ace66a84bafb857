"""What a signature on a report binds: digests of each plan's content and of all that the verdict stands on.

A file's own bytes would not do: the same plan comes from `terraform show -json`, gzipped, wrapped by a workflow's
action, or from Terraform Cloud. So the content is digested: what the apply will do and with which values. Left out is
when the plan was made and what repeats the rest (`planned_values`, `prior_state`, `relevant_attributes`, versions of
the format): a plan made an hour later that does the same has the same digest, and one that does anything else has not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: Top-level keys of a plan's JSON that say nothing of what the apply does. Source: Terraform documentation, "JSON
#: output format", plan representation; the `plan_format_version` and `provider_*` of Terraform Cloud.
_LEFT_OUT = frozenset(
    {
        "timestamp",
        "format_version",
        "plan_format_version",
        "provider_format_version",
        "provider_schemas",
        "planned_values",
        "prior_state",
        "relevant_attributes",
    }
)

#: Lists whose order says nothing, and which are so long that each entry is digested by itself.
_ENTRIES = ("resource_changes", "resource_drift")

_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def content_digest(document: dict[str, Any]) -> str:
    """The SHA-256, in hex, of what a plan does. Raises RecursionError for what is nested beyond any plan."""
    parts = {key: value for key, value in document.items() if key not in _LEFT_OUT and key not in _ENTRIES}
    for key in _ENTRIES:
        entries = document.get(key)
        parts[key] = sorted(_sha256(each) for each in entries) if isinstance(entries, list) else entries
    return _sha256({key: value for key, value in parts.items() if value not in (None, [], {})})


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Approval:
    """What one signature stands for.

    `plans` are (stack, content digest, when it was planned); `inputs` (what, SHA-256) of files that decide the verdict;
    `accepted` and `claims` are what was said on the command line and in the profile, in words.
    """

    plans: tuple[tuple[str, str, str], ...]
    inputs: tuple[tuple[str, str], ...] = ()
    accepted: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """``sha256:...`` over all of it, whatever the files are called and in whatever order they were given."""
        return "sha256:" + _sha256(
            {
                "plans": sorted(content for _, content, _ in self.plans),
                "inputs": sorted([kind.partition(" ")[0], digest] for kind, digest in self.inputs),
                "accepted": sorted(self.accepted),
                "claims": sorted(self.claims),
            }
        )

    def data(self) -> dict[str, Any]:
        """As the JSON report has it."""
        return {
            "digest": self.digest,
            "plans": [
                {"stack": stack, "content": content, "planned_at": at or None} for stack, content, at in self.plans
            ],
            "inputs": [{"what": what, "sha256": digest} for what, digest in self.inputs],
            "accepted": list(self.accepted),
            "claims": list(self.claims),
        }


def from_data(data: Any) -> Approval | None:
    """The approval of a JSON report; None when it has none, or one whose parts do not give its digest."""
    if not isinstance(data, dict):
        return None
    try:
        found = Approval(
            tuple((str(e["stack"]), str(e["content"]), str(e["planned_at"] or "")) for e in data["plans"]),
            tuple((str(e["what"]), str(e["sha256"])) for e in data["inputs"]),
            _texts(data["accepted"]),
            _texts(data["claims"]),
        )
    except (KeyError, TypeError):
        return None
    return found if found.digest == data.get("digest") else None


def _texts(given: Iterable[Any]) -> tuple[str, ...]:
    return tuple(str(each) for each in given)


def parse_digest(text: str) -> str | None:
    """A digest as it is written in a report, with or without ``sha256:``; None for what is none."""
    found = _DIGEST.fullmatch(text.strip().lower())
    return f"sha256:{found[1]}" if found else None
