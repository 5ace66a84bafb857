"""The providers that the output pins: one release of each, and a seam for what is newer than the bindings."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from groundplan.catalog import shipped
from groundplan.catalog.newer import pinned_versions, set_newer
from groundplan.cli import cli
from groundplan.emit.rehearsal import schema_changes
from sites import ROOT
from staged_terraform import schemas
from staged_terraform.schema_changes import amended, attribute_of, changes_between, cty_of, text_of
from staged_terraform.schema_types import Attribute, Block, NestedBlock

POOL, CLUSTER = "google_container_node_pool", "google_container_cluster"
BEHAVIOUR = "maintenance_policy.maintenance_exclusion.0.exclusion_options.end_time_behavior"
REAL = ROOT.parent / "shared" / "reference" / "provider-schemas.json.xz"


class Resource:
    """A cdktf resource, as far as the seam looks at it."""

    def __init__(self, kind: str) -> None:
        self.terraform_resource_type = kind
        self.set: dict[str, Any] = {}

    @property
    def cdktf_stack(self) -> Resource:
        self.stack = getattr(self, "stack", None) or Resource("stack")
        return self.stack

    def add_override(self, path: str, value: Any) -> None:
        self.set[path] = value


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        (CLUSTER, BEHAVIOUR, "UNTIL_END_OF_SUPPORT"),
        (POOL, "node_drain_config", [{"pdb_timeout_duration": "86400s"}]),
        (POOL, "node_drain_config", {"pdb_timeout_duration": "${var.drain}"}),
        (POOL, "network_config.accelerator_network_profile", "auto"),
        ("google_lustre_instance", "deletion_policy", "PREVENT"),
        (POOL, "ignore_node_count_changes", True),
    ],
)
def test_what_the_pinned_release_has_is_set(kind: str, path: str, value: Any) -> None:
    resource = Resource(kind)
    set_newer(resource, path, value)
    assert resource.set == {path: value}
    assert resource.cdktf_stack.set == {"terraform.required_providers.google.version": "7.45.0"}


@pytest.mark.parametrize(
    ("kind", "path", "value", "says"),
    [
        (CLUSTER, BEHAVIOUR + "s", "x", "did you mean `maintenance_policy.maintenance_exclusion.exclusion_options.end"),
        (CLUSTER, "name", "x", "google 7.45.0 has no argument `name` beyond the bindings"),
        ("google_compute_subnetwork", "enable_flow_logs", True, "no argument `enable_flow_logs`"),
        (POOL, "node_drain_config", [{"pdb_timeout": "1s"}], "no argument `node_drain_config.pdb_timeout`"),
        (POOL, "node_drain_config", "1s", "`node_drain_config` is a block"),
        (POOL, "node_drain_config", [{"pdb_timeout_duration": 60}], "is 60 and must be string"),
        (POOL, "ignore_node_count_changes", "yes", "is 'yes' and must be bool"),
        ("google_lustre_instance", "uid", "x", "`uid` is computed by the provider and cannot be set"),
        ("google_lustre_instance", "dynamic_tier_options", [{}, {}], "is given 2 times, and stands 0 to 1 times"),
        ("google_lustre_instance", "dynamic_tier_options", [{}], "`dynamic_tier_options` needs `mode`"),
        (
            "google_compute_resource_policy",
            "snapshot_schedule_policy.schedule.weekly_schedule.day_of_weeks",
            [],
            "is given 0 times, and stands 1 to 7 times",
        ),
    ],
)
def test_a_typo_or_another_type_cannot_pass(kind: str, path: str, value: Any, says: str) -> None:
    resource = Resource(kind)
    with pytest.raises(ValueError, match=f"^{kind}: ") as error:
        set_newer(resource, path, value)
    assert says in str(error.value)
    assert resource.set == {}


def test_the_pins_are_said_in_one_place_and_doctor_shows_them() -> None:
    assert dict(pinned_versions()) == {"google": "7.45.0", "kubernetes": "2.38.0", "helm": "3.1.1"}
    shown = {
        each["name"]: each["found"]
        for each in json.loads(CliRunner().invoke(cli, ["doctor", "--format", "json"]).output)
    }
    for provider, release in pinned_versions().items():
        assert shown[f"provider {provider}"].startswith(f"{release} ")


def test_the_bindings_are_those_that_the_changes_start_from() -> None:
    assert {name: schemas.wheel(name).provider_version for name in schemas.PROVIDERS} == shipped("provider_changes")[
        "bindings"
    ]


@pytest.mark.skipif(not REAL.exists(), reason="the real providers' schemas are not at hand (../shared/reference)")
def test_schemas_of_what_is_emitted_are_the_real_ones() -> None:
    """Block modes included: the wheels' schemas with the changes of the catalog leave no difference."""
    with lzma.open(REAL, "rt") as file:
        real = json.load(file)["provider_schemas"]
    changes = schema_changes()
    types = list(shipped("provider_facts")["types"])
    found = {}
    for (_, name), block in schemas.load([("resource", name) for name in types]).items():
        provider = real[f"registry.terraform.io/hashicorp/{schemas.provider_of(name)}"]
        found[name] = changes_between(
            amended(block, changes.resources.get(name, {})), provider["resource_schemas"][name]["block"]
        )
    assert {name: each for name, each in found.items() if each} == {}
    names = shipped("provider_data")["read"]
    for (_, name), block in schemas.load([("data", name) for name in names]).items():
        provider = real[f"registry.terraform.io/hashicorp/{schemas.provider_of(name)}"]["data_source_schemas"]
        assert changes_between(amended(block, changes.of("data", name)), provider[name]["block"]) == {}, name
    google = real["registry.terraform.io/hashicorp/google"]["ephemeral_resource_schemas"]["google_client_config"]
    assert changes_between(amended(Block(), changes.ephemeral["google_client_config"]), google["block"]) == {}


