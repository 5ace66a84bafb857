"""Takes stacks through real Terraform in one simulated cloud: apply in order, plan again, destroy in reverse.

The re-plan must be empty: anything else is a difference that would come back with every plan. With a previous synth
output they are first built from that, and what is planned is the upgrade.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from findings import RULES, Severity, Subject, UserError
from staged_terraform import fault_recovery
from staged_terraform.connections import remove_by_hand
from staged_terraform.knowledge import NOTHING_KNOWN, Knowledge
from staged_terraform.report import Report, StackReport, changes
from staged_terraform.rules import rule_of
from staged_terraform.schemas import TypeKey
from staged_terraform.server import Server
from staged_terraform.simulated_cloud import SimulatedCloud
from staged_terraform.stacks import Stack, keys_of, names_made, projects_of, promised, protected, read_stacks
from staged_terraform.terraform import Result, Terraform, scratch_copy, type_keys
from staged_terraform.timeline import critical_path

Until = Literal["validate", "plan", "apply", "destroy"]
UNTIL: tuple[Until, ...] = ("validate", "plan", "apply", "destroy")

#: (stack, step, resource or "", event) as it happens; event is "start", "done" or a resource's own.
Progress = Callable[[str, str, str, str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What to rehearse. `stack` limits what is reported; the stacks before it are applied, since it reads them.

    `existing` names what stands outside the stacks, as ``(type, name)``. `keep` gets plans and the report.
    """

    until: Until = "destroy"
    stack: str = ""
    faults: tuple[str, ...] = ()
    previous: Path | None = None
    existing: frozenset[tuple[str, str]] = frozenset()
    keep: Path | None = None


class StackMissing(UserError):
    """The stack asked for is not in the synth output."""


def rehearse(
    synth_output: Path,
    options: Options,
    progress: Progress | None = None,
    knowledge: Knowledge = NOTHING_KNOWN,
) -> Report:
    """Rehearse a synth output. Raises TerraformMissing, NoStacks, StackMissing or WheelMissing before anything runs."""
    started = time.monotonic()
    stacks = read_stacks(synth_output, knowledge)
    old = read_stacks(options.previous, knowledge) if options.previous else []
    if options.stack:
        at = next((i for i, each in enumerate(stacks) if options.stack in (each.name, each.kind)), None)
        if at is None:
            known = ", ".join(each.kind for each in stacks)
            raise StackMissing(f"no stack {options.stack!r} in {synth_output}; there are {known}")
        stacks = stacks[: at + 1]
    report = Report(options.until, upgraded_from=str(options.previous or ""))
    scratch = Path(tempfile.mkdtemp(prefix="staged-terraform-"))
    try:
        cloud = SimulatedCloud(
            knowledge.facts,
            outside=set(options.existing),
            made_by_stacks=names_made([*stacks, *old]),
            projects=projects_of([*stacks, *old]),
            promised=promised([*stacks, *old]),
        )
        with Server(keys_of([*stacks, *old]), cloud, cache=knowledge.cache, changes=knowledge.changes) as server:
            run = Rehearsal(server, report, options, progress or (lambda *_: None), knowledge.changes.versions)
            if options.previous:
                run.build_previous(old, options.previous, scratch / "old")
            run.go(stacks, scratch_copy(synth_output, scratch / "new"))
            report.guessed = server.guessed
        report.assumed = sorted(cloud.assumptions)
        report.seconds = time.monotonic() - started
        if options.keep:
            keep(report, options.keep)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return report


