"""``groundplan diff``: two outputs without state, or a profile at two git revisions."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from groundplan.commands.review import diff
from groundplan.on_plans.provider_facts import known
from plan_review.configurations import compare, forces
from plan_review.model import Action
from review.sites import BASE, EDITS


def said(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(diff, [*arguments, "--format", "json"])
    assert result.exit_code == 0, result.stderr or result.exception
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def actions(found: dict[str, Any]) -> dict[str, str]:
    return {each["address"]: each["action"] for stack in found["stacks"] for each in stack["changes"]}


#: Case -> what changes; kept apart from the plans of the rehearsal, which need Terraform.
EXPECTED: dict[str, dict[str, str]] = {
    "driver": {"google_container_node_pool.pool-a4-highgpu-8g": "replace"},
    "scale": {"google_container_node_pool.pool-a4-highgpu-8g": "update"},
    "unprotected": {"google_container_cluster.cluster": "update"},
    "lustre-grow": {
        "google_lustre_instance.lustre": "update",
        "kubernetes_persistent_volume_v1.lustre-volume": "update",
    },
    # A retained volume whose claim is gone binds to no other: both are made anew, though the address may stay.
    "lustre-throughput": {
        "google_lustre_instance.lustre": "replace",
        "terraform_data.lustre-binding": "replace",
        "kubernetes_persistent_volume_v1.lustre-volume": "replace",
        "kubernetes_persistent_volume_claim_v1.lustre-claim": "replace",
    },
    "kuberay": {"helm_release.kuberay": "update"},
    "job": {"helm_release.job": "update"},
    "zone": {
        "google_lustre_instance.lustre": "replace",
        "google_container_node_pool.cpu-pool": "update",
        "google_compute_network.rdma": "replace",
        **{f"google_compute_subnetwork.rdma-subnetwork-{n}": "replace" for n in range(8)},
        "google_container_node_pool.pool-a4-highgpu-8g": "replace",
        "terraform_data.shape-a4-highgpu-8g": "replace",
        "kubernetes_persistent_volume_v1.lustre-volume": "replace",
        "kubernetes_persistent_volume_claim_v1.lustre-claim": "replace",
    },
}


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param("192.168.100.0/24", ("replace", "replace"), id="moved"),
        pytest.param("192.168.1.0/25", ("replace", "replace"), id="shrunk"),
        pytest.param("192.168.2.0/23", ("replace", "replace"), id="wider, and elsewhere"),
        pytest.param("192.168.0.0/23", ("update", "no-op"), id="widened"),
        pytest.param("${var.range}", ("update", "no-op"), id="not written out"),
    ],
)
def test_a_range_that_does_not_hold_the_old_one_replaces(after: str, expected: tuple[str, str]) -> None:
    def stack(cidr: str) -> dict[str, Any]:
        pool = {"name": "pool", "lifecycle": {"replace_triggered_by": ["google_compute_subnetwork.rail.id"]}}
        return {
            "google_compute_subnetwork": {"rail": {"name": "rail", "ip_cidr_range": cidr}},
            "google_container_node_pool": {"pool": pool},
        }

    subnetwork, pool = compare("gpu", stack("192.168.1.0/24"), stack(after), known)
    assert (str(subnetwork.action), str(pool.action)) == expected


@pytest.mark.parametrize(
    ("kind", "before", "after", "action"),
    [
        (
            "google_container_cluster",
            {"enable_l4_ilb_subsetting": True},
            {"enable_l4_ilb_subsetting": False},
            "replace",
        ),
        ("google_container_cluster", {"enable_l4_ilb_subsetting": False}, {"enable_l4_ilb_subsetting": True}, "update"),
        (
            "google_container_cluster",
            {"enable_k8s_beta_apis": [{"enabled_apis": ["a", "b"]}]},
            {"enable_k8s_beta_apis": [{"enabled_apis": ["b"]}]},
            "replace",
        ),
        (
            "google_container_cluster",
            {"enable_k8s_beta_apis": [{"enabled_apis": ["b"]}]},
            {"enable_k8s_beta_apis": [{"enabled_apis": ["a", "b"]}]},
            "update",
        ),
        (
            "google_storage_bucket",
            {"retention_policy": [{"is_locked": True, "retention_period": "1"}]},
            {"retention_policy": [{"is_locked": False, "retention_period": "1"}]},
            "replace",
        ),
        (
            "google_storage_bucket",
            {"retention_policy": [{"is_locked": False, "retention_period": "1"}]},
            {"retention_policy": [{"is_locked": True, "retention_period": "1"}]},
            "update",
        ),
    ],
)
def test_what_replaces_in_one_direction_alone(
    kind: str, before: dict[str, Any], after: dict[str, Any], action: str
) -> None:
    (found,) = compare("s", {kind: {"x": {"name": "x", **before}}}, {kind: {"x": {"name": "x", **after}}}, known)
    assert str(found.action) == action


@pytest.mark.parametrize("case", EXPECTED)
def test_what_a_change_of_the_profile_does(outputs: dict[str, Path], case: str) -> None:
    assert actions(said(str(outputs["base"]), str(outputs[case]))) == EXPECTED[case]


def test_stacks_that_stay_as_they_are_are_named(outputs: dict[str, Path]) -> None:
    found = said(str(outputs["base"]), str(outputs["driver"]))
    same = {stack["stack"] for stack in found["stacks"] if stack["byte_identical"]}
    assert same == {"rl-network", "rl-storage", "rl-cluster", "rl-platform", "rl-workload"}
    text = CliRunner().invoke(diff, [str(outputs["base"]), str(outputs["driver"])]).stdout
    assert "rl-network: byte-identical" in text
    assert "without state" in text.splitlines()[0]


def test_the_driver_change_of_sixteen_nodes_needs_consent(outputs: dict[str, Path], tmp_path: Path) -> None:
    """C11: the report line, and an exit code for CI."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    wide = BASE.replace("nodes: 2,", "nodes: 16,")
    old.write_text(wide)
    new.write_text(wide.replace(*EDITS["driver"]))
    result = CliRunner().invoke(diff, [str(old), str(new), "--fail-on", "replace"])
    assert result.exit_code == 1
    first = "\n".join(result.stdout.splitlines()[:3])
    for words in ("GPU pool a4-highgpu-8g is replaced", "gpu_driver_version", "16 nodes with 128 B200 GPUs"):
        assert words in first


