"""What a report says of a site beyond its findings: capacity, ranges, cost, and what is opened or granted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from groundplan.on_plans import openings
from groundplan.on_plans.capacity import Capacity, Line, RangeUse, tebibytes
from groundplan.on_plans.grants import Grant
from groundplan.on_plans.prices import Cost, money
from plan_review import display, model
from plan_review.model import QUIET, Action, Change, Plan, Resource


def capacity_rows(found: Capacity) -> list[tuple[str, str, str]]:
    """(what, before, after) of each quantity."""
    return [(_what(line), _amount(line, line.before), _amount(line, line.after)) for line in found.lines]


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


def range_rows(capacity: Capacity) -> list[tuple[str, str, str, str]]:
    """(range, CIDR, used, of) of each range; ranges of one size, use and name but for a number stand together."""
    found: dict[tuple[str, str, str], list[RangeUse]] = {}
    for each in capacity.ranges:
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


def opened(plans: Sequence[Plan], granted: Sequence[Grant], withdrawn: Sequence[Grant]) -> list[str]:
    """What the plan opens or grants, the unremarkable too: a reviewer signs for all of it."""
    lines = [f"+ {each.text}" for each in granted]
    lines += [f"- {each.text}" for each in withdrawn]
    for plan in plans:
        for change in plan.changes:
            if change.type in _OPENINGS and change.action not in (*QUIET, Action.FORGET):
                lines += _before_and_after(change, _OPENINGS[change.type])
    hidden = model.hidden(plans)
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
