"""What a provider answers to "what would change?": defaults, computed values, blocks the API fills, replacements.

The rules are those of Terraform's older plugin SDK, on which google and kubernetes are built, and the stricter ones of
the framework (helm), told apart by `legacy`: only a legacy provider may plan a value for an argument that is neither
set nor computed, or blocks that the configuration does not have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from staged_terraform.cty_values import UNKNOWN, Value, is_known
from staged_terraform.facts import TypeFacts
from staged_terraform.schema_types import Attribute, Block, CtyType, attribute_type, block_type

Path = tuple[str | int, ...]
Object = dict[str, Any]

#: Gives a computed value known at plan time (project, region, a service account's address) or UNKNOWN.
Predict = Callable[[str, Attribute, Object], Value]


@dataclass(frozen=True, slots=True)
class Plan:
    """A planned object and the paths whose change replaces the resource."""

    planned: Object
    requires_replace: list[Path] = field(default_factory=list)


def plan(
    block: Block, facts: TypeFacts, prior: Object | None, config: Object, predict: Predict, legacy: bool = True
) -> Plan:
    """Plan a creation (`prior` is None) or an update. Nothing changed gives `prior` itself: an empty plan."""
    planner = _Planner(facts, config, predict, legacy)
    planned = planner.body(block, config, prior, "")
    planner.labels(block, planned, prior)
    if prior is None:
        return Plan(planned)
    whole = block_type(block)
    if normal(whole, planned) == normal(whole, prior):
        return Plan(prior)
    for name in facts.recomputed:
        if name in block.attributes:
            planned[name] = UNKNOWN
    return Plan(planned, list(replacements(block, facts.force_new, prior, planned)))


@dataclass(slots=True)
class _Planner:
    facts: TypeFacts
    config: Object
    predict: Predict
    legacy: bool

    def body(self, block: Block, config: Object, prior: Object | None, prefix: str) -> Object:
        planned: Object = {}
        for name, attribute in block.attributes.items():
            before = None if prior is None else prior.get(name)
            planned[name] = self.attribute(
                attribute, config.get(name), before, f"{prefix}{name}", creating=prior is None
            )
        for name, nested in block.blocks.items():
            path = f"{prefix}{name}"
            given = config.get(name)
            before = (prior or {}).get(name)
            if given is UNKNOWN:
                planned[name] = UNKNOWN
            elif nested.nesting == "single":
                planned[name] = None if given is None else self.body(nested.block, given, before, f"{path}.")
            elif not given and path in self.facts.computed_blocks and self.legacy:
                planned[name] = UNKNOWN if prior is None else (before or [])
            else:
                partners = _partners(nested, given or [], before)
                planned[name] = [
                    each if each is UNKNOWN else self.body(nested.block, each, partner, f"{path}.")
                    for each, partner in zip(given or [], partners, strict=True)
                ]
        return planned

    def attribute(self, attribute: Attribute, given: Value, before: Value, path: str, creating: bool) -> Value:
        if attribute.write_only:
            return None
        if given is not None:
            if attribute.nesting and given is not UNKNOWN:
                return self.nested(attribute, given, before, path)
            return given
        default = self.facts.defaults.get(path)
        if not attribute.computed:
            return default if self.legacy else None
        if not creating:
            return before
        if default is not None:
            return default
        return self.predict(path, attribute, self.config)

    def nested(self, attribute: Attribute, given: Value, before: Value, path: str) -> Value:
        """Members of nested attributes that are computed and not set."""

        def one(each: Value, partner: Value) -> Value:
            if not isinstance(each, dict):
                return each
            old = partner if isinstance(partner, dict) else None
            return {
                name: self.attribute(
                    member, each.get(name), (old or {}).get(name), f"{path}.{name}", creating=old is None
                )
                for name, member in attribute.nested.items()
            }

        if attribute.nesting == "single":
            return one(given, before)
        if attribute.nesting == "map":
            return {key: one(each, (before or {}).get(key)) for key, each in given.items()}
        pairs = zip_longest(given, before if isinstance(before, list) else [])
        return [one(each, partner) for each, partner in pairs][: len(given)]

    def labels(self, block: Block, planned: Object, prior: Object | None) -> None:
        """``terraform_labels`` and ``effective_labels`` follow from the labels and the provider's default labels."""
        if "effective_labels" not in block.attributes or "terraform_labels" not in block.attributes:
            return
        labels = self.predict("effective_labels", block.attributes["effective_labels"], self.config)
        if prior is not None and isinstance(labels, dict):
            # The attribution label is written at creation only.
            extra = {k: v for k, v in (prior.get("terraform_labels") or {}).items() if k == ATTRIBUTION}
            labels = {**{k: v for k, v in labels.items() if k != ATTRIBUTION}, **extra}
        planned["effective_labels"] = planned["terraform_labels"] = labels


