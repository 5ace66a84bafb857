"""Openings in resources of any provider, told by what their arguments say: types that no rule of a product reads."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from findings import Severity
from plan_review import display, values
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import Resource, Resources
from plan_review.unjudged import is_read
from plan_review.values import Path

_EVERYONE = frozenset({"0.0.0.0/0", "::/0", "allUsers", "allAuthenticatedUsers"})

#: Arguments whose ranges say where something may go to, not who may come.
_OUTWARD = re.compile(
    r"egress|destination|dest_|outbound|route|nat|advertis|excluded|denied|deny|block(ed)?_(ip|cidr|range)"
)

#: Arguments that say who may come, where `*` is everyone.
_INWARD = re.compile(r"source|src_|principal|allowed_(origins|ips|ranges|cidrs)|authorized|whitelist|ip_rules|ingress")

#: Switches that open when they are on, and those that close.
_OPENS = re.compile(
    r"(^|_)public(ly)?(_|$)|internet_facing|anonymous|host_(network|pid|ipc)$|^privileged$|unauthenticated"
)
_CLOSES = re.compile(
    r"^(block|ignore|restrict|deny|disable|prevent)_\w*public|private_cluster_enabled|^encrypt(ed|ion_enabled)$"
)

#: Values that open, by the end of the argument's name.
_WORDS = {
    "acl": ("public-read", "public-read-write", "authenticated-read"),
    "ingress": ("INGRESS_TRAFFIC_ALL", "all"),
    "ingress_settings": ("ALLOW_ALL",),
    "authorization_type": ("NONE",),
    "authorization": ("NONE",),
    "scheme": ("internet-facing",),
    "visibility": ("public",),
    "container_access_type": ("blob", "container"),
    "public_network_access": ("Enabled",),
    "default_action": ("Allow",),
}


@plan_rule("looks-open", Severity.WARNING, Category.OPEN, on="resources")
def looks_open(resources: Resources) -> Iterator[Breach]:
    """A resource of a type that no other rule reads says, in one of its arguments, that it lets many in.

    An error where it names everyone (`0.0.0.0/0`, `::/0`, `allUsers`, a policy for any principal); a warning for a
    switch or word that opens (`publicly_accessible`, `internet-facing`, `privileged` ...).

    Source: groundplan's own list of names and values, from the providers' documentation of AWS, Azure, Google Cloud and
    Kubernetes.

    Mend: the ranges and members of those who really call; the switch turned back.
    """
    for each in resources:
        if not is_read(each.type):
            yield from _openings(each)


def _openings(each: Resource) -> Iterator[Breach]:
    said = set()
    for path, value in values.leaves(each.values):
        name = str(next((step for step in reversed(path) if isinstance(step, str)), ""))
        where = values.dotted(path)
        found = _opens(each.values, path, name, value)
        if found and where not in said:
            said.add(where)
            severity, what = found
            yield Breach(
                each.stack,
                each.address,
                f"{each.address} {what}: {where} {display.show(value, name, 60)}",
                "name those who call, or turn it back",
                "whoever that lets in may use it",
                severity,
                arguments=(where,),
            )


def _opens(whole: Any, path: Path, name: str, value: Any) -> tuple[Severity, str] | None:
    names = ".".join(str(step) for step in path if isinstance(step, str))
    if isinstance(value, bool):
        if (value and _OPENS.search(name) and not _CLOSES.search(name)) or (not value and _CLOSES.search(name)):
            return Severity.WARNING, "is opened, or left unguarded, by a switch"
        return None
    if not isinstance(value, str) or not value:
        return None
    if value in _WORDS.get(name, ()):
        return Severity.WARNING, "is opened by a word"
    if value.startswith("{") and '"Principal"' in value:
        return (Severity.ERROR, "is open to any principal") if _any_principal(value) else None
    if _OUTWARD.search(names) or _is_refusal(values.at(whole, path[:-1])):
        return None
    if value in _EVERYONE:
        return Severity.ERROR, "admits everyone"
    if value in ("*", "Internet", "Any") and _INWARD.search(names):
        return Severity.ERROR, "admits everyone"
    return None


def _is_refusal(block: Any) -> bool:
    """Whether a block says that it refuses, or that it is about the way out."""
    words = (
        [str(block.get(key, "")).lower() for key in ("access", "action", "direction", "type", "effect")]
        if isinstance(block, dict)
        else []
    )
    return any(word.startswith(("deny", "egress", "outbound", "block")) for word in words)


def _any_principal(text: str) -> bool:
    """Whether a policy document of AWS allows something to any principal without a condition."""
    try:
        document = json.loads(text)
    except ValueError:
        return False
    for each in values.blocks(document, "Statement"):
        principal = each.get("Principal")
        named = list(principal.values()) if isinstance(principal, dict) else [principal]
        everyone = any("*" in (one if isinstance(one, list) else [one]) for one in named)
        if each.get("Effect") == "Allow" and everyone and not each.get("Condition"):
            return True
    return False