@dataclass(slots=True)
class Rehearsal:
    """One run over the stacks. Public for tests, which rehearse parts of it."""

    server: Server
    report: Report
    options: Options
    progress: Progress
    versions: Mapping[str, str] = field(default_factory=dict)
    previous: dict[str, Path] = field(default_factory=dict)
    applied: list[tuple[Stack, Terraform, StackReport]] = field(default_factory=list)

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults that were asked for."""
        return self.options.faults

    def terraform(self, stack: Stack, root: Path) -> Terraform:
        """Terraform in the scratch copy of a stack, initialised."""
        folder = root / "stacks" / stack.name
        terraform = Terraform(folder, self.server.environment())
        terraform.listener = lambda event: self._hear(stack, event)
        terraform.prepare()
        self.server.cloud.folder = folder
        self.server.offer(type_keys(stack.configuration) | self._types_in_state(stack))
        self._check(stack, "init", terraform.init())
        return terraform

    def _types_in_state(self, stack: Stack) -> set[TypeKey]:
        """Types that only the previous output had: Terraform needs their schemas to destroy what is left of them."""
        before = self.previous.get(stack.name) or self.previous.get(stack.kind)
        if before is None:
            return set()
        return type_keys(json.loads((before / "cdk.tf.json").read_text("utf-8")))

    def build_previous(self, old: list[Stack], source: Path, root: Path) -> None:
        """Apply the earlier output; its states are what the upgrade starts from."""
        scratch_copy(source, root)
        for stack in old:
            terraform = self.terraform(stack, root)
            if not self._check(stack, "apply (previous)", terraform.apply()):
                return
            self.previous[stack.name] = self.previous[stack.kind] = terraform.folder

    def go(self, stacks: list[Stack], root: Path) -> None:
        """Every stack up to `until`; stops at the first error, since what follows would only repeat it."""
        for stack in stacks:
            if self.failed:
                return
            entry = StackReport(stack.name, stack.kind)
            self.report.stacks.append(entry)
            self.judge("rehearsal-provider", stack)
            self.judge("rehearsal-version", (stack, self.versions))
            if self.failed:
                return
            terraform = self.terraform(stack, root)
            before = self.previous.get(stack.name) or self.previous.get(stack.kind)
            if before and (before / "rehearsal.tfstate").exists():
                shutil.copy(before / "rehearsal.tfstate", terraform.folder)
            if self.failed or not self._validate(stack, terraform, entry) or self.options.until == "validate":
                continue
            last = stack is stacks[-1]
            self._plan_and_apply(stack, terraform, entry, apply=not last or self.options.until != "plan")
        if self.options.until == "destroy":
            self.destroy()
        played = {each.fault for each in self.report.faults if each.hit or each.fault == "lock"}
        if not self.failed:
            self.judge("rehearsal-fault", [text for text in self.options.faults if text not in played])

    @property
    def failed(self) -> bool:
        return any(each.severity is Severity.ERROR for each in self.report.findings)

    def _validate(self, stack: Stack, terraform: Terraform, entry: StackReport) -> bool:
        self.progress(stack.name, "validate", "", "start")
        result = terraform.validate()
        entry.seconds["validate"] = result.seconds
        return self._check(stack, "validate", result)

    def _plan_and_apply(self, stack: Stack, terraform: Terraform, entry: StackReport, apply: bool) -> None:
        self.progress(stack.name, "plan", "", "start")
        result = terraform.plan()
        entry.seconds["plan"] = result.seconds
        # Warnings were given by validate.
        if not self._check(stack, "plan", result, warnings=False):
            return
        entry.plan_json = terraform.show()
        entry.planned = changes(entry.plan_json)
        if not apply:
            return
        self.applied.append((stack, terraform, entry))
        self.progress(stack.name, "apply", "", "start")
        if not fault_recovery.play(self, stack, terraform, entry):
            result = terraform.apply("rehearsal.tfplan")
            entry.seconds["apply"] = result.seconds
            self._record(entry, result)
            if not self._check(stack, "apply", result, warnings=False):
                return
        self._replan(stack, terraform, entry)
        seconds = {
            name: facts.seconds[0] for each in self.server.providers.values() for name, facts in each.facts.items()
        }
        entry.path = critical_path(terraform.state(), seconds)

    def _replan(self, stack: Stack, terraform: Terraform, entry: StackReport) -> None:
        self.progress(stack.name, "re-plan", "", "start")
        again = terraform.plan("-detailed-exitcode")
        entry.seconds["re-plan"] = again.seconds
        entry.empty_replan = again.code == 0
        self.judge("rehearsal-perpetual-diff", again)
        if again.code != 2:
            self._check(stack, "re-plan", again, warnings=False)

    def destroy(self) -> None:
        """Destroy in reverse, protection lifted in the scratch copy where there is any; then nothing may be left."""
        for stack, terraform, entry in reversed(self.applied):
            self.server.cloud.folder = terraform.folder
            self.server.offer(type_keys(stack.configuration))
            if not self.destroy_one(stack, terraform, entry):
                return
        objects = sorted(self.server.cloud.objects.items(), key=lambda pair: pair[0])
        remaining = [(remote.type, remote.id) for _, remote in objects]
        self.report.remaining += [f"{kind} {identity}" for kind, identity in remaining]
        if not self.failed and not self.options.previous:
            self.judge("rehearsal-left-behind", remaining)

    def destroy_one(self, stack: Stack, terraform: Terraform, entry: StackReport) -> bool:
        self.progress(stack.name, "destroy", "", "start")
        lifted = protected(stack, terraform.state())
        if lifted:
            entry.lifted = sorted(f"{kind}.{name}" for kind, named in lifted.items() for name in named)
            terraform.unprotect(lifted)
            if not self._check(stack, "lift protection", terraform.apply(), warnings=False):
                return False
        result = terraform.destroy()
        while steps := [step for each in result.errors for step in remove_by_hand(self.server.cloud, each.summary)]:
            entry.by_hand += steps
            before, result = result, terraform.destroy()
            result = replace(result, changes={**before.changes, **result.changes})
        terraform.protect()
        entry.seconds["destroy"] = result.seconds
        entry.destroyed = sorted(address for address, action in result.changes.items() if action == "delete")
        return self._check(stack, "destroy", result, warnings=False)

    def judge(self, slug: str, subject: Any) -> None:
        """Add what a rule of rehearsals says."""
        self.report.findings += RULES.of(Subject.REHEARSAL)[slug].findings(subject)

    def _check(self, stack: Stack, step: str, result: Result, warnings: bool = True) -> bool:
        """Turn a run's diagnostics into findings; True when it succeeded."""
        for each in rule_of(step).findings((step, result)):
            if warnings or each.severity is Severity.ERROR:
                self.report.findings.append(replace(each, address=f"{stack.kind}: {each.address}"))
        self.progress(stack.name, step, "", "done")
        return result.ok

    @staticmethod
    def _record(entry: StackReport, result: Result) -> None:
        for address, action in sorted(result.changes.items()):
            into = {"create": entry.created, "update": entry.changed, "replace": entry.replaced}
            done = into.get(action, entry.destroyed)
            if address not in done:
                done.append(address)

    def record(self, entry: StackReport, result: Result) -> None:
        """What a run of apply did, for recovery, which applies more than once."""
        self._record(entry, result)

    def _hear(self, stack: Stack, event: dict[str, Any]) -> None:
        if event.get("type") in ("apply_start", "apply_complete", "apply_errored"):
            address = event["hook"]["resource"]["addr"]
            self.progress(stack.name, event["hook"].get("action", ""), address, event["type"])


def keep(report: Report, folder: Path) -> None:
    """Write plans and report; every file's name and content says that it is simulated."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SIMULATED.txt").write_text(
        "These plans were made by a rehearsal on simulated providers. Nothing here describes a real project.\n"
        "Never hand them to terraform apply.\n",
        "utf-8",
    )
    for stack in report.stacks:
        if stack.plan_json:
            body = {"simulated": True, **stack.plan_json}
            (folder / f"{stack.name}.plan.simulated.json").write_text(json.dumps(body, indent=1) + "\n", "utf-8")
    (folder / "report.simulated.json").write_text(json.dumps(report.to_json(), indent=1) + "\n", "utf-8")


__all__ = ["UNTIL", "Options", "Rehearsal", "StackMissing", "Until", "keep", "rehearse"]
