"""How a rehearsal is shown: a live line on a terminal, one line a step elsewhere, and the summary."""

from __future__ import annotations

import os
import shutil
import sys
import time
from types import TracebackType

from findings import Severity
from staged_terraform.report import FaultReport, Report, StackReport
from staged_terraform.timeline import ASSUMPTIONS

_CLEAR = "\r\x1b[2K"
_MARKS = {"create": "+", "update": "~", "delete": "-", "replace": "±"}


class Progress:
    """Tells what is going on, on stderr: stack, step, resource, elapsed. A context manager."""

    def __init__(self) -> None:
        self.live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.started = time.monotonic()
        self.last = ("", "")

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.live:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()

    def __call__(self, stack: str, step: str, resource: str, event: str) -> None:
        elapsed = time.monotonic() - self.started
        if self.live:
            line = f"simulated {elapsed:5.1f}s  {stack}  {step}  {resource}"
            sys.stderr.write(_CLEAR + line[: shutil.get_terminal_size().columns - 1])
            sys.stderr.flush()
        elif not resource and event == "done" and step not in ("init",) and (stack, step) != self.last:
            self.last = (stack, step)
            sys.stderr.write(f"simulated {elapsed:5.1f}s  {stack}  {step} done\n")


def text(report: Report) -> str:
    """The summary for people."""
    lines = ["Simulated rehearsal: real Terraform, no cloud. Nothing was made anywhere.", ""]
    if report.upgraded_from:
        lines += [f"Upgrade from {report.upgraded_from}:", ""]
    for stack in report.stacks:
        lines += _stack(stack, changes=bool(report.upgraded_from) or report.until == "plan")
    for fault in report.faults:
        lines += _fault(fault)
    if report.findings:
        lines += ["", "Findings (simulated):"]
    for finding in report.findings:
        mark = "error" if finding.severity is Severity.ERROR else "warning"
        lines.append(f"  {mark}: {finding.where}: {finding.message}  [{finding.rule}]")
        lines += [f"      {line}" for line in finding.hint.splitlines() if line.strip()]
    lines += _critical_path(report)
    if report.remaining:
        lines += ["", "Left after the destroy, as the configuration says:"]
        lines += [f"  {each}" for each in report.remaining]
    if report.assumed:
        lines += ["", "Assumed to exist outside the stacks:"]
        lines += [f"  {each}" for each in report.assumed]
    lines += ["", "Not checked:"]
    lines += [f"  - {each}" for each in report.not_checked]
    lines += ["", _verdict(report)]
    return "\n".join(lines)


def _stack(stack: StackReport, changes: bool) -> list[str]:
    parts = []
    if stack.planned or stack.empty_replan is not None:
        counts = {mark: sum(each.action == action for each in stack.planned) for action, mark in _MARKS.items()}
        parts.append(
            "planned " + (" ".join(f"{mark}{count}" for mark, count in counts.items() if count) or "no change")
        )
    if stack.created or stack.changed or stack.replaced:
        parts.append("applied")
    if stack.empty_replan is not None:
        parts.append("plan is empty again" if stack.empty_replan else "plan is NOT empty again")
    if stack.destroyed:
        parts.append(f"destroyed {len(stack.destroyed)}")
    took = sum(stack.seconds.values())
    lines = [f"  {stack.name:<28} {', '.join(parts) or 'valid'} ({took:.1f}s)"]
    if stack.lifted:
        lines.append(f"      protection lifted in the scratch copy to destroy: {', '.join(stack.lifted)}")
    lines += [f"      Google refused the destroy until: {each}" for each in stack.by_hand]
    if changes:
        for each in stack.planned:
            because = f"  (forced by {', '.join(each.because)})" if each.because else ""
            lines.append(f"      {_MARKS.get(each.action, '?')} {each.address}{because}")
            if each.loss:
                lines.append(f"        ! lost: {each.loss}")
    return lines


def _fault(fault: FaultReport) -> list[str]:
    lines = ["", f"Fault {fault.fault} in {fault.stack} (simulated):"]
    if fault.said:
        lines.append(f"  Terraform said: {fault.said}")
    for each in fault.next_plan:
        lines.append(f"  next plan: {_MARKS.get(each.action, '?')} {each.address}")
    lines += [f"  lost from the state, and still running: {address}" for address in fault.lost]
    lines.append(f"  recovered by: {', '.join(fault.recovery) or 'nothing'}" if fault.recovered else "  NOT recovered")
    lines.append(f"  advice: {fault.advice}")
    return lines


def _critical_path(report: Report) -> list[str]:
    total = sum(step.seconds for stack in report.stacks for step in stack.path)
    if not total:
        return []
    lines = ["", f"Critical path of a first apply: about {max(1, round(total / 60))} min, assuming:"]
    lines += [f"  - {each}" for each in ASSUMPTIONS]
    for stack in report.stacks:
        if stack.path:
            chain = " -> ".join(f"{step.address} {step.seconds}s" for step in stack.path)
            lines.append(f"  {stack.kind}: {chain}")
    return lines


def _verdict(report: Report) -> str:
    errors = sum(each.severity is Severity.ERROR for each in report.findings)
    stuck = sum(not each.recovered for each in report.faults)
    counts = [(errors, "error"), (stuck, "fault not recovered from")]
    failed = " and ".join(
        f"{count} {what}{'s' if what == 'error' and count != 1 else ''}" for count, what in counts if count
    )
    outcome = "passed" if report.ok else f"failed with {failed}"
    return (
        f"Simulated rehearsal {outcome} in {report.seconds:.1f}s; "
        "server-side validation, quota, capacity and eventual consistency are not in it."
    )
