"""Plays a fault against an apply and then does what an operator would: look, mend, apply again, until it is well.

What it did is the recovery that the fault really needed, in order; documentation and run-book can be held against it.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Protocol

from staged_terraform.faults import Fault, drift, held_lock, held_name, orphan
from staged_terraform.report import FaultReport, Report, StackReport, changes
from staged_terraform.server import Server
from staged_terraform.stacks import Stack
from staged_terraform.terraform import Result, Terraform

#: Applies and imports that an operator may need before we call it unrecoverable.
_PATIENCE = 20


class Run(Protocol):
    """What of a rehearsal a recovery uses."""

    report: Report
    server: Server

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults that were asked for."""

    def destroy_one(self, stack: Stack, terraform: Terraform, entry: StackReport) -> bool:
        """Destroy a stack again; False when that failed."""

    def record(self, entry: StackReport, result: Result) -> None:
        """Note what an apply did."""


def play(run: Run, stack: Stack, terraform: Terraform, entry: StackReport) -> bool:
    """Play those of the run's faults that concern this stack, one after another; False when there is none.

    Each is played against a stack that is not there yet: between two faults the stack is destroyed. On return it is
    applied, and each fault has its report.
    """
    planned = {each.type for each in entry.planned if each.action == "create"}
    done = {each.fault for each in run.report.faults}
    mine = {
        text: fault
        for text in run.faults
        if (fault := Fault.parse(text)) and _concerns(fault, planned) and (fault.each or text not in done)
    }
    for position, (text, fault) in enumerate(mine.items()):
        if position and not run.destroy_one(stack, terraform, entry):
            break
        outcome = FaultReport(text, stack.name, advice=fault.kind.advice)
        run.report.faults.append(outcome)
        _play_one(run, terraform, entry, fault, outcome)
    return bool(mine)


def _concerns(fault: Fault, planned: set[str]) -> bool:
    """Whether the stack makes what a fault hits; the Kubernetes API is asked by stacks with objects in a cluster."""
    if fault.kind.cluster_says and fault.each:
        return any(name.startswith(("kubernetes_", "helm_")) for name in planned)
    return fault.each or any(name.startswith(fault.type_pattern) for name in planned)


def _play_one(run: Run, terraform: Terraform, entry: StackReport, fault: Fault, outcome: FaultReport) -> None:
    cloud = run.server.cloud
    if fault.kind.cluster_says:
        _refuse_at_refresh(run, terraform, entry, fault, outcome)
        return
    if fault.kind.name == "drift":
        run.record(entry, terraform.apply())
        outcome.hit = drift(cloud, fault.type_pattern)
    else:
        cloud.interference.append(fault)
        terraform.on_start = lambda process: setattr(fault, "process", process)
        with held_lock(terraform.folder) if fault.kind.name == "lock" else nullcontext():
            first = terraform.apply()
        terraform.on_start = None
        run.record(entry, first)
        outcome.said = first.errors[0].summary if first.errors else ("" if first.ok else f"exit code {first.code}")
    if fault.kind.name == "normalise":
        fault.armed = False
        outcome.said = "the plan after the apply is not empty"
    if not fault.each:
        cloud.interference = [each for each in cloud.interference if each is not fault]
    _recover(run, terraform, entry, fault, outcome)
    cloud.interference = [each for each in cloud.interference if each is not fault]
    outcome.hit = outcome.hit or dict(fault.hits)


def _refuse_at_refresh(run: Run, terraform: Terraform, entry: StackReport, fault: Fault, outcome: FaultReport) -> None:
    """Plan and destroy against an API that refuses: both must fail, and the state must keep what there is."""
    run.record(entry, terraform.apply())
    before = _addresses(terraform.state())
    cloud = run.server.cloud
    cloud.cluster_says = fault.kind.cluster_says
    try:
        planned = terraform.plan()
        if planned.ok:
            outcome.next_plan = changes(terraform.show())
        destroyed = terraform.destroy()
    finally:
        cloud.cluster_says = ""
    outcome.hit = {address.partition(".")[0]: address for address in sorted(before)}
    said = (each.summary for each in (*planned.errors, *destroyed.errors))
    outcome.said = next(said, "nothing: it took all for gone")
    outcome.lost = sorted(before.keys() - _addresses(terraform.state()).keys())
    for address in outcome.lost:
        if terraform.import_object(address, before[address]).ok:
            outcome.recovery.append(f"import {address} {before[address]}")
    _recover(run, terraform, entry, fault, outcome)
    # What must be put back by hand was not held.
    outcome.recovered = outcome.recovered and not planned.ok and not destroyed.ok and not outcome.lost


def _addresses(state: dict[str, Any]) -> dict[str, str]:
    """Address -> what `terraform import` calls it, for all that a state manages."""
    found = {}
    for each in state.get("resources", []):
        for instance in each["instances"] if each.get("mode") == "managed" else ():
            told = instance.get("attributes") or {}
            release = f"{told.get('namespace')}/{told.get('name')}"
            found[f"{each['type']}.{each['name']}"] = release if each["type"] == "helm_release" else str(told.get("id"))
    return found


def _recover(run: Run, terraform: Terraform, entry: StackReport, fault: Fault, outcome: FaultReport) -> None:
    """Plan, apply, import what is orphaned, untaint what is protected, until the plan is empty."""
    if not outcome.next_plan and terraform.plan().ok:
        outcome.next_plan = changes(terraform.show())
    for _ in range(_PATIENCE):
        hits = len(fault.hits)
        result = terraform.apply()
        run.record(entry, result)
        outcome.recovery.append("apply" if result.ok else "apply (refused)")
        if result.ok:
            break
        steps = _mend(run, terraform, result)
        outcome.recovery += steps
        if not steps and len(fault.hits) == hits:
            break
    outcome.recovered = terraform.plan("-detailed-exitcode").code == 0


def _mend(run: Run, terraform: Terraform, result: Result) -> list[str]:
    """What the refusals of an apply call for, done; empty when we know of nothing."""
    steps = []
    for address, identity in _orphans(result):
        if terraform.import_object(address, identity).ok:
            steps.append(f"import {address} {identity}")
    for each in result.errors:
        if named := held_name(each.detail):
            run.server.cloud.uninstall(*named)
            steps.append(f"helm uninstall {named[0]} --namespace {named[1]}")
    if any(word in each.summary + each.detail for each in result.errors for word in _PROTECTED):
        # A creation that timed out is tainted, which plans a replacement, which protection refuses.
        for address in _tainted(terraform.state()):
            if terraform.untaint(address).ok:
                steps.append(f"untaint {address}")
    return steps


_PROTECTED = ("prevent_destroy", "deletion_protection")


def _tainted(state: dict[str, Any]) -> list[str]:
    return [
        f"{each['type']}.{each['name']}"
        for each in state.get("resources", [])
        if any(instance.get("status") == "tainted" for instance in each["instances"])
    ]


def _orphans(result: Result) -> list[tuple[str, str]]:
    """(address, id) of what exists and is not in the state."""
    return [(each.address, identity) for each in result.errors if (identity := orphan(each.summary)) and each.address]
