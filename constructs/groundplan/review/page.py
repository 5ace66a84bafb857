"""The words of a report, the same in every format: headline, counts, tables of capacity and changes, provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from groundplan.review import display, model, openings
from groundplan.review.assess import Assessment
from groundplan.review.capacity import Line, RangeUse, tebibytes
from groundplan.review.display import Difference, count
from groundplan.review.judgement import Notice
from groundplan.review.model import QUIET, Action, Change, Plan, Resource
from groundplan.review.prices import Cost, money

SAFE_MEANING = "nothing that exists is replaced, destroyed, disturbed, opened or left unprotected"

_VERBS = {
    Action.REPLACE: "to replace",
    Action.DESTROY: "to destroy",
    Action.UPDATE: "to update",
    Action.CREATE: "to create",
    Action.FORGET: "to forget",
    Action.IMPORT: "to import",
    Action.MOVE: "to move",
    Action.NONE: "unchanged",
}


def headline(result: Assessment) -> str:
    """``DANGEROUS: 1 to replace, 48 unchanged in 6 stacks``."""
    said = [f"{result.counts[action]:,} {verb}" for action, verb in _VERBS.items() if result.counts.get(action)]
    stacks = count(len(result.plans), "stack")
    kind = " (simulated plans)" if any(plan.simulated for plan in result.plans) else ""
    if result.is_diff:
        kind = " (two outputs compared, without state)"
    return f"{result.verdict.upper()}: {', '.join(said) or 'no changes'} in {stacks}{kind}"


def no_trouble(result: Assessment) -> str:
    """The line that stands in place of notices when none counts."""
    changed = sum(amount for action, amount in result.counts.items() if action not in QUIET)
    if not changed:
        return "Nothing changes."
    if result.counts.get(Action.CREATE) == changed and not result.counts.get(Action.NONE):
        return "A first creation: everything is new, nothing that exists is touched."
    return f"{SAFE_MEANING[0].upper()}{SAFE_MEANING[1:]}."


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the change table."""

    change: Change
    address: str
    differences: tuple[Difference, ...]


def rows(plan: Plan) -> list[Row]:
    """The changes of a stack that a reader should see, the gravest first."""
    order = list(Action)
    shown = sorted(
        (each for each in plan.changes if each.action not in QUIET),
        key=lambda each: (order.index(each.action), each.type, each.address),
    )
    return [Row(each, _address(each), tuple(display.differences(each))) for each in shown]


def _address(change: Change) -> str:
    moved = f" (moved from {change.previous_address})" if change.previous_address else ""
    return display.plain(change.address + moved)


def tally(plan: Plan) -> str:
    """``1 to replace, 13 unchanged``; or that both sides are the same."""
    if plan.identical:
        return "byte-identical"
    counts = {action: sum(each.action is action for each in plan.changes) for action in _VERBS}
    said = [f"{amount:,} {_VERBS[action]}" for action, amount in counts.items() if amount]
    return ", ".join(said) or "no resources"


def capacity_rows(result: Assessment) -> list[tuple[str, str, str]]:
    """(what, before, after) of each quantity."""
    return [(_what(line), _amount(line, line.before), _amount(line, line.after)) for line in result.capacity.lines]


def _what(line: Line) -> str:
    names = {
        "GPU": f"{line.name} GPUs ({line.detail})",
        "GPU-hours": f"{line.name} GPU-hours a month",
        "nodes": f"{line.name} nodes (most)",
        "Lustre": f"Lustre, {line.name}",
    }
    return display.plain(names[line.kind])


def _amount(line: Line, amount: int) -> str:
    return f"{amount:,} GiB ({tebibytes(amount)})" if line.kind == "Lustre" else f"{amount:,}"


def range_rows(result: Assessment) -> list[tuple[str, str, str, str]]:
    """(range, CIDR, used, of) of each range; ranges of one size, use and name but for a number stand together."""
    found: dict[tuple[str, str, str], list[RangeUse]] = {}
    for each in result.capacity.ranges:
        stem = each.name.rstrip("0123456789")
        found.setdefault((stem if stem.endswith("-") else each.name, _use(each), f"{each.size:,}"), []).append(each)
    table = []
    for (_, used, size), members in found.items():
        first, last = members[0], members[-1]
        name = first.name if first is last else f"{first.name} to {last.name}"
        cidr = first.cidr if first is last else f"{first.cidr} to {last.cidr}"
        table.append((display.plain(name), cidr, used, size))
    return table


def _use(use: RangeUse) -> str:
    if use.after is None and use.before is None:
        return ""
    was, becomes = use.before or 0, use.after or 0
    return f"{becomes:,}" if was == becomes else f"{was:,} -> {becomes:,}"


def cost_lines(cost: Cost) -> list[str]:
    """What it costs a month, and how far that is to be trusted."""
    change = cost.after - cost.before
    sign = "+" if change >= 0 else "-"
    lines = [
        f"{money(cost.before, cost.currency)} -> {money(cost.after, cost.currency)} a month "
        f"({sign}{money(abs(change), cost.currency)}), every pool at its most nodes",
        f"prices of {cost.date}, source: {display.plain(cost.source)}",
    ]
    if cost.missing:
        lines.append(f"without a price, so not in the sum: {display.plain(', '.join(cost.missing))}")
    return lines