#: The google provider marks what it creates.
ATTRIBUTION = "goog-terraform-provisioned"


def _partners(nested: Any, given: list[Value], before: Value) -> list[Object | None]:
    """The prior element that each configured element continues: by position in lists, by likeness in sets."""
    old = [each for each in before if isinstance(each, dict)] if isinstance(before, list) else []
    if nested.nesting == "list":
        return [old[i] if i < len(old) else None for i in range(len(given))]
    partners: list[Object | None] = []
    for each in given:
        match = next((candidate for candidate in old if _continues(nested.block, each, candidate)), None)
        if match is not None:
            old.remove(match)
        partners.append(match)
    return partners


def _continues(block: Block, given: Value, candidate: Object) -> bool:
    """Whether a prior set element is this configured one: all that is set in it is equal, computed values aside."""
    if not isinstance(given, dict):
        return False
    for name, attribute in block.attributes.items():
        value = given.get(name)
        cty = attribute_type(attribute)
        if value is not None and normal(cty, value) != normal(cty, candidate.get(name)):
            return False
    for name, nested in block.blocks.items():
        new, old = given.get(name), candidate.get(name)
        if nested.nesting == "single" or not new:
            continue
        if new is UNKNOWN or not isinstance(old, list) or len(new) != len(old):
            return False
        if any(
            partner is None or not _continues(nested.block, each, partner)
            for each, partner in zip(new, _partners(nested, new, old), strict=True)
        ):
            return False
    return True


def replacements(block: Block, force_new: frozenset[str], prior: Object, planned: Object) -> Iterator[Path]:
    """The paths that changed and force replacement; on a block only its number of elements counts."""
    yield from _replacements(block, force_new, prior, planned, "", ())


def _replacements(
    block: Block, force_new: frozenset[str], prior: Object, planned: Object, prefix: str, at: Path
) -> Iterator[Path]:
    for name, attribute in block.attributes.items():
        if prefix + name in force_new and _differs(attribute_type(attribute), prior.get(name), planned.get(name)):
            yield (*at, name)
    for name, nested in block.blocks.items():
        path = prefix + name
        old, new = prior.get(name), planned.get(name)
        if old is UNKNOWN or new is UNKNOWN or nested.nesting == "single":
            continue
        old, new = old or [], new or []
        if len(old) != len(new) and path in force_new:
            yield (*at, name)
            continue
        if nested.nesting == "set":
            inner = [each for each in force_new if each.startswith(path + ".")]
            if inner and normal(["set", block_type(nested.block)], old) != normal(
                ["set", block_type(nested.block)], new
            ):
                yield (*at, name)
            continue
        for index, (before, after) in enumerate(zip_longest(old, new)):
            # A path into an element that is gone would point nowhere: the block itself is named instead.
            where: Path = (*at, name, index) if index < min(len(old), len(new)) else (*at, name)
            for found in _replacements(nested.block, force_new, before or {}, after or {}, path + ".", where):
                yield found if where[-1] == index else where


