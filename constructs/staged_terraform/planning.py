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

from staged_terraform.computed_values import plain
from staged_terraform.conditions import condition
from staged_terraform.cty_values import UNKNOWN, Value, is_known
from staged_terraform.facts import TypeFacts
from staged_terraform.schema_types import Attribute, Block, CtyType, NestedBlock, attribute_type, block_type

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
    planned = planner.body(block, config, prior, "", whole=prior is None)
    planner.labels(block, planned, prior)
    if prior is None:
        return Plan(planned)
    whole = block_type(block)
    if normal(whole, planned) == normal(whole, prior):
        return Plan(prior)
    for name in facts.recomputed:
        if name in block.attributes and config.get(name) is None:
            planned[name] = UNKNOWN
    conditional = []
    for name, when in facts.replaced_if.items():
        path, old = _reach(prior, name)
        if condition(when)(old, _reach(planned, name)[1]):
            conditional.append(path)
    return Plan(planned, [*replacements(block, facts.force_new, prior, planned), *conditional])


def _reach(body: Object, name: str) -> tuple[tuple[str | int, ...], Any]:
    """The path and value of an argument by its dotted name, through the first element of each block."""
    path: tuple[str | int, ...] = ()
    value: Any = body
    for step in name.split("."):
        if isinstance(value, list):
            path, value = (*path, 0), value[0] if value else None
        path, value = (*path, step), value.get(step) if isinstance(value, dict) else None
    return path, value


@dataclass(slots=True)
class _Planner:
    facts: TypeFacts
    config: Object
    predict: Predict
    legacy: bool

    def body(
        self, block: Block, config: Object, prior: Object | None, prefix: str, whole: bool, in_set: bool = False
    ) -> Object:
        """A planned body. `whole`: everything in it is new, as the older SDK sees it: at creation, and in sets."""
        whole = whole if self.legacy else prior is None
        planned: Object = {}
        for name, attribute in block.attributes.items():
            before = None if prior is None else prior.get(name)
            planned[name] = self.attribute(
                attribute, config.get(name), before, f"{prefix}{name}", creating=prior is None and whole
            )
            if in_set and self.legacy and planned[name] is None and not attribute.computed:
                planned[name] = _empty_in_set(attribute_type(attribute))
        for name, nested in block.blocks.items():
            path = f"{prefix}{name}"
            given = config.get(name)
            before = (prior or {}).get(name)
            if given is UNKNOWN:
                planned[name] = UNKNOWN
            elif nested.nesting == "single":
                planned[name] = None if given is None else self.body(nested.block, given, before, f"{path}.", whole)
            elif not given and path in self.facts.computed_blocks and self.legacy:
                planned[name] = UNKNOWN if prior is None and whole else (before or [])
            elif not given and path in self.facts.appears and before and self.legacy:
                planned[name] = before
            else:
                partners = self.partners(nested, given or [], before, f"{path}.")
                a_set = nested.nesting == "set"
                planned[name] = [
                    each
                    if each is UNKNOWN
                    else self.body(nested.block, each, partner, f"{path}.", whole or a_set, a_set)
                    for each, partner in zip(given or [], partners, strict=True)
                ]
        return planned

    def attribute(self, attribute: Attribute, given: Value, before: Value, path: str, creating: bool) -> Value:
        if attribute.write_only or (given is False and path in self.facts.false_is_unset and before is None):
            return None
        if given is not None and path in self.facts.links and same_object(given, before):
            return before
        if given is not UNKNOWN and isinstance(before, dict) and path in self.facts.added:
            kept = {key: value for key, value in before.items() if key in self.facts.added[path]}
            return {**kept, **(given or {})}
        if given is not None:
            if attribute.nesting and given is not UNKNOWN:
                return self.nested(attribute, given, before, path)
            return given
        if path in self.facts.stays_null and not self.legacy:
            return None
        default = self.facts.defaults.get(path)
        if not attribute.computed:
            if not self.legacy:
                return None
            # Unset and zero are one to the older SDK: what the API answered stays.
            return before if default is None and before is not None and not before else default
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

    def partners(self, nested: NestedBlock, given: list[Value], before: Value, prefix: str) -> list[Object | None]:
        """The prior element that each configured one continues: by position in lists, by likeness in sets."""
        old = [each for each in before if isinstance(each, dict)] if isinstance(before, list) else []
        if nested.nesting == "list":
            return [old[i] if i < len(old) else None for i in range(len(given))]
        found: list[Object | None] = []
        for each in given:
            match = next((other for other in old if self.continues(nested.block, each, other, prefix)), None)
            if match is not None:
                old.remove(match)
            found.append(match)
        return found

    def continues(self, block: Block, given: Value, other: Object, prefix: str) -> bool:
        """Whether a prior set element is this configured one: what is set in it is equal, computed values aside."""
        if not isinstance(given, dict):
            return False
        for name, attribute in block.attributes.items():
            value, before = given.get(name), other.get(name)
            if value is None or (prefix + name in self.facts.links and same_object(value, before)):
                continue
            if normal(attribute_type(attribute), value) != normal(attribute_type(attribute), before):
                return False
        for name, nested in block.blocks.items():
            new, old = given.get(name), other.get(name)
            if nested.nesting == "single" or not new:
                continue
            if new is UNKNOWN or not isinstance(old, list) or len(new) != len(old):
                return False
            inner = f"{prefix}{name}."
            if any(
                partner is None or not self.continues(nested.block, each, partner, inner)
                for each, partner in zip(new, self.partners(nested, new, old, inner), strict=True)
            ):
                return False
        return True

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


