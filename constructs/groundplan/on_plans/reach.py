"""Rules on who reaches what after a change: firewall rules, control planes, peerings, logins from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from findings import Severity
from groundplan.kernel.ranges import admits_internet, network_of
from groundplan.on_plans.grants import grants
from plan_review import display, values
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import Change, Plan, Resources, updates

#: What says whom a firewall rule is about, and what it lets through.
_ABOUT = ("source_ranges", "source_tags", "source_service_accounts", "destination_ranges", "target_tags",
          "target_service_accounts", "allow", "deny", "disabled", "direction", "priority")  # fmt: skip

_NETWORKS = "master_authorized_networks_config"


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a firewall rule says: whom it is about, at which machines, and for what; `on` unless it is disabled."""

    peers: frozenset[str]
    targets: frozenset[str]
    ports: frozenset[str]
    denies: bool
    on: bool


def _rule(side: dict[str, object]) -> _Rule:
    out = values.text(side, "direction") == "EGRESS"
    ranges = values.texts(side, "destination_ranges" if out else "source_ranges")
    peers = [*ranges, *values.texts(side, "source_tags"), *values.texts(side, "source_service_accounts")]
    denies = bool(values.blocks(side, "deny"))
    ports = [
        f"{values.text(each, 'protocol')} {port}".strip()
        for each in values.blocks(side, "deny" if denies else "allow")
        for port in values.texts(each, "ports") or ["(all ports)"]
    ]
    targets = [*values.texts(side, "target_tags"), *values.texts(side, "target_service_accounts")]
    return _Rule(
        frozenset(peers or ["0.0.0.0/0"]),
        frozenset(targets or ["every machine"]),
        frozenset(ports),
        denies,
        not values.flag(side, "disabled"),
    )


def _beyond(new: frozenset[str], old: frozenset[str]) -> list[str]:
    """What is in `new` and in nothing of `old`: a range that a range of `old` holds is nothing new."""
    held = [found for found in map(network_of, old) if found]
    return sorted(each for each in new - old if not _within(each, held))


def _within(text: str, held: Sequence[object]) -> bool:
    found = network_of(text)
    return found is not None and any(
        found.version == each.version and found.subnet_of(each)  # type: ignore[attr-defined, arg-type]
        for each in held
    )


def _holds(outer: str, inner: str) -> bool:
    """Whether ``tcp 100-200`` is all of what ``tcp 150`` is."""
    (protocol, ports), (other, wanted) = (each.split(" ", 1) for each in (outer, inner))
    if protocol not in (other, "all"):
        return False
    held, asked = _span(ports), _span(wanted)
    return held[0] <= asked[0] and asked[1] <= held[1]


def _span(ports: str) -> tuple[int, int]:
    """The first and last port of ``443``, ``1-65535`` or all of them."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", ports)
    return (int(found[1]), int(found[2] or found[1])) if found else (0, 65535)


def _more(old: _Rule, new: _Rule) -> list[str]:
    """What the new rule is about and the old one was not."""
    if new.on and not old.on:
        return ["it is enabled"]
    more = _beyond(new.peers, old.peers)
    more += sorted(each for each in new.ports - old.ports if not any(_holds(other, each) for other in old.ports))
    grown = sorted(new.targets - old.targets)
    return more + ([f"at {', '.join(grown)}"] if grown and "every machine" not in old.targets else [])


def _firewalls(plans: Sequence[Plan]) -> Iterator[tuple[Change, list[str], list[str]]]:
    """(change, what traffic it admits beyond before, what it refuses beyond before)"""
    for change in updates(plans, "google_compute_firewall"):
        old, new = _rule(change.before), _rule(change.after)
        if old.denies != new.denies:
            yield change, ["it allowed and denies now" if new.denies else "it denied and allows now"], []
            continue
        came, gone = _more(old, new), _more(new, old)
        if old.on and not new.on:
            came, gone = [], ["it is disabled"]
        if not old.on and not new.on:
            continue
        yield (change, gone, came) if new.denies else (change, came, gone)


@plan_rule("firewall-widened", Severity.WARNING, Category.OPEN)
def firewall_widened(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A firewall rule admits more than before: a further range, port or target, or a denial that covers less.

    Source: Cloud NGFW documentation, "VPC firewall rules", components; that a range within the old one is no opening is
    plain arithmetic.

    Mend: none, when those who are named should call.
    """
    for change, opens, _ in _firewalls(plans):
        ingress = values.text(change.after, "direction") != "EGRESS"
        if opens := [each for each in opens if not (ingress and admits_internet(each))]:  # firewall-open says those
            verb = "denies no more" if _rule(change.before).denies else "further admits"
            what = f"firewall {change.label} {verb}: {display.listed(opens, 4)}"
            yield Breach(
                change.stack,
                change.address,
                what,
                "make sure that those who are named should call",
                f"they reach {', '.join(sorted(_rule(change.after).targets))} in its network",
                arguments=_ABOUT,
            )


