"""Values that the cloud would make up: identifiers, addresses, certificates. The same request gives the same answer.

Nothing here is random or reads a clock, so that two rehearsals of one profile differ in nothing.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import string
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from staged_terraform.cty_values import UNKNOWN, Value, is_known
from staged_terraform.facts import TypeFacts
from staged_terraform.schema_types import CtyType

Object = dict[str, Any]


def digest(*parts: str) -> str:
    """Hexadecimal digits that depend on nothing but the parts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def number(*parts: str) -> int:
    """Nineteen digits, as Google's numeric identifiers have."""
    return 10**18 + int(digest(*parts)[:14], 16) % (9 * 10**18)


def address(*parts: str) -> str:
    """A private IPv4 address."""
    seed = int(digest(*parts)[:6], 16)
    return f"10.{seed >> 16 & 255}.{seed >> 8 & 255}.{2 + seed % 250}"


def certificate(*parts: str) -> str:
    """What a cluster's certificate looks like to a provider: base64 of a PEM that says it is simulated."""
    body = base64.b64encode(f"simulated {digest(*parts)}".encode()).decode()
    pem = f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"
    return base64.b64encode(pem.encode()).decode()


class _Scope(Mapping[str, Any]):
    """Names in templates: members of the object (dotted paths into blocks), and made-up values."""

    def __init__(self, identity: tuple[str, ...], members: Object) -> None:
        self.identity = identity
        self.members = members

    def __getitem__(self, name: str) -> Any:
        match name:
            case "ip":
                return address(*self.identity, str(self.members.get("generation", "")))
            case "hash":
                return digest(*self.identity)[:20]
            case "short":
                return str(number(*self.identity))[:12]
            case "number":
                return str(number(*self.identity))
            case "certificate":
                return certificate(*self.identity)
        value = first(self.members, name)
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Any:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)


class _Template(string.Formatter):
    """``{cluster:base}`` is the last segment of a path, ``{location:region}`` the region of a zone or region,
    ``{network:quoted}`` its form in a URL."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        return kwargs[field_name], field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        text = str(value)
        if format_spec == "base":
            return text.rstrip("/").rpartition("/")[2]
        if format_spec == "quoted":
            return quote(text, safe="")
        if format_spec == "region":
            return region_of(text)
        return text


def region_of(location: str) -> str:
    """``us-central1-a`` -> ``us-central1``; a region stays."""
    parts = location.split("-")
    return "-".join(parts[:2]) if len(parts) > 2 else location


def plain(reference: str) -> str:
    """A reference without a host and API version: ``projects/p/global/networks/n``."""
    if "://" in reference:
        _, _, rest = reference.partition("://")
        at = rest.find("projects/")
        return rest[at:] if at >= 0 else rest
    return reference.removeprefix("//").removeprefix("serviceAccount:").removeprefix("b/")


def first(members: Object, path: str) -> Value:
    """The first value at a dotted path, through lists of blocks; None when there is none."""
    return next(iter(values_at(members, path)), None)


def values_at(members: Object, path: str) -> list[Value]:
    """Every known value at a dotted path, lists of values flattened."""
    found: list[Value] = [members]
    for name in path.split("."):
        stepped: list[Value] = []
        for each in found:
            value = each.get(name) if isinstance(each, dict) else None
            stepped += value if isinstance(value, list) else [value]
        found = [each for each in stepped if each is not None and each is not UNKNOWN]
    return found


def render(template: str, identity: tuple[str, ...], members: Object) -> str | None:
    """A template's text, or None when something that it names is not known."""
    try:
        return _Template().vformat(template, (), _Scope(identity, members))
    except KeyError:
        return None


def computed(facts: TypeFacts, path: str, cty: CtyType, element: Object, top: Object, optional: bool = False) -> Value:
    """The API's value for a computed argument: from the facts, or made up from its name and type.

    An `optional` one that nobody set is nothing to most APIs: its type's zero.
    """
    who = (facts.name, *(str(first(top, name) or "") for name in ("project", "location", "region", "name", "id")))
    if path in facts.copies:
        return copy.deepcopy(element.get(facts.copies[path])) or []
    if path in facts.predicted or path in facts.values:
        value = facts.predicted.get(path, facts.values.get(path))
        made = _filled_in(value, cty, who, {**element, **top})
        if made is not None or value is None:
            return made
    name = path.rpartition(".")[2]
    if path in ("project", "region", "zone") and isinstance(top.get(path), str):
        return top[path]
    if path == "id" and facts.identity:
        made = render(facts.identity, who, top)
        if made is not None:
            return made
    if name == "location" and path == name:
        return top.get("zone") or top.get("region") or "us-central1"
    if facts.zeros and optional and not facts.guessed:
        return zero(cty)
    return made_up(name, cty, (*who, path, *(str(v) for v in element.values() if isinstance(v, str))))


def _filled_in(value: Value, cty: CtyType, who: tuple[str, ...], members: Object) -> Value:
    """A fact with its templates rendered; None when one names something unknown. A size that nothing tells is 0."""
    if isinstance(value, list):
        parts = [_filled_in(each, "string", who, members) for each in value]
        return None if None in parts else parts
    if not isinstance(value, str):
        return value
    text = render(value, who, members)
    if cty == "number":
        return int(text) if text and text.isdigit() else 0
    return text


def made_up(name: str, cty: CtyType, who: tuple[str, ...]) -> Value:
    """A value of the type: texts and numbers from a digest, collections empty, objects member by member."""
    if cty == "string":
        if name.endswith(("_time", "timestamp", "_at")):
            return "2026-01-01T00:00:00Z"
        if "ip_address" in name or name.endswith(("_ip", "endpoint")):
            return address(*who)
        return f"simulated-{digest(*who, name)[:12]}"
    if cty == "number":
        return int(digest(*who, name)[:6], 16)
    if cty == "bool":
        return False
    if cty == "dynamic":
        return None
    constructor, inner = cty
    if constructor == "object":
        return {key: made_up(key, each, who) for key, each in inner.items()}
    return {} if constructor == "map" else []


def zero(cty: CtyType) -> Value:
    """What a provider of the older SDK writes for nothing: "", 0, false, no elements."""
    if isinstance(cty, str):
        return {"string": "", "number": 0, "bool": False}.get(cty)
    return {} if cty[0] == "map" else None if cty[0] == "object" else []


def known(members: Object) -> Object:
    """The members without anything unknown."""
    return {name: value for name, value in members.items() if is_known(value)}
