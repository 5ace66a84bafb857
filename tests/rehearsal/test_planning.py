"""Plans say what the providers would say: defaults, computed blocks, sets, and what forces a replacement."""

from __future__ import annotations

from typing import Any

import pytest

from groundplan.emit.rehearsal import provider_facts, schema_changes
from staged_terraform.cty_values import UNKNOWN
from staged_terraform.facts import TypeFacts, expand, paths_of
from staged_terraform.planning import fill, plan
from staged_terraform.schema_changes import amended
from staged_terraform.schema_types import Attribute, Block, NestedBlock
from staged_terraform.schemas import load

OPTIONAL = Attribute("string", optional=True)
BOTH = Attribute("string", optional=True, computed=True)
COMPUTED = Attribute("string", computed=True)

DISK = NestedBlock("list", Block({"kind": OPTIONAL, "serial": COMPUTED}), max_items=1)
RULE = NestedBlock("set", Block({"port": Attribute("number", required=True), "label": BOTH}))
BLOCK = Block(
    {"id": COMPUTED, "name": Attribute("string", required=True), "size": OPTIONAL, "zone": BOTH},
    {"disk": DISK, "rule": RULE},
)
FACTS = TypeFacts(
    "x",
    force_new=frozenset({"name", "disk", "disk.kind"}),
    defaults={"size": "small"},
    computed_blocks=frozenset({"disk"}),
)


def unknown(*_: Any) -> Any:
    return UNKNOWN


def config(**given: Any) -> dict[str, Any]:
    return {"id": None, "name": "n", "size": None, "zone": None, "disk": [], "rule": [], **given}


def rule(port: int, label: str | None = None) -> dict[str, Any]:
    return {"port": port, "label": label}


def built(**given: Any) -> dict[str, Any]:
    made = plan(BLOCK, FACTS, None, config(**given), unknown).planned
    return fill(BLOCK, made, config(**given), lambda path, *_: f"made-{path}")


def test_creation_fills_defaults_and_leaves_computed_unknown() -> None:
    made = plan(BLOCK, FACTS, None, config(rule=[rule(1)]), unknown).planned
    assert made["size"] == "small"
    assert made["id"] is made["zone"] is made["disk"] is UNKNOWN
    assert made["rule"] == [{"port": 1, "label": UNKNOWN}]


def test_a_strict_provider_plans_only_what_is_set_or_computed() -> None:
    made = plan(BLOCK, FACTS, None, config(), unknown, legacy=False).planned
    assert made["size"] is None
    assert made["disk"] == []


def test_a_computed_block_comes_back_with_one_element() -> None:
    state = built()
    assert state["disk"] == [{"kind": None, "serial": "made-disk.serial"}]
    assert state["zone"] == "made-zone"


@pytest.mark.parametrize(
    "given",
    [{}, {"zone": "z"}, {"rule": [rule(1), rule(2, "two")]}, {"disk": [{"kind": "ssd", "serial": None}]}],
)
def test_the_plan_after_the_apply_is_empty(given: dict[str, Any]) -> None:
    state = built(**given)
    again = plan(BLOCK, FACTS, state, config(**given), unknown)
    assert again.planned is state
    assert again.requires_replace == []


def test_sets_have_no_order() -> None:
    state = built(rule=[rule(1), rule(2)])
    assert plan(BLOCK, FACTS, state, config(rule=[rule(2), rule(1)]), unknown).planned is state


def test_set_elements_keep_their_computed_values() -> None:
    state = built(rule=[rule(1), rule(2)])
    made = plan(BLOCK, FACTS, state, config(rule=[rule(2), rule(3)]), unknown).planned
    assert made["rule"] == [{"port": 2, "label": "made-rule.label"}, {"port": 3, "label": UNKNOWN}]


@pytest.mark.parametrize(
    ("before", "after", "replaced"),
    [
        ({}, {"name": "other"}, [("name",)]),
        ({}, {"size": "big"}, []),
        ({"zone": "a"}, {"zone": "b"}, []),
        ({"disk": [{"kind": "a", "serial": None}]}, {"disk": [{"kind": "b", "serial": None}]}, [("disk", 0, "kind")]),
        ({"rule": [rule(1)]}, {"rule": [rule(2)]}, []),
    ],
)
def test_replacements(before: dict[str, Any], after: dict[str, Any], replaced: list[Any]) -> None:
    assert plan(BLOCK, FACTS, built(**before), config(**after), unknown).requires_replace == replaced


def test_force_new_on_a_block_is_about_its_number_of_elements() -> None:
    only_block = TypeFacts("x", force_new=frozenset({"disk"}))
    one = config(disk=[{"kind": "a", "serial": None}])
    state = fill(BLOCK, plan(BLOCK, only_block, None, one, unknown).planned, one, lambda *_: "made")
    changed = plan(BLOCK, only_block, state, config(disk=[{"kind": "b", "serial": None}]), unknown)
    assert changed.requires_replace == []
    assert changed.planned["disk"] == [{"kind": "b", "serial": "made"}]
    assert plan(BLOCK, only_block, state, config(), unknown).requires_replace == [("disk",)]


def test_unset_and_zero_are_one_to_force_new() -> None:
    state = built()
    only_kind = TypeFacts("x", force_new=frozenset({"size"}), computed_blocks=frozenset({"disk"}))
    state["size"] = None
    assert plan(BLOCK, only_kind, state, config(size=""), unknown).requires_replace == []


def test_an_unknown_value_of_a_force_new_argument_replaces() -> None:
    assert plan(BLOCK, FACTS, built(), config(name=UNKNOWN), unknown).requires_replace == [("name",)]


def test_write_only_values_are_in_no_plan() -> None:
    block = Block({"secret_wo": Attribute("string", optional=True, write_only=True)})
    assert plan(block, TypeFacts("x"), None, {"secret_wo": "s"}, unknown).planned == {"secret_wo": None}


def test_paths_expand() -> None:
    assert expand("a b.{c d.e}\n f") == {"a", "b.c", "b.d.e", "f"}


def test_every_fact_names_an_argument_that_its_type_has() -> None:
    catalog = provider_facts()
    names = [name for name in catalog.types if not name.endswith("*")]
    loaded = load(("resource", name) for name in names)
    for name in names:
        block = amended(loaded["resource", name], schema_changes().resources.get(name, {}))
        known = paths_of(block) | {"metadata.generate_name"}
        found = catalog.of(name, block)
        nested = {path for path in found.sensitive if path.split(".")[0] in block.attributes}
        told = {*found.force_new, *found.defaults, *found.computed_blocks, *found.sensitive, *found.needs}
        told |= {*found.holds, *found.values, *found.predicted, *found.unknown, *found.recomputed, *found.replaced_if}
        told |= {*found.stays_null, *found.left_empty, *found.appears, *found.never_sent, *found.false_is_unset}
        told |= {*filter(None, found.never_sent.values()), *found.links, *found.copies, *found.added}
        assert told - known - nested == set(), name
