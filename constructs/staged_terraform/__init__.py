"""Real Terraform on simulated providers: no cloud, no credentials, no registry.

    from staged_terraform import Options, rehearse
    report = rehearse(Path("cdktf.out"), Options(until="apply"))

:func:`rehearse` takes the stacks of a synth output through validate, plan, apply, a second plan and destroy, and gives
a :class:`Report`. :class:`Options` says how far and with which faults; :class:`Knowledge` is what the caller knows of
provider types (:class:`Facts`) and of the order of stacks. :class:`Progress` and :func:`text` show it to people.
What stops it before anything runs: :class:`TerraformMissing`, :class:`OptionalPackageMissing`,
:class:`WheelMissing`, :class:`NoStacks`, :class:`StackMissing`. The other names are for programs that rehearse parts of
a run, or ask for a single fact.

How it works: ``schemas`` recovers what each provider accepts from the installed cdktf wheels; ``server`` speaks
Terraform's plugin protocol with them; ``planning`` decides what a plan says and ``simulated_cloud`` what exists;
``terraform`` runs the real program in a scratch copy, and ``rehearsal`` takes the stacks through it in order.
Everything it says is *simulated*: it proves a graph, not Google's answer.

Names are loaded when they are asked for: grpcio and msgpack are optional, and who only expands a fact needs neither.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from staged_terraform.conditions import condition
    from staged_terraform.display import Progress, text
    from staged_terraform.facts import Facts, TypeFacts, expand
    from staged_terraform.faults import KINDS, Fault
    from staged_terraform.knowledge import Knowledge
    from staged_terraform.optional_packages import OptionalPackageMissing, require_optional_packages
    from staged_terraform.rehearsal import Options, Rehearsal, StackMissing, rehearse
    from staged_terraform.report import Report
    from staged_terraform.schema_changes import SchemaChanges
    from staged_terraform.schemas import WheelMissing
    from staged_terraform.server import Server
    from staged_terraform.simulated_cloud import SimulatedCloud
    from staged_terraform.stacks import NoStacks, Stack, read_stacks
    from staged_terraform.terraform import Terraform, TerraformMissing, executable

#: Name -> the module that it comes from.
_HOMES = {
    "Fault": "faults",
    "Facts": "facts",
    "KINDS": "faults",
    "Knowledge": "knowledge",
    "NoStacks": "stacks",
    "OptionalPackageMissing": "optional_packages",
    "Options": "rehearsal",
    "Progress": "display",
    "Rehearsal": "rehearsal",
    "Report": "report",
    "SchemaChanges": "schema_changes",
    "Server": "server",
    "SimulatedCloud": "simulated_cloud",
    "Stack": "stacks",
    "StackMissing": "rehearsal",
    "Terraform": "terraform",
    "TerraformMissing": "terraform",
    "TypeFacts": "facts",
    "WheelMissing": "schemas",
    "condition": "conditions",
    "executable": "terraform",
    "expand": "facts",
    "read_stacks": "stacks",
    "rehearse": "rehearsal",
    "require_optional_packages": "optional_packages",
    "text": "display",
}

__all__ = [
    "KINDS",
    "Facts",
    "Fault",
    "Knowledge",
    "NoStacks",
    "OptionalPackageMissing",
    "Options",
    "Progress",
    "Rehearsal",
    "Report",
    "SchemaChanges",
    "Server",
    "SimulatedCloud",
    "Stack",
    "StackMissing",
    "Terraform",
    "TerraformMissing",
    "TypeFacts",
    "WheelMissing",
    "condition",
    "executable",
    "expand",
    "read_stacks",
    "rehearse",
    "require_optional_packages",
    "text",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