def same_object(one: Value, other: Value) -> bool:
    """Whether two references mean the same: a link, a path without its host, or a bare name."""
    if not isinstance(one, str) or not isinstance(other, str):
        return False
    short, long = sorted((plain(one), plain(other)), key=len)
    return long == short or long.endswith(f"/{short}")


def _empty_in_set(cty: CtyType) -> Value:
    """In the elements of a set the older SDK plans texts and collections as empty where nobody set them."""
    return "" if cty == "string" else [] if isinstance(cty, list) and cty[0] in ("list", "set") else None


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
            for index in range(len(old), len(new)):
                yield from _replacements(nested.block, force_new, {}, new[index] or {}, path + ".", (*at, name, index))
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


#: ``answer(path, attribute, element)`` gives a computed value; it may look at what is already known of the element.
Answer = Callable[[str, Attribute, Object], Value]


def fill(
    block: Block, planned: Object, config: Object, answer: Answer, left_empty: frozenset[str] = frozenset()
) -> Object:
    """The object after apply: every unknown answered, whole blocks that the API fills included."""
    return _fill(block, planned, config, answer, "", left_empty)


def _fill(
    block: Block, planned: Object, config: Object, answer: Answer, prefix: str, left_empty: frozenset[str]
) -> Object:
    done: Object = dict(planned)
    for name, attribute in block.attributes.items():
        value = planned.get(name)
        if attribute.write_only:
            done[name] = None
        elif value is UNKNOWN:
            given = config.get(name)
            known = given is not None and is_known(given)
            done[name] = given if known else answer(prefix + name, attribute, done)
        elif attribute.nesting and not is_known(value):
            done[name] = _fill_nested(attribute, value, prefix + name, answer)
    for name, nested in block.blocks.items():
        value, path = planned.get(name), f"{prefix}{name}."
        if value is UNKNOWN:
            filled = nested.max_items == 1 and has_computed(nested.block) and prefix + name not in left_empty
            done[name] = [_fill(nested.block, absent(nested.block), {}, answer, path, left_empty)] if filled else []
        elif isinstance(value, dict):
            done[name] = _fill(nested.block, value, config.get(name) or {}, answer, path, left_empty)
        elif isinstance(value, list):
            given = config.get(name)
            sources = given if isinstance(given, list) and len(given) == len(value) else [{}] * len(value)
            done[name] = [
                _fill(nested.block, each, source or {}, answer, path, left_empty) if isinstance(each, dict) else each
                for each, source in zip(value, sources, strict=True)
            ]
    return done


def _fill_nested(attribute: Attribute, value: Value, path: str, answer: Answer) -> Value:
    if isinstance(value, list):
        return [_fill_nested(attribute, each, path, answer) for each in value]
    if not isinstance(value, dict):
        return value
    inside = value if attribute.nesting != "map" else {}
    return {
        name: answer(f"{path}.{name}", attribute.nested[name], inside) if each is UNKNOWN else each
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