def test_kuberay_from_152_to_162_asks_for_its_crds(tmp_path: Path) -> None:
    """C07: both versions and the step."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(BASE.replace("version: 1.6.2", "version: 1.5.2"))
    new.write_text(BASE)
    found = said(str(old), str(new))["findings"]
    (finding,) = [each for each in found if each["rule"] == "crd-upgrade"]
    assert "from 1.5.2 to 1.6.2" in finding["message"]
    assert "--version 1.6.2" in finding["hint"]
    assert "--server-side" in finding["hint"]


def test_another_machine_type_is_another_pool(tmp_path: Path) -> None:
    """C13: never an update in place."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(BASE)
    new.write_text(BASE.replace("machine_type: a4-highgpu-8g", "machine_type: a3-ultragpu-8g"))
    found = said(str(old), str(new))
    pools = {a: what for a, what in actions(found).items() if a.startswith("google_container_node_pool.")}
    assert pools == {
        "google_container_node_pool.pool-a4-highgpu-8g": "destroy",
        "google_container_node_pool.pool-a3-ultragpu-8g": "create",
    }
    assert found["verdict"] == "dangerous"


def test_a_stack_that_is_gone(outputs: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(outputs["base"], tmp_path / "new")
    shutil.rmtree(tmp_path / "new" / "stacks" / "rl-storage")
    result = CliRunner().invoke(diff, [str(outputs["base"]), str(tmp_path / "new")])
    lines = result.stdout.splitlines()
    assert lines[0].startswith("NEEDS A DECISION: 1 to forget")
    assert (
        lines[1] == " 1. stack rl-storage is not in the new output; Terraform destroys nothing of it: "
        "Lustre instance rl-lustre"
    )
    assert "stays in the cloud and is paid for" in lines[2]


def test_two_revisions_of_a_profile(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    (tmp_path / "profiles").mkdir()
    profile = tmp_path / "profiles" / "site.yaml"
    profile.write_text(BASE)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    profile.write_text(BASE.replace(*EDITS["scale"]))
    git("commit", "-qam", "two")
    found = said(str(profile), "--revisions", "HEAD~1", "HEAD")
    assert actions(found) == EXPECTED["scale"]
    assert found["made_from"]["compared"] == f"{profile}@HEAD~1 with {profile}@HEAD"
    wrong = CliRunner().invoke(diff, [str(profile), "--revisions", "nowhere", "HEAD"])
    assert (wrong.exit_code, wrong.stderr.count("\n")) == (2, 1)
    assert "nowhere" in wrong.stderr


def test_the_same_twice_is_safe_and_says_nothing_changes(outputs: dict[str, Path]) -> None:
    result = CliRunner().invoke(diff, [str(outputs["base"]), str(outputs["base"])])
    assert result.stdout.splitlines()[:2] == [
        "SAFE: 49 unchanged in 6 stacks (two outputs compared, without state)",
        "Nothing changes.",
    ]


def test_a_block_forces_by_number_and_a_map_by_anything() -> None:
    pool = "google_container_node_pool"
    assert forces(known(pool), ("node_config", 0, "guest_accelerator", 0, "count"))
    assert not forces(known(pool), ("node_config", 0, "machine_type"))
    assert forces(known(pool), ("node_config", "metadata", "a"), {"node_config": {"metadata": {"a": "1"}}})
    assert not forces(known(pool), ("node_config", 0, "resource_labels", "a"))


def network(**changed: Any) -> dict[str, Any]:
    return {
        "google_compute_network": {"n": {"name": "n", **changed}},
        "google_compute_subnetwork": {"s": {"name": "s", "network": "${google_compute_network.n.id}"}},
        "google_compute_firewall": {"f": {"name": "f", "network": "${google_compute_network.n.name}"}},
    }


def found(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Action]:
    return {each.address: each.action for each in compare("s", old, new, known) if each.action is not Action.NONE}


def test_what_hangs_on_an_id_follows_and_what_hangs_on_a_name_does_not() -> None:
    new = network(network_profile="p")
    assert found(network(), new) == {
        "google_compute_network.n": Action.REPLACE,
        "google_compute_subnetwork.s": Action.REPLACE,
    }


def test_comments_defaults_and_ignored_arguments_change_nothing() -> None:
    old = {"google_compute_firewall": {"f": {"name": "f", "//": {"path": "x"}}}}
    new = {"google_compute_firewall": {"f": {"name": "f", "priority": 1000, "depends_on": ["a_b.c"]}}}
    assert found(old, new) == {}
    cluster = {"name": "c", "lifecycle": {"ignore_changes": ["node_config"]}}
    old = {"google_container_cluster": {"c": {**cluster, "node_config": {"a": 1}}}}
    new = {"google_container_cluster": {"c": {**cluster, "node_config": {"a": 2}}}}
    assert found(old, new) == {}


def test_prevent_destroy_that_is_taken_away_is_seen() -> None:
    from groundplan.on_plans.assess import Provenance, assess
    from plan_review.model import Plan

    old = {"google_storage_bucket": {"b": {"name": "b", "lifecycle": {"prevent_destroy": True}}}}
    new = {"google_storage_bucket": {"b": {"name": "b"}}}
    plan = Plan("s", tuple(compare("s", old, new, known)), configuration=True)
    (notice,) = assess([plan], provenance=Provenance("0")).counting
    assert (notice.rule, "prevent_destroy" in notice.message) == ("protection-removed", True)


def test_not_an_output(tmp_path: Path) -> None:
    (tmp_path / "stacks" / "a").mkdir(parents=True)
    (tmp_path / "stacks" / "a" / "cdk.tf.json").write_text("{")
    result = CliRunner().invoke(diff, [str(tmp_path), str(tmp_path)])
    assert (result.exit_code, "is not JSON" in result.stderr) == (2, True)


#: A release whose values stand in a file: in Terraform's JSON, and the file.
READ = '${file("${path.module}/manifests/job.yaml")}'
JOB = "manifests:\n  job:\n    apiVersion: v1\n    kind: Job\n    run: echo ${HOME} %{if} STEPS\n"


def output(folder: Path, values: str, **beside: str) -> str:
    """An output folder with one release, and what stands in its stack's manifests."""
    stack = folder / "stacks" / "rl-workload"
    (stack / "manifests").mkdir(parents=True)
    release = {"name": "job", "namespace": "rl", "chart": "${path.module}/chart", "values": [values]}
    (stack / "cdk.tf.json").write_text(json.dumps({"resource": {"helm_release": {"job": release}}}))
    for name, text in beside.items():
        (stack / "manifests" / f"{name}.yaml").write_text(text)
    return str(folder)


def test_values_in_a_file_are_read(tmp_path: Path) -> None:
    old, new = (output(tmp_path / n, READ, job=JOB.replace("STEPS", n)) for n in ("10", "20"))
    found = said(old, new)
    assert actions(found) == {"helm_release.job": "update"}
    (stack,) = found["stacks"]
    assert stack["byte_identical"] is False, "the JSON is the same, the file is not"
    text = CliRunner().invoke(diff, [old, new]).stdout
    assert "values.manifests.job.run" in text and "echo ${HOME} %{if} 20" in text.replace("$${", "${").replace(
        "%%{", "%{"
    )


def test_values_that_moved_into_a_file_change_nothing(tmp_path: Path) -> None:
    """The upgrade from outputs whose values stood in the JSON, Terraform's markers escaped there."""
    old = output(tmp_path / "old", JOB.replace("${", "$${").replace("%{", "%%{"))
    assert actions(said(old, output(tmp_path / "new", READ, job=JOB))) == {}


def test_values_whose_file_is_missing(tmp_path: Path) -> None:
    old, new = output(tmp_path / "old", READ, job=JOB), output(tmp_path / "new", READ)
    result = CliRunner().invoke(diff, [old, new])
    assert (result.exit_code, "manifests/job.yaml: No such file" in result.stderr) == (2, True)


def test_no_file_outside_the_stacks_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("token: none of yours")
    outside = '${file("${path.module}/../../../secret.yaml")}'
    old, new = output(tmp_path / "old", READ, job=JOB), output(tmp_path / "new", outside, job=JOB)
    result = CliRunner().invoke(diff, [old, new, "--format", "json"])
    assert (result.exit_code, "none of yours" in result.stdout) == (0, False)


def test_rules_see_what_stands_in_a_file(tmp_path: Path) -> None:
    """Secrets and images in the values of a release, which cdk.tf.json only names."""
    containers = "[{{image: 'r/x:{tag}', env: [{env}]}}]"
    pod = f"{{{{apiVersion: v1, kind: Pod, metadata: {{{{name: p}}}}, spec: {{{{containers: {containers}}}}}}}}}"
    good = pod.format(tag="v1", env="{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf}}}")
    bad = pod.format(tag="master", env="{name: HF_TOKEN, value: letmein}")
    old = output(tmp_path / "old", READ, job=good)
    found = said(old, output(tmp_path / "new", READ, job=bad))
    assert {"secret-value", "image-floating"} <= {each["rule"] for each in found["findings"]}
    assert said(old, output(tmp_path / "same", READ, job=good))["findings"] == []
