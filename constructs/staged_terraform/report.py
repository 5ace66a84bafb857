"""What a rehearsal found, as data: the command prints it, ``--format json`` writes it, tests read it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from findings import Finding, Severity, writers
from staged_terraform.timeline import ASSUMPTIONS, Step

#: Said with every report: a green rehearsal is no promise.
NOT_CHECKED = (
    "whether Google accepts the request: quota, capacity, machine, zone and reservation together, permissions",
    "values that the API fills in, and most of the providers' own checks of arguments",
    "how long anything takes, eventual consistency, readiness of pods and nodes",
    "what Kubernetes and Helm make of a chart or manifest: only namespaces, kinds and references are looked at",
    "drift of anything that exists already, and your real state",
)


@dataclass(frozen=True, slots=True)
class Change:
    """A planned change; `because` names the arguments that force a replacement, or Terraform's reason."""

    address: str
    action: str
    because: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        return self.address.split(".")[-2]

    @property
    def loss(self) -> str:
        """What goes with the old object; empty for a change in place, and where nothing of weight goes."""
        return LOSSES.get(self.type, "") if self.action in ("replace", "delete") else ""


#: What a replacement or deletion of these types costs, beside the time: said wherever one is planned.
LOSSES = {
    "google_lustre_instance": "the file system and all data on it",
    "google_container_cluster": "the cluster with everything that runs on it",
    "google_container_node_pool": "its nodes are drained, and what runs on them stops",
    "google_storage_bucket": "the bucket and every object in it",
    "kubernetes_namespace_v1": "everything in the namespace",
}


@dataclass(slots=True)
class StackReport:
    """One stack: what was planned, made and destroyed, and seconds of wall-clock time by step.

    `by_hand` are commands beside Terraform without which the destroy would have stopped half-way.
    """

    name: str
    kind: str
    planned: list[Change] = field(default_factory=list)
    created: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    destroyed: list[str] = field(default_factory=list)
    lifted: list[str] = field(default_factory=list)
    by_hand: list[str] = field(default_factory=list)
    empty_replan: bool | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    path: list[Step] = field(default_factory=list)
    plan_json: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(slots=True)
class FaultReport:
    """What a fault did and what it took to recover; `lost` are addresses that left the state and still exist."""

    fault: str
    stack: str = ""
    hit: dict[str, str] = field(default_factory=dict)
    said: str = ""
    next_plan: list[Change] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    recovery: list[str] = field(default_factory=list)
    advice: str = ""
    recovered: bool = False


@dataclass(slots=True)
class Report:
    """The whole rehearsal."""

    until: str
    stacks: list[StackReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    faults: list[FaultReport] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    guessed: list[str] = field(default_factory=list)
    remaining: list[str] = field(default_factory=list)
    upgraded_from: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """No error was found, and every fault that was played was recovered from."""
        errors = any(each.severity is Severity.ERROR for each in self.findings)
        return not errors and all(each.recovered for each in self.faults)

    @property
    def not_checked(self) -> list[str]:
        found = list(NOT_CHECKED)
        if self.guessed:
            found.append("what replaces these types, and their identifiers, are guesses: " + ", ".join(self.guessed))
        return found

    def to_json(self) -> dict[str, Any]:
        """Everything but the raw plans; ``simulated`` is always true."""
        return {
            "simulated": True,
            "ok": self.ok,
            "until": self.until,
            "upgraded_from": self.upgraded_from,
            "seconds": round(self.seconds, 1),
            "stacks": [_stack(each) for each in self.stacks],
            "findings": [writers.finding_data(each) for each in self.findings],
            "faults": [asdict(each) for each in self.faults],
            "assumed_to_exist": self.assumed,
            "remaining": self.remaining,
            "critical_path": {
                "seconds": sum(step.seconds for stack in self.stacks for step in stack.path),
                "assumptions": list(ASSUMPTIONS),
            },
            "not_checked": self.not_checked,
        }


def _stack(stack: StackReport) -> dict[str, Any]:
    body = asdict(stack)
    del body["plan_json"]
    body["seconds"] = {step: round(value, 2) for step, value in stack.seconds.items()}
    return body


def changes(plan: dict[str, Any]) -> list[Change]:
    """The changes in Terraform's plan JSON, with what forces each replacement."""
    found = []
    for each in plan.get("resource_changes", []):
        actions = each["change"]["actions"]
        if actions in (["no-op"], ["read"]) or each.get("mode") == "data":
            continue
        action = "replace" if len(actions) == 2 else actions[0]
        paths = [".".join(str(step) for step in path) for path in each["change"].get("replace_paths", [])]
        reason = each.get("action_reason", "")
        if reason in ("replace_by_triggers", "replace_because_tainted"):
            paths.append(reason)
        found.append(Change(each["address"], action, tuple(dict.fromkeys(paths))))
    return found
