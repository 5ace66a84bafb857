"""What no rule knows: the changes that are left when every rule has spoken. Each of them is a decision.

Silence of the rules is no verdict. An update is safe only where the table of `safe_updates` says why; what a new thing
opens is safe only where some rule reads its type.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from findings import Severity
from plan_review import display, safe_updates, values
from plan_review.changed import Argument, arguments, written
from plan_review.judgement import Alike, Breach, Category, PlanFinding, plan_rule
from plan_review.model import QUIET, Action, Change, Plan

#: Patterns of types that rules read as they are made. Products add those that their rules read.
READ: set[str] = {"terraform_data", "null_resource", "time_sleep", "random_*", "local_file", "local_sensitive_file"}

#: A type that nobody reads and that, by its name, decides who may do or reach what.
_ACCESS = re.compile(
    r"(^|_)iam(_|$)|polic(y|ies)|(^|_)roles?(_|$)|binding|grant|permission|privilege|access|acl(_|$)|firewall|security|"
    r"nsg|ingress|egress|peering|public|gateway|vpn|tunnel|credential|(api|access|account|ssh|host)_key|key_pair|token|"
    r"password|login|(^|_)users?(_|$)|member|identity_p|federat|oidc|saml|sso(_|$)|trust|(^|_)lbs?(_|$)|load_?balancer|"
    r"forwarding|listener|role_assignment|delegat|resource_share|invoker|authoriz|domain_mapping"
)

#: Policies that say when and how much, not who.
_NO_ACCESS = re.compile(
    r"(alert|resource|scaling|autoscaler?|autoscaling|lifecycle|backup|snapshot|retention|cleanup)_polic"
)

#: Arguments of one update that a line names.
_MOST = 4


@plan_rule("unjudged-update", Severity.WARNING, Category.UNJUDGED, on="findings")
def unjudged_update(subject: tuple[Sequence[Plan], Sequence[PlanFinding]]) -> Iterator[Breach]:
    """Something that exists is updated, and no rule knows what that does.

    An update is safe only where a rule says why (labels, a pool that grows, a guard more ...). For every other one
    somebody has to know what the argument does: whether it restarts, opens, or cannot be undone. The same holds for an
    update that the plan does not show (a redacted plan).

    Source: groundplan's own list of what is known to be safe (`plan_review.safe_updates`, and that of groundplan).

    Mend: read up on the argument in the provider's documentation; then accept it by address, with the reason:
    `--ignore 'unjudged-update@ADDRESS=REASON'`.
    """
    plans, found = subject
    judged = _judged(found)
    for plan in plans:
        for change in plan.changes:
            if change.action is not Action.UPDATE:
                continue
            covered = judged.get((change.stack, change.address), ())
            changed = [] if "*" in covered else arguments(change)
            if not changed and not covered and not plan.configuration:
                yield _breach(change, "is updated, and the plan does not show what changes")
                continue
            left = [each for each in changed if not each.unknown and not _covers(covered, each)]
            left = [each for each in left if not safe_updates.reason(change, each)]
            if left:
                yield _breach(change, _said(change, left))


def _said(change: Change, left: Sequence[Argument]) -> str:
    shown = [
        f"{each.path} {each.old} -> {each.new}"
        for argument in left[:_MOST]
        for each in display.presented(change, argument.path, argument.old, argument.new)
    ]
    more = len(left) - min(len(left), _MOST) + len(shown) - len(shown[:_MOST])
    return "; ".join(shown[:_MOST]) + (f" (and {more} more)" if more > 0 else "")


def _breach(change: Change, what: str) -> Breach:
    return Breach(
        change.stack,
        change.address,
        f"no rule knows: {change.address} {what}",
        "find out what the argument does, then accept it by address with the reason",
        arguments=("*",),
        alike=Alike((change.type, what), f"no rule knows: {change.address}", change.type, f" {what}"),
    )


def _judged(found: Iterable[PlanFinding]) -> dict[tuple[str, str], tuple[str, ...]]:
    """(stack, address) -> the arguments that other rules judge, whether that is accepted or not."""
    judged: dict[tuple[str, str], tuple[str, ...]] = {}
    for each in found:
        if each.arguments and not each.standing:
            key = (each.stack, each.address)
            judged[key] = (*judged.get(key, ()), *each.arguments)
    return judged


def _covers(covered: Iterable[str], argument: Argument) -> bool:
    return any(argument.name == each or argument.name.startswith(f"{each}.") for each in covered)


@plan_rule("unknown-until-apply", Severity.WARNING, Category.UNJUDGED)
def unknown_until_apply(plans: Sequence[Plan]) -> Iterator[Breach]:
    """An argument that is set gets a value that is known only after the apply: nobody can judge it now.

    Of what exists, any argument that is set; of what is made, those that say who is let in, and how much.

    Source: Terraform documentation, "JSON output format", `after_unknown`.

    Mend: write the value out, or apply what it comes from first and plan again.
    """
    for plan in plans:
        for change in plan.changes:
            if change.action is Action.UPDATE:
                unknown = [each for each in arguments(change) if each.unknown]
                if unknown:
                    old = [display.presented(change, each.path, each.old, None) for each in unknown[:1]]
                    yield _unknown(change, [each.name for each in unknown], [d.old for ds in old for d in ds])
            elif change.action in (Action.CREATE, Action.REPLACE):
                names = _unknown_names(change)
                if names:
                    yield _unknown(change, names, [])


#: Arguments that say who is let in, and how much is made, by the ends of their paths.
_WEIGHTY = re.compile(
    r"(^|\.)(\w*source_ranges|src_ip_ranges|\w*cidr_blocks|cidr_block|\w*cidrs|cidr_ipv[46]|ip_ranges|ingress|allow|"
    r"source_address_prefix(es)?|\w*authorized_\w+|members|role|\w*node_count|capacity_gib|"
    r"(min|max|desired)_(size|capacity|count))$"
)


def _unknown_names(change: Change) -> list[str]:
    found: list[str] = []
    for path, mark in values.leaves(change.unknown):
        # A list of one that is unknown marks its element.
        while path and isinstance(path[-1], int):
            path = path[:-1]
        name = ".".join(str(step) for step in path if not isinstance(step, int))
        if mark is True and _WEIGHTY.search(name) and (change.written is None or written(change, path)):
            found.append(name)
    return list(dict.fromkeys(found))


def _unknown(change: Change, names: list[str], old: list[str]) -> Breach:
    what = f"{display.listed(names)} {'is' if len(names) == 1 else 'are'} known only after the apply"
    was = f" (now {old[0]})" if old and old[0] != display.NOTHING else ""
    return Breach(
        change.stack,
        change.address,
        f"{change.address}: {what}{was}",
        "write the value out, or apply what it comes from first and plan again",
        arguments=tuple(names),
        alike=Alike((change.type, what), change.address, change.type, f": {what}"),
    )


@plan_rule("unjudged-access", Severity.WARNING, Category.UNJUDGED, on="findings")
def unjudged_access(subject: tuple[Sequence[Plan], Sequence[PlanFinding]]) -> Iterator[Breach]:
    """Something new decides, by the name of its type, who may do or reach what, and no rule reads that type.

    Source: groundplan's own limit: its rules read the types that its sites and their like are made of. The words in
    names of types that mean access are its own list.

    Mend: read what it grants; then accept it by address, with the reason.
    """
    plans, found = subject
    spoken = {(each.stack, each.address) for each in found}
    for plan in plans:
        for change in plan.changes:
            made = change.action in (Action.CREATE, Action.REPLACE, Action.IMPORT)
            if made and (change.stack, change.address) not in spoken and not is_read(change.type):
                kind = change.type.partition("_")[2]
                if _ACCESS.search(kind) and not _NO_ACCESS.search(kind):
                    verb = "is taken into the state" if change.action is Action.IMPORT else "is made"
                    many = verb.replace("is ", "are ")
                    yield Breach(
                        change.stack,
                        change.address,
                        f"no rule knows: {change.address} {verb}",
                        "read whom it lets in or what it grants, then accept it by address with the reason",
                        "by its type it decides who may do or reach what",
                        alike=Alike(
                            (change.type, verb),
                            f"no rule knows: {change.address}",
                            change.type,
                            f" {many}",
                        ),
                    )


def is_read(kind: str) -> bool:
    """Whether some rule reads what is made of this type."""
    return any(fnmatchcase(kind, pattern) for pattern in READ)


def not_looked_at(plans: Sequence[Plan]) -> str:
    """``2 aws_instance, 1 datadog_monitor``: what is made or updated of types that no rule reads; the most first."""
    counts: Mapping[str, int] = Counter(
        change.type
        for plan in plans
        for change in plan.changes
        if change.action not in (*QUIET, Action.MOVE) and not is_read(change.type)
    )
    return ", ".join(
        f"{amount:,} {kind}" for kind, amount in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    )


def harmless(plans: Sequence[Plan]) -> Iterator[str]:
    """Why updates are safe, where the table says so: ``labels of 3 resources: names and marks alone``."""
    found: dict[tuple[str, str], dict[tuple[str, str], None]] = {}
    for plan in plans:
        for change in plan.changes:
            for each in arguments(change) if change.action is Action.UPDATE else ():
                why = safe_updates.reason(change, each)
                if why:
                    label = why == safe_updates.METADATA and re.search("label|tag|annotation", each.name)
                    name = "labels" if label else each.name
                    found.setdefault((name, why), {})[change.stack, change.address] = None
    for (name, why), where in found.items():
        of = next(iter(where))[1] if len(where) == 1 else display.count(len(where), "resource")
        yield display.plain(f"{name} of {of}: {why}")
