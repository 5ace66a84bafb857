"""The object as the API stored it and a provider of the older SDK read it back: not what was sent.

Arguments that nobody set become their type's zero, some are never sent, references become full links, and blocks stand
there that nobody wrote. Which, is data (:class:`staged_terraform.facts.TypeFacts`).
"""

from __future__ import annotations

from typing import Any

from staged_terraform.computed_values import first, plain, render, zero
from staged_terraform.cty_values import UNKNOWN, Value
from staged_terraform.facts import TypeFacts
from staged_terraform.schema_types import Attribute, Block, attribute_type

Object = dict[str, Any]


def as_stored(block: Block, facts: TypeFacts, applied: Object, top: Object) -> Object:
    """The state after an apply; `applied` is whole, `top` its members with the provider's project and region."""
    if not facts.zeros:
        return applied
    unsent = {path for path, unless in facts.never_sent.items() if not unless or first(top, unless) is False}
    return _body(block, facts, applied, "", top, unsent)


#: `api`: the body is the API's own, so that its computed arguments are answered here too.
def _body(
    block: Block, facts: TypeFacts, body: Object, prefix: str, top: Object, unsent: set[str], api: bool = False
) -> Object:
    stored: Object = dict(body)
    for name, attribute in block.attributes.items():
        path = prefix + name
        stored[name] = _attribute(facts, attribute, path, body.get(name), top, unsent, api)
    for name, nested in block.blocks.items():
        path, elements = prefix + name, body.get(name)
        if nested.nesting == "single":
            continue  # timeouts: never sent, never read
        if path in unsent:
            stored[name] = []
        elif path in facts.appears and not elements:
            stored[name] = [_body(nested.block, facts, _nothing(nested.block), f"{path}.", top, unsent, True)]
        elif isinstance(elements, list):
            stored[name] = [
                _body(nested.block, facts, each, f"{path}.", top, unsent) if isinstance(each, dict) else each
                for each in elements
            ]
    return stored


def _attribute(
    facts: TypeFacts, attribute: Attribute, path: str, value: Value, top: Object, unsent: set[str], api: bool
) -> Value:
    cty = attribute_type(attribute)
    if attribute.write_only or value is UNKNOWN:
        return value
    if path in unsent:
        return zero(cty)
    if path in facts.added:
        marks = {key: _called_for(choices, top) for key, choices in facts.added[path].items()}
        return {**{key: text for key, text in marks.items() if text}, **(value or {})}
    if isinstance(value, str) and value and path in facts.links:
        return _link(value, facts.links[path], top)
    if value is None and (api or not attribute.computed) and path not in facts.stays_null:
        default = facts.values.get(path, facts.defaults.get(path))
        return zero(cty) if default is None else default
    return value


def _nothing(block: Block) -> Object:
    return {**dict.fromkeys(block.attributes), **{name: [] for name in block.blocks}}


def _called_for(choices: dict[str, str], top: Object) -> str:
    """The text of the first argument that is set."""
    return next((text for path, text in choices.items() if first(top, path)), "")


def _link(reference: str, template: str, top: Object) -> str:
    """The API's link to what a path or a bare name means."""
    path = plain(reference)
    if "/" not in path:
        return render(template, (), {**top, "reference": path}) or reference
    host, found, _ = template.partition("projects/")
    return host + path if found else reference
