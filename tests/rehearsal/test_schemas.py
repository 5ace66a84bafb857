"""Schemas come out of the wheels as the providers' documentation has them."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from staged_terraform import schemas
from staged_terraform.schema_types import Block, block_type, from_json, to_json

CLUSTER = ("resource", "google_container_cluster")
POOL = ("resource", "google_container_node_pool")


def inner(block: Block, path: str) -> Block:
    for name in path.split("."):
        block = block.blocks[name].block
    return block


def test_every_type_of_the_three_providers_is_there() -> None:
    # google 6.50.0: 1,096 resources and 373 data sources; kubernetes 2.38.0: 82 + 26; helm 3.1.1: 1 + 1.
    for provider, resources, data_sources in (("google", 1096, 373), ("kubernetes", 82, 26), ("helm", 1, 1)):
        kinds = [kind for kind, _ in schemas.every_type(provider)]
        assert (kinds.count("resource"), kinds.count("data"), kinds.count("provider")) == (resources, data_sources, 1)


def test_attributes_have_their_types_and_flags() -> None:
    pool = schemas.load([POOL])[POOL]
    assert pool.attributes["cluster"].required
    assert (pool.attributes["node_count"].optional, pool.attributes["node_count"].computed) == (True, True)
    assert pool.attributes["managed_instance_group_urls"].type == ["list", "string"]
    assert pool.attributes["node_locations"].type == ["set", "string"]
    node = inner(pool, "node_config")
    assert node.attributes["labels"].type == ["map", "string"]
    assert node.attributes["oauth_scopes"].type == ["set", "string"]
    assert pool.blocks["node_config"].max_items == 1
    assert node.blocks["taint"].nesting == "list"
    assert node.blocks["reservation_affinity"].block.attributes["consume_reservation_type"].required
    assert pool.blocks["timeouts"].nesting == "single"


def test_sets_of_blocks_are_sets_and_required_blocks_have_a_minimum() -> None:
    firewall = schemas.load([("resource", "google_compute_firewall")])["resource", "google_compute_firewall"]
    assert firewall.blocks["allow"].nesting == "set"
    claim = schemas.load([("resource", "kubernetes_persistent_volume_claim_v1")]).popitem()[1]
    assert claim.blocks["spec"].min_items == 1


def test_helm_has_nested_attributes_and_write_only_ones() -> None:
    release = schemas.load([("resource", "helm_release")])["resource", "helm_release"]
    assert not release.blocks
    assert release.attributes["set"].nesting == "list"
    assert release.attributes["set_wo"].write_only
    assert release.attributes["timeouts"].nesting == "single"
    provider = schemas.load([("provider", "helm")])["provider", "helm"]
    assert provider.attributes["kubernetes"].nesting == "single"


def test_secrets_have_a_write_only_argument() -> None:
    secret = schemas.load([("resource", "kubernetes_secret_v1")]).popitem()[1]
    assert secret.attributes["data_wo"].write_only
    assert not secret.attributes["data"].write_only
    assert not secret.attributes["data_wo_revision"].write_only


def test_manifests_are_dynamic() -> None:
    manifest = schemas.load([("resource", "kubernetes_manifest")]).popitem()[1]
    assert manifest.attributes["manifest"].type == "dynamic"


def test_documented_values_are_read() -> None:
    network = schemas.load([("resource", "google_compute_network")]).popitem()[1]
    assert network.attributes["routing_mode"].choices == ("REGIONAL", "GLOBAL")


def test_a_type_that_no_provider_has_is_left_out() -> None:
    assert schemas.load([("resource", "google_container_clutser")]) == {}


def test_the_cache_holds_only_the_types_in_use_and_mends_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAGED_TERRAFORM_CACHE", str(tmp_path))
    key = ("resource", "helm_release")
    first = schemas.load([key])[key]
    (file,) = tmp_path.rglob("*.json")
    for spoiled in ("", "{", "[]", '{"a": {"x": 1}}'):
        file.write_text(spoiled)
        assert schemas.load([key])[key] == first
    assert from_json(to_json(first)) == first


def test_the_cache_may_be_unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STAGED_TERRAFORM_CACHE", str(tmp_path / "file"))
    assert schemas.load([("resource", "helm_release")])


def test_runs_side_by_side_share_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAGED_TERRAFORM_CACHE", str(tmp_path))
    keys = [("resource", "helm_release"), ("provider", "helm")]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: schemas.load(keys), range(8)))
    assert all(each == found[0] for each in found)
    assert not list(tmp_path.rglob("*.tmp"))


def test_the_type_of_a_block_goes_to_the_wire() -> None:
    cluster = schemas.load([CLUSTER])[CLUSTER]
    kind, members = block_type(cluster)
    assert kind == "object"
    assert members["workload_identity_config"] == ["list", ["object", {"workload_pool": "string"}]]


def test_no_binding_is_imported() -> None:
    code = (
        "import sys; import staged_terraform.rehearsal, groundplan.commands.rehearse;"
        "print([m for m in sys.modules if m.split('.')[0].startswith(('cdktf', 'jsii', 'constructs'))])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
