"""Small plans written by hand, for what no site of ours would plan."""

from __future__ import annotations

from typing import Any

from groundplan.on_plans.assess import Assessment, Provenance, assess
from plan_review.reading import plan_of


def change(
    address: str, actions: list[str], before: dict[str, Any] | None, after: dict[str, Any] | None, **more: Any
) -> dict[str, Any]:
    """One entry of resource_changes; `more` goes to where Terraform puts it."""
    outer = {key: more.pop(key) for key in ("action_reason", "previous_address", "deposed") if key in more}
    kind, _, name = address.partition(".")
    return {
        "address": address,
        "mode": "managed",
        "type": kind,
        "name": name,
        "change": {"actions": actions, "before": before, "after": after, "after_unknown": {}, **more},
        **outer,
    }


def create(address: str, **values: Any) -> dict[str, Any]:
    return change(address, ["create"], None, values)


def update(address: str, before: dict[str, Any], after: dict[str, Any], **more: Any) -> dict[str, Any]:
    return change(address, ["update"], before, after, **more)


def same(address: str, **values: Any) -> dict[str, Any]:
    return change(address, ["no-op"], values, values)


def replaced(address: str, before: dict[str, Any], after: dict[str, Any], **more: Any) -> dict[str, Any]:
    return change(address, ["delete", "create"], before, after, **more)


def destroy(address: str, **values: Any) -> dict[str, Any]:
    return change(address, ["delete"], values, None)


def document(*changes: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A plan's JSON."""
    return {"format_version": "1.2", "terraform_version": "1.11.4", "resource_changes": list(changes), **more}


def written(address: str, **expressions: Any) -> dict[str, Any]:
    """The configuration of one resource, as plans hold it."""
    kind, _, name = address.partition(".")
    resource = {"address": address, "type": kind, "name": name, "expressions": expressions}
    return {"root_module": {"resources": [resource]}}


def judged(*changes: dict[str, Any], **options: Any) -> Assessment:
    """The assessment of one plan."""
    more = options.pop("more", {})
    plan = plan_of(document(*changes, **more), "stack", "plan.json")
    return assess([plan], provenance=Provenance("0"), **options)


def slugs(result: Assessment) -> dict[str, str]:
    """Rule -> severity of what counts."""
    return {each.rule: str(each.severity) for each in result.counting}