def test_every_data_source_that_is_emitted_is_compared() -> None:
    outputs = (ROOT / "tests" / "golden").glob("*/stacks/*/cdk.tf.json")
    emitted = {kind for file in outputs for kind in json.loads(file.read_text("utf-8")).get("data", {})}
    assert emitted == set(shipped("provider_data")["read"])


def test_changes_are_laid_over_a_copy() -> None:
    block = Block({"a": Attribute("string", optional=True)}, {"b": NestedBlock("list", Block(), 0, 1)})
    changed = amended(
        block,
        {
            "a": "gone",
            "c": "required list(string)",
            "b": "block set 1-",
            "b.d": "optional computed number",
            "e": "block single 0-",
        },
    )
    assert list(block.attributes) == ["a"]
    assert (block.blocks["b"].nesting, block.blocks["b"].max_items) == ("list", 1)
    assert list(changed.attributes) == ["c"]
    assert changed.attributes["c"].type == ["list", "string"]
    assert changed.attributes["c"].required
    assert (changed.blocks["b"].nesting, changed.blocks["b"].min_items, changed.blocks["b"].max_items) == ("set", 1, 0)
    inner = changed.blocks["b"].block.attributes["d"]
    assert (inner.type, inner.optional, inner.computed, inner.required) == ("number", True, True, False)
    assert changed.blocks["e"].nesting == "single"
    with pytest.raises(ValueError, match="there is no block x"):
        amended(block, {"x.y": "optional string"})


@pytest.mark.parametrize("text", ["string", "", "optional", "optional  string"])
def test_a_line_without_flag_or_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="names no type, or no flag"):
        attribute_of("p", text)


@pytest.mark.parametrize(
    "cty", ["string", ["list", "string"], ["map", ["set", "number"]], ["list", ["object", {"a": "bool"}]]]
)
def test_types_are_read_as_they_are_written(cty: Any) -> None:
    assert cty_of(text_of(cty)) == cty


def test_synth_pins_one_release_of_each_provider_and_keeps_no_token(tmp_path: Path) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text("project: my-project\nzone: us-central1-b\nreservation: r\n", "utf-8")
    out = tmp_path / "out"
    assert CliRunner().invoke(cli, ["synth", str(profile), "-o", str(out), "-q"]).exit_code == 0
    seen: dict[str, set[str]] = {}
    for file in out.glob("stacks/*/cdk.tf.json"):
        stack = json.loads(file.read_text("utf-8"))
        for name, spec in stack["terraform"]["required_providers"].items():
            seen.setdefault(spec["source"], set()).add(spec["version"])
            assert f"hashicorp/{name}" == spec["source"]
        assert "google_client_config" not in stack.get("data", {})
        if "helm" in stack["provider"]:
            token = "${ephemeral.google_client_config.caller.access_token}"
            assert stack["ephemeral"] == {"google_client_config": {"caller": {}}}
            assert stack["provider"]["helm"][0]["kubernetes"]["token"] == token
            assert stack["provider"]["kubernetes"][0]["token"] == token
    assert seen == {
        "hashicorp/google": {"7.45.0"},
        "hashicorp/kubernetes": {"2.38.0"},
        "hashicorp/helm": {"3.1.1"},
    }