def opened(result: Assessment) -> list[str]:
    """What the plan opens or grants, the unremarkable too: a reviewer signs for all of it."""
    lines = [f"+ {each.text}" for each in result.granted]
    lines += [f"- {each.text}" for each in result.withdrawn]
    for plan in result.plans:
        for change in plan.changes:
            if change.type in _OPENINGS and change.action not in (*QUIET, Action.FORGET):
                lines += _before_and_after(change, _OPENINGS[change.type])
    hidden = model.hidden(result.plans)
    return [display.plain(display.without(line, hidden)) for line in lines]


def _before_and_after(change: Change, words: Callable[[Resource], list[str]]) -> Iterator[str]:
    """The lines that go and those that come."""
    was, becomes = (
        words(Resource(change.stack, change.address, change.type, side, refers=change.refers)) if side else []
        for side in (change.before, change.after)
    )
    yield from (f"- {line}" for line in was if line not in becomes)
    yield from (f"+ {line}" for line in becomes if line not in was)


def _firewall(firewall: Resource) -> list[str]:
    names = firewall.texts("source_tags") + firewall.texts("source_service_accounts")
    sources = ", ".join([*firewall.texts("source_ranges"), *names]) or "anyone"
    if firewall.text("direction") == "EGRESS":
        sources = f"the way out to {', '.join(firewall.texts('destination_ranges')) or 'anywhere'}"
    verb = "denies" if firewall.blocks("deny") else "admits"
    what = "" if firewall.blocks("deny") else f" to {openings.allowed(firewall)}"
    disabled = " (disabled)" if firewall.flag("disabled") else ""
    return [f"firewall {firewall.name}: {verb} {sources}{what}{disabled}"]


def _endpoints(cluster: Resource) -> list[str]:
    """By which ways the control plane can be reached."""
    lines = []
    if cluster.flag("control_plane_endpoints_config.dns_endpoint_config.allow_external_traffic"):
        lines.append(f"control plane of {cluster.name}: DNS endpoint, from anywhere; IAM decides who may")
    if cluster.flag("control_plane_endpoints_config.ip_endpoints_config.enabled") is not False:
        private = cluster.flag("private_cluster_config.enable_private_endpoint")
        lines.append(f"control plane of {cluster.name}: {'private' if private else 'public'} IP endpoint")
    for block in cluster.blocks("master_authorized_networks_config.cidr_blocks"):
        name = f" ({block['display_name']})" if block.get("display_name") else ""
        lines.append(f"control plane of {cluster.name}: authorized network {block.get('cidr_block')}{name}")
    return lines


_OPENINGS: dict[str, Callable[[Resource], list[str]]] = {
    "google_compute_firewall": _firewall,
    "google_container_cluster": _endpoints,
}


def provenance(result: Assessment) -> list[tuple[str, str]]:
    """(what, value): enough to find every input again."""
    found = [("groundplan", result.provenance.groundplan)]
    if result.provenance.profile:
        found.append(("profile", f"{result.provenance.profile} sha256:{result.provenance.profile_digest}"))
    if result.provenance.compared[0]:
        found.append(("compared", " with ".join(result.provenance.compared)))
    terraform = sorted({plan.terraform for plan in result.plans if plan.terraform})
    if terraform:
        found.append(("terraform", ", ".join(terraform)))
    providers = sorted({each for plan in result.plans for each in plan.providers})
    found += [(f"provider {name}", version or "no constraint") for name, version in providers]
    charts = sorted({each for plan in result.plans for each in plan.charts})
    found += [(f"chart {chart}", f"{version} (release {release})") for release, chart, version in charts]
    for plan in result.plans:
        found.append((f"stack {plan.stack}", f"{plan.file} sha256:{plan.digest[:16]}" if plan.digest else plan.file))
    return [(display.plain(what), display.plain(value)) for what, value in found]


def mends(notices: list[Notice]) -> list[tuple[str, str, str]]:
    """(numbers of the notices, rule, mend): the same mend of one rule once."""
    found: dict[tuple[str, str], list[int]] = {}
    for number, each in enumerate(notices, 1):
        if each.hint:
            found.setdefault((each.rule, each.hint), []).append(number)
    return [(_numbers(numbers), rule, hint) for (rule, hint), numbers in found.items()]


def _numbers(numbers: list[int]) -> str:
    """``1-3, 5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def standing(result: Assessment) -> list[Notice]:
    """What was so before the plan."""
    return [each for each in result.notices if each.standing and not each.ignored]


def ignored(result: Assessment) -> list[Notice]:
    """What somebody accepted, with the reason."""
    return [each for each in result.notices if each.ignored]


def drifted(result: Assessment) -> list[str]:
    """Resources that were changed outside Terraform."""
    return [display.plain(address) for plan in result.plans for address in plan.drift]


def outputs(result: Assessment) -> list[str]:
    """Changed outputs, hidden ones without value."""
    return [
        f"{display.plain(plan.stack)} {display.plain(name)}: {display.show(old, name)} -> {display.show(new, name)}"
        if (old, new) != (None, None)
        else f"{display.plain(plan.stack)} {display.plain(name)}: {display.HIDDEN} or known after apply"
        for plan in result.plans
        for name, old, new in plan.outputs
    ]


def caveats(result: Assessment) -> list[str]:
    """What this report cannot know."""
    lines = []
    if result.is_diff:
        lines.append(
            "Compared without state: drift, values that only the cloud knows, and what forces replacement beyond the "
            "catalog's facts are not seen."
        )
    if any(plan.simulated for plan in result.plans):
        lines.append("The plans are simulated: made by `groundplan rehearse`, not against a cloud.")
    if result.unknown_ignores:
        lines.append(f"Ignored rules that no plan rule is called: {', '.join(result.unknown_ignores)}.")
    return lines
