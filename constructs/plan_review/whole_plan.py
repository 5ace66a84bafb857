"""What a plan's JSON says beside its changes: checks, deferred changes, actions, outputs, the prior state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from plan_review import values

Object = dict[str, Any]


def deferred(document: Object) -> tuple[tuple[str, str], ...]:
    """(address, reason) of changes that Terraform puts off to a later plan."""
    found = []
    for each in _objects(document.get("deferred_changes")):
        address = values.text(each, "resource_change.address") or "(a resource not known yet)"
        found.append((address, values.text(each, "reason").replace("_", " ") or "no reason told"))
    for each in _objects(document.get("deferred_action_invocations")):
        address = values.text(each, "action_invocation.address") or "(an action not known yet)"
        found.append((address, values.text(each, "reason").replace("_", " ") or "no reason told"))
    return tuple(sorted(found))


def failed_checks(document: Object) -> tuple[tuple[str, str], ...]:
    """(check, message) of each check, condition or validation that fails at plan."""
    found: list[tuple[str, str]] = []
    for each in _objects(document.get("checks")):
        if each.get("status") not in ("fail", "error"):
            continue
        name = values.text(each, "address.to_display") or values.text(each, "address.name") or "a check"
        said = [
            (values.text(one, "address.to_display") or name, values.text(problem, "message") or "no message")
            for one in _objects(each.get("instances"))
            if one.get("status") in ("fail", "error")
            for problem in (_objects(one.get("problems")) or [{}])
        ]
        found += said or [(name, "no message")]
    return tuple(found)


def invocations(document: Object) -> tuple[tuple[str, str], ...]:
    """(address, what triggers it) of the actions of providers that the apply runs (Terraform 1.14)."""
    found = []
    for each in _objects(document.get("action_invocations")):
        trigger = values.get(each, "lifecycle_action_trigger", {})
        event = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", values.text(trigger, "action_trigger_event")).lower()
        by = values.text(trigger, "triggering_resource_address")
        found.append((str(each.get("address") or "an action"), f"{event} of {by}".strip() if by else "asked for"))
    return tuple(found)


def revealed(document: Object) -> tuple[str, ...]:
    """Outputs that were sensitive and are shown from now on."""
    changes = document.get("output_changes")
    return tuple(
        name
        for name, each in sorted(changes.items() if isinstance(changes, dict) else ())
        if isinstance(each, dict)
        and each.get("before_sensitive") is True
        and not each.get("after_sensitive")
        and each.get("actions") != ["delete"]
    )


def standing(document: Object) -> int | None:
    """The resources in the prior state; None where the plan holds no prior state."""
    root = values.get(document.get("prior_state"), "values.root_module")
    if root is None:
        return None
    return len(standing_resources(document))


def standing_resources(document: Object) -> list[Object]:
    """The managed resources of the prior state, as `terraform show -json` writes them."""
    root = values.get(document.get("prior_state"), "values.root_module")
    return [each for each in _resources(root) if each.get("mode") == "managed"]


def _resources(module: Any) -> Iterator[Object]:
    pending = [module]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            yield from _objects(each.get("resources"))
            pending += _objects(each.get("child_modules"))


def _objects(value: Any) -> list[Object]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