@plan_rule("firewall-narrowed", Severity.WARNING, Category.DISTURB)
def firewall_narrowed(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A firewall rule admits less than before, or a denial covers more: who calls from there is cut off.

    Source: Cloud NGFW documentation, "VPC firewall rules": ingress that no rule allows is denied.

    Mend: none, when nobody calls from there.
    """
    for change, _, closes in _firewalls(plans):
        if closes:
            verb = "further denies" if _rule(change.before).denies else "no longer admits"
            yield Breach(
                change.stack,
                change.address,
                f"firewall {change.label} {verb}: {display.listed(closes, 4)}",
                "make sure that nothing calls from there",
                "what calls from there is cut off",
                arguments=_ABOUT,
            )


@plan_rule("control-plane-access", Severity.WARNING, Category.OPEN)
def control_plane_access(plans: Sequence[Plan]) -> Iterator[Breach]:
    """More may reach the control plane than before: an authorized network more, or an endpoint turned on.

    Source: GKE documentation, "About network isolation in GKE", control plane access.

    Mend: none, when those who are named should call; else take the network or the endpoint out.
    """
    for change in updates(plans, "google_container_cluster"):
        networks, endpoints = _new_networks(change), _new_endpoints(change)
        opened = [*networks, *(text for _, text in endpoints)]
        if opened:
            yield Breach(
                change.stack,
                change.address,
                f"the control plane of cluster {change.label} opens: {'; '.join(opened)}",
                "make sure that those who are named should call",
                "they reach the Kubernetes API; a login is still needed",
                arguments=(*([_NETWORKS] if networks else []), *(path for path, _ in endpoints)),
            )


def _new_networks(change: Change) -> list[str]:
    more = _new_ranges(change)
    opened = [
        f"authorized network {values.text(each, 'cidr_block')}" + (f" ({name})" if name else "") + " added"
        for each in values.blocks(change.after, f"{_NETWORKS}.cidr_blocks")
        if values.text(each, "cidr_block") in more
        for name in [values.text(each, "display_name")]
    ]
    lost = "authorized networks turned off: every address that reaches its IP endpoint is admitted"
    private = values.flag(change.after, "private_cluster_config.enable_private_endpoint")  # a public one is an error
    return [*opened, *([lost] if private and _loses_list(change) else [])]


def _new_endpoints(change: Change) -> list[tuple[str, str]]:
    """(argument, what it opens)"""
    switches: tuple[tuple[str, Any, str], ...] = (
        ("control_plane_endpoints_config.ip_endpoints_config.enabled", True, "IP endpoint turned on"),
        ("control_plane_endpoints_config.dns_endpoint_config.allow_external_traffic", True, "DNS endpoint turned on"),
        ("private_cluster_config.enable_private_endpoint", False, "public IP endpoint turned on"),
        (
            "master_authorized_networks_config.gcp_public_cidrs_access_enabled",
            True,
            "addresses of Google Cloud admitted",
        ),
    )
    return [
        (path, text)
        for path, on, text in switches
        if values.flag(change.after, path) is on and values.flag(change.before, path) is not on
    ]


@plan_rule("control-plane-closed", Severity.WARNING, Category.DISTURB)
def control_plane_closed(plans: Sequence[Plan]) -> Iterator[Breach]:
    """Fewer may reach the control plane than before: an authorized network less, or an endpoint turned off.

    Source: GKE documentation, "About network isolation in GKE", control plane access.

    Mend: none, when nobody calls that way; the run of Terraform itself may.
    """
    switches = (
        ("control_plane_endpoints_config.ip_endpoints_config.enabled", True, "IP endpoint turned off"),
        ("control_plane_endpoints_config.dns_endpoint_config.allow_external_traffic", True, "DNS endpoint turned off"),
        ("private_cluster_config.enable_private_endpoint", False, "public IP endpoint turned off"),
    )
    for change in updates(plans, "google_container_cluster"):
        shut = [
            (path, text)
            for path, on, text in switches
            if values.flag(change.before, path) is on and values.flag(change.after, path) is (not on)
        ]
        shut += [(_NETWORKS, f"authorized network {each} removed") for each in _gone_networks(change)]
        if shut:
            yield Breach(
                change.stack,
                change.address,
                f"the control plane of cluster {change.label} closes: {'; '.join(text for _, text in shut)}",
                "make sure that nobody, Terraform's own runs among them, comes that way",
                "whoever comes that way is locked out",
                arguments=tuple(dict.fromkeys(path for path, _ in shut)),
            )


def _networks(side: dict[str, object]) -> frozenset[str]:
    return frozenset(values.text(each, "cidr_block") for each in values.blocks(side, f"{_NETWORKS}.cidr_blocks"))


def _new_ranges(change: Change) -> list[str]:
    """Authorized networks that admit addresses which were not admitted before."""
    return _beyond(_networks(change.after), _networks(change.before))


def _gone_networks(change: Change) -> list[str]:
    """Authorized networks of which some addresses are no longer admitted; none where all are admitted instead."""
    if _loses_list(change):
        return []
    return _beyond(_networks(change.before), _networks(change.after))


def _loses_list(change: Change) -> bool:
    """Whether authorized networks are no longer asked for, and an IP endpoint is left: all that reach it may call."""
    path = "control_plane_endpoints_config.ip_endpoints_config.enabled"
    listed = [bool(values.blocks(side, _NETWORKS)) for side in (change.before, change.after)]
    return listed == [True, False] and values.flag(change.after, path) is not False


_OURS = ("network", "vpc_id", "virtual_network_name")
_THEIRS = ("peer_network", "peer_vpc_id", "remote_virtual_network_id")


@plan_rule("peering", Severity.WARNING, Category.OPEN, on="resources")
def peering(resources: Resources) -> Iterator[Breach]:
    """Two networks are peered: addresses of each reach the other, as far as firewall rules admit them.

    Source: VPC documentation, "VPC Network Peering"; Amazon VPC documentation, "VPC peering".

    Mend: none, when both sides agreed; else firewall rules that name who may call.
    """
    kinds = ("google_compute_network_peering", "aws_vpc_peering_connection", "azurerm_virtual_network_peering")
    for each in resources.of(*kinds):
        ours, theirs = (next(filter(None, map(each.text, names)), "") for names in (_OURS, _THEIRS))
        yield Breach(
            each.stack,
            each.address,
            f"network {_short(ours)} is peered with {_short(theirs)}",
            "make sure that both sides want it, and that firewall rules name who may call",
            "addresses of each reach the other, as far as firewall rules admit them",
            arguments=("*",),
        )


def _short(network: str) -> str:
    """A network with its project, where the link tells it."""
    parts = network.split("/")
    if "projects" in parts[:-1]:
        return f"{parts[-1]} of project {parts[parts.index('projects') + 1]}"
    return "one that is not known yet" if not network or values.is_expression(network) else network


@plan_rule("external-login", Severity.WARNING, Category.OPEN, on="resources")
def external_login(resources: Resources) -> Iterator[Breach]:
    """Logins of another system are trusted: a provider of a workload or workforce identity pool, or an OIDC provider.

    Source: IAM documentation, "Workload Identity Federation", attribute conditions; AWS IAM documentation, "Create an
    OpenID Connect identity provider".

    Mend: an `attribute_condition` that names the organization and repository, and roles for those alone.
    """
    kinds = ("google_iam_workload_identity_pool_provider", "google_iam_workforce_pool_provider",
             "aws_iam_openid_connect_provider", "aws_iam_saml_provider",
             "azurerm_federated_identity_credential")  # fmt: skip
    for each in resources.of(*kinds):
        issuer = each.text("oidc.issuer_uri") or each.text("url") or each.text("issuer") or "another system"
        condition = each.text("attribute_condition") or each.text("subject")
        who = f" where {display.cut(condition, 80)}" if condition else ", without a condition on who"
        yield Breach(
            each.stack,
            each.address,
            f"logins of {issuer} are trusted by {each.name}{who}",
            "name in attribute_condition whose logins are meant",
            "whoever logs in there gets the roles that its members are granted",
            arguments=("*",),
        )


def is_external(member: str) -> bool:
    """Whether a member of IAM logs in at another system than Google's."""
    return "iam.googleapis.com/" in member and ("workloadIdentityPools/" in member or "workforcePools/" in member)


@plan_rule("iam-external", Severity.WARNING, Category.OPEN, on="resources")
def iam_external(resources: Resources) -> Iterator[Breach]:
    """Logins of another system get a role (`principal://` or `principalSet://` of an identity pool).

    Source: IAM documentation, "Principal identifiers", workload and workforce identity pools.

    Mend: a single subject or a narrow attribute in place of the whole pool.
    """
    for grant in grants(resources):
        if is_external(grant.member):
            whole = grant.member.endswith("/*")
            yield Breach(
                grant.resource.stack,
                grant.resource.address,
                grant.text,
                "name a single subject, or a narrow attribute",
                f"{'every login' if whole else 'logins'} of that pool, from outside Google, may use it",
                arguments=("member", "members", "role", "policy_data"),
            )
