"""Data sources, answered from the cloud: what a stack learns about the stacks before it."""

from __future__ import annotations

from typing import Any

from staged_terraform.computed_values import computed, first, known, made_up, number, plain
from staged_terraform.cty_values import UNKNOWN, Value
from staged_terraform.facts import TypeFacts
from staged_terraform.schema_types import Attribute, Block, attribute_type, block_type
from staged_terraform.simulated_cloud import Refused, SimulatedCloud, lookup

Object = dict[str, Any]

#: Data sources that take what is not there for no error (kubernetes 2.38.0), and what they then leave unset.
_EMPTY_WHEN_ABSENT = {"kubernetes_secret_v1": ("data", "binary_data", "type", "immutable")}


def read_data_source(
    cloud: SimulatedCloud, name: str, block: Block, config: Object, surroundings: Object, cluster: str
) -> Object:
    """The state of a data source. Raises Refused when what it looks for is not there."""
    facts = cloud.facts.of(name, block)
    if name == "google_client_config":
        return {
            **_answered(block, config, {}, facts),
            **surroundings,
            "id": "simulated",
            "access_token": "simulated-access-token",
            "default_labels": config.get("default_labels"),
        } | _only(block, {"zone": surroundings.get("zone"), "region": surroundings.get("region")})
    if name == "google_project":
        project = config.get("project_id") or surroundings["project"]
        answer = {
            "project_id": project,
            "number": str(number("project", project)),
            "id": f"projects/{project}",
            "name": project,
        }
        return _answered(block, config, answer, facts)
    found = lookup(cloud, name, config)
    if found is None and cluster:
        meta = first(config, "metadata.name")
        match = cloud.find(name, str(meta), cluster) if meta else None
        found = match.state if match else None
    if found is None and name in _EMPTY_WHEN_ABSENT and not cloud.lenient:
        return {**_answered(block, config, {}, facts), **dict.fromkeys(_EMPTY_WHEN_ABSENT[name])}
    if found is None:
        found = _require_outside(cloud, name, config, surroundings)
    return _answered(block, config, {**surroundings, **found}, facts)


def _require_outside(cloud: SimulatedCloud, name: str, config: Object, surroundings: Object) -> Object:
    """What no stack makes is taken to exist, and noted; what one makes, or a fault hides, is not there.

    What the stacks want of it, by postconditions, it is taken to have.
    """
    wanted = next(
        (str(config[k]) for k in ("name", "instance_id", "secret_id", "account_id", "self_link") if config.get(k)), None
    )
    if wanted is None:
        return {}
    base = plain(wanted).rpartition("/")[2]
    promised = cloud.promised.get((name, base), {})
    if cloud.lenient:
        return promised
    hidden = (name, base) in cloud.absent or (name, "*") in cloud.absent
    if hidden or (name, base) in cloud.made_by_stacks:
        where = config.get("location") or config.get("zone") or config.get("region") or "global"
        raise Refused(
            f"Error 404: {name} {wanted} ({where}, project {surroundings['project']}) was not found, notFound",
            f'data "{name}" looks for something that is not there yet: does its stack come later?',
        )
    if (name, base) not in cloud.outside:
        ways = ", ".join(
            f"{key} {str(value).lower() if isinstance(value, bool) else value}" for key, value in promised.items()
        )
        cloud.assumptions.add(f"{name} {plain(wanted)} exists{f', with {ways}' if ways else ''}")
    return promised


def _answered(block: Block, config: Object, found: Object, facts: TypeFacts) -> Object:
    """The configuration, completed with what was found, and made-up values for the rest."""
    state: Object = {}
    for key, attribute in block.attributes.items():
        given = config.get(key)
        state[key] = given if given is not None else _value(attribute, key, found, state, facts, config)
    for key, nested in block.blocks.items():
        inner = found.get(key)
        given = config.get(key)
        if nested.nesting == "single" or given:
            state[key] = given
            if isinstance(given, list) and isinstance(inner, list):
                state[key] = [
                    {**each, **{k: v for k, v in old.items() if each.get(k) is None}} if isinstance(old, dict) else each
                    for each, old in zip(given, inner + [None] * len(given), strict=False)
                ]
            elif isinstance(given, list):
                state[key] = [_answered(nested.block, each, {}, facts) for each in given]
        else:
            state[key] = inner if isinstance(inner, list) and _fits(nested.block, inner) else []
    return state


def _value(attribute: Attribute, key: str, found: Object, state: Object, facts: TypeFacts, config: Object) -> Value:
    cty = attribute_type(attribute)
    if key in found and found[key] is not UNKNOWN:
        value = _convert(cty, found[key])
        if value is not None:
            return value
    if not attribute.computed:
        return None
    if found.get("id") and key in found:
        return None if isinstance(cty, str) else ([] if cty[0] in ("list", "set") else None)
    if key == "id":
        value = computed(facts, "id", cty, {}, {**known(config), **known(found)})
        return _convert(cty, value) if cty == "string" else made_up(key, cty, (facts.name,))
    return made_up(key, cty, (facts.name, *(str(v) for v in config.values() if isinstance(v, str))))


def _convert(cty: Any, value: Value) -> Value:
    """A resource's value as its data source types it (blocks there are lists of objects here); None if it cannot be."""
    if value is None or value is UNKNOWN:
        return None
    match cty:
        case "string":
            return value if isinstance(value, str) else (str(value) if isinstance(value, int | float) else None)
        case "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else None
        case "bool":
            return value if isinstance(value, bool) else None
        case "dynamic":
            return None
        case ["object", members]:
            return {k: _convert(each, value.get(k)) for k, each in members.items()} if isinstance(value, dict) else None
        case ["map", inner]:
            return {k: _convert(inner, v) for k, v in value.items()} if isinstance(value, dict) else None
        case [_, inner]:
            if isinstance(value, dict):
                value = [value]  # a single block, in a data source a list of one
            return [_convert(inner, each) for each in value] if isinstance(value, list) else None
    return None


def _fits(block: Block, elements: list[Value]) -> bool:
    members = set(block_type(block)[1])
    return all(isinstance(each, dict) and set(each) == members for each in elements)


def _only(block: Block, values: Object) -> Object:
    return {key: value for key, value in values.items() if key in block.attributes}