def _differs(cty: CtyType, old: Value, new: Value) -> bool:
    """Changed, where unset and the type's zero are one: the older SDK cannot tell them apart."""
    if old in (None, "", False, 0) and new in (None, "", False, 0) and UNKNOWN not in (old, new):
        return False
    if (old is None or old == [] or old == {}) and (new is None or new == [] or new == {}):
        return False
    return bool(normal(cty, old) != normal(cty, new))


def normal(cty: CtyType, value: Value) -> Value:
    """A comparable form: sets without order, whole floats as integers, unknowns as themselves."""
    if value is None or value is UNKNOWN:
        return value
    if cty == "number":
        return int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(cty, str):
        return value
    constructor, inner = cty
    if constructor == "object":
        return {name: normal(each, value.get(name)) for name, each in inner.items()}
    if constructor == "map":
        return {name: normal(inner, each) for name, each in value.items()}
    items = [normal(inner, each) for each in value]
    if constructor == "set":
        items.sort(key=lambda each: json.dumps(each, sort_keys=True, default=repr))
    return items


def fill(block: Block, planned: Object, config: Object, answer: Callable[[str, CtyType, Object], Value]) -> Object:
    """The object after apply: every unknown answered, whole blocks that the API fills included.

    `answer(path, type, element)` gives a computed value; it may look at what is already known of the element.
    """
    return _fill(block, planned, config, answer, "")


def _fill(
    block: Block, planned: Object, config: Object, answer: Callable[[str, CtyType, Object], Value], prefix: str
) -> Object:
    done: Object = dict(planned)
    for name, attribute in block.attributes.items():
        value = planned.get(name)
        if attribute.write_only:
            done[name] = None
        elif value is UNKNOWN:
            given = config.get(name)
            known = given is not None and is_known(given)
            done[name] = given if known else answer(prefix + name, attribute_type(attribute), done)
        elif attribute.nesting and not is_known(value):
            done[name] = _fill_nested(attribute, value, prefix + name, answer)
    for name, nested in block.blocks.items():
        value, path = planned.get(name), f"{prefix}{name}."
        if value is UNKNOWN:
            filled = nested.max_items == 1 and has_computed(nested.block)
            done[name] = [_fill(nested.block, absent(nested.block), {}, answer, path)] if filled else []
        elif isinstance(value, dict):
            done[name] = _fill(nested.block, value, config.get(name) or {}, answer, path)
        elif isinstance(value, list):
            given = config.get(name)
            sources = given if isinstance(given, list) and len(given) == len(value) else [{}] * len(value)
            done[name] = [
                _fill(nested.block, each, source or {}, answer, path) if isinstance(each, dict) else each
                for each, source in zip(value, sources, strict=True)
            ]
    return done


def _fill_nested(
    attribute: Attribute, value: Value, path: str, answer: Callable[[str, CtyType, Object], Value]
) -> Value:
    if isinstance(value, list):
        return [_fill_nested(attribute, each, path, answer) for each in value]
    if not isinstance(value, dict):
        return value
    inside = value if attribute.nesting != "map" else {}
    return {
        name: answer(f"{path}.{name}", attribute_type(attribute.nested[name]), inside) if each is UNKNOWN else each
        for name, each in value.items()
    }


def absent(block: Block) -> Object:
    """An element of a block that only the API filled: computed values unknown, the rest null, inner blocks alike."""
    body: Object = {name: UNKNOWN if each.computed else None for name, each in block.attributes.items()}
    for name, nested in block.blocks.items():
        fills = nested.nesting == "list" and nested.max_items == 1 and has_computed(nested.block)
        body[name] = UNKNOWN if fills else (None if nested.nesting == "single" else [])
    return body


def has_computed(block: Block) -> bool:
    """Some value in it, at any depth, is the API's to fill."""
    return any(each.computed for each in block.attributes.values()) or any(
        has_computed(nested.block) for nested in block.blocks.values()
    )
