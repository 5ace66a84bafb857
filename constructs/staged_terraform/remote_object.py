"""One object in the simulated cloud, a refusal of that cloud, and what a destroy without a call leaves in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from staged_terraform.computed_values import first, plain, render
from staged_terraform.facts import TypeFacts

Object = dict[str, Any]


class Refused(Exception):
    """The cloud says no. `created` is what exists nevertheless (a timeout after creation)."""

    def __init__(self, summary: str, detail: str = "", created: Object | None = None) -> None:
        super().__init__(summary)
        self.summary, self.detail, self.created = summary, detail, created


@dataclass(slots=True)
class RemoteObject:
    """One object in the cloud. `cluster` is set for what lives in a Kubernetes cluster.

    `identity` stands in where the state has no id of its own (a kubernetes_manifest).
    """

    type: str
    state: Object
    facts: TypeFacts
    project: str
    cluster: str = ""
    identity: str = ""

    @property
    def id(self) -> str:
        return self.identity or str(self.state.get("id") or "")

    @property
    def names(self) -> set[str]:
        """Everything by which others refer to it, without the front of a self link."""
        found = {self.id}
        for key in ("name", "email", "self_link", "account_id", "instance_id", "secret_id", "service"):
            if isinstance(value := self.state.get(key), str):
                found.add(plain(value))
        if isinstance(name := first(self.state, "metadata.name"), str):
            found.add(name)
        return found - {""}


#: What a destroy that makes no call leaves in the cloud, as a type of its own: no stack knows it.
LEFT = "left-in-cloud"


def abandons(remote: RemoteObject) -> bool:
    """Whether the provider makes no call to delete it: it leaves the state, and stays."""
    facts = remote.facts.abandons
    return bool(facts) and remote.state.get(facts["argument"]) == facts["value"]


def left_of(remote: RemoteObject) -> RemoteObject:
    """What stays in the cloud of something that was abandoned."""
    facts, members = remote.facts.abandons, {**remote.state, "project": remote.project}
    held = str(remote.state.get(facts["holds"]))
    state = {
        "id": render(facts["leaves"], (), members),
        "by_hand": render(facts["by_hand"], (), members),
        facts["holds"]: held,
    }
    return RemoteObject(LEFT, state, TypeFacts(LEFT, holds={facts["holds"]: facts["type"]}), remote.project)
