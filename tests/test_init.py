"""`groundplan init`: the tutorial's variables give a profile that synthesizes the tutorial's names."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from findings import UserError
from groundplan.cli import cli
from sites import synthesized

#: As the tutorial's first step exports them.
TUTORIAL = {
    "PROJECT_ID": "acme-research",
    "CONTROL_PLANE_REGION": "us-central1",
    "NODE_ZONE": "us-central1-b",
    "CLUSTER_NAME": "rl-cluster",
    "GPU_TYPE": "nvidia-b200",
    "MACHINE_TYPE": "a4-highgpu-8g",
    "NAMESPACE": "default",
    "KSA_NAME": "generic-ksa",
    "RESERVATION": "b200-reservation",
    "LUSTRE_NAME": "rl-lustre",
    "NETWORK_PREFIX": "acme",
    "GVNIC_NETWORK_PREFIX": "a4high-gvnic",
    "RDMA_NETWORK_PREFIX": "a4high-rdma",
    "HF_TOKEN": "hf_" + "q7" * 17,
    "WANDB_API_KEY": "0a1b" * 10,
}


def init(folder: Path, environment: dict[str, str], *options: str) -> tuple[str, Path]:
    file = folder / "profile.yaml"
    result = CliRunner(env=dict.fromkeys(TUTORIAL, None) | environment).invoke(cli, ["init", str(file), *options])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output, file


def test_from_env_gives_the_tutorials_names(tmp_path: Path) -> None:
    output, file = init(tmp_path, TUTORIAL, "--from-env")
    text = file.read_text()
    site = synthesized(text)
    names = {r["name"] for kind in ("network", "subnetwork", "firewall") for r in _all(site, f"google_compute_{kind}")}
    assert names >= {
        "acme-nemo-rl",
        "a4high-gvnic-net",
        "a4high-gvnic-sub",
        "a4high-gvnic-internal",
        "a4high-rdma-net",
        *(f"a4high-rdma-sub-{n}" for n in range(8)),
    }
    cluster = site.only("google_container_cluster")
    assert (cluster["name"], cluster["location"], cluster["project"]) == ("rl-cluster", "us-central1", "acme-research")
    (pool,) = site.stacks["gpu"]["resource"]["google_container_node_pool"].values()
    assert pool["name"] == "gpu-pool"
    assert pool["node_config"]["machine_type"] == "a4-highgpu-8g"
    assert pool["node_config"]["reservation_affinity"]["values"] == [
        "projects/acme-research/reservations/b200-reservation"
    ]
    assert site.only("google_lustre_instance")["instance_id"] == "rl-lustre"
    assert site.only("google_compute_global_address")["name"] == "rl-lustre-range"
    account = site.only("kubernetes_service_account_v1")["metadata"]
    assert (account["name"], account["namespace"]) == ("generic-ksa", "default")
    assert site.resources("kubernetes_namespace_v1") == {}
    for token in ("HF_TOKEN", "WANDB_API_KEY"):
        assert f"{token} is set: its value was not written" in output
        assert TUTORIAL[token] not in output + text + site.text()


def _all(site, kind):  # type: ignore[no-untyped-def]
    return site.resources(kind).values()


def test_h200(tmp_path: Path) -> None:
    machine = {"GPU_TYPE": "nvidia-h200-141gb", "MACHINE_TYPE": "a3-ultragpu-8g"}
    _, file = init(tmp_path, TUTORIAL | machine, "--from-env")
    (pool,) = synthesized(file.read_text()).stacks["gpu"]["resource"]["google_container_node_pool"].values()
    assert pool["node_config"]["guest_accelerator"][0]["type"] == "nvidia-h200-141gb"


@pytest.mark.parametrize(
    ("reservation", "value"),
    [
        ("res/reservationBlocks/b1", "projects/acme-research/reservations/res/reservationBlocks/b1"),
        (
            "projects/owner-project/reservations/res/reservationBlocks/b1/reservationSubBlocks/s1",
            "projects/owner-project/reservations/res/reservationBlocks/b1/reservationSubBlocks/s1",
        ),
    ],
)
def test_reservation_forms(tmp_path: Path, reservation: str, value: str) -> None:
    _, file = init(tmp_path, TUTORIAL | {"RESERVATION": reservation}, "--from-env")
    (pool,) = synthesized(file.read_text()).stacks["gpu"]["resource"]["google_container_node_pool"].values()
    assert pool["node_config"]["reservation_affinity"]["values"] == [value]


def test_missing_variables_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not exported: NODE_ZONE, RESERVATION;"):
        init(tmp_path, {"PROJECT_ID": "acme-research"}, "--from-env")
    assert list(tmp_path.iterdir()) == []


def test_a_token_in_a_wrong_variable_is_not_echoed(tmp_path: Path) -> None:
    token = "hf_" + "z9" * 17
    with pytest.raises(UserError) as caught:
        init(tmp_path, TUTORIAL | {"LUSTRE_NAME": token}, "--from-env")
    assert "$LUSTRE_NAME" in str(caught.value)
    assert token not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_values_that_make_no_profile_write_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="was not written"):
        init(tmp_path, TUTORIAL | {"NODE_ZONE": "us-central1"}, "--from-env")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "profile.yaml").write_text("mine")
    with pytest.raises(UserError, match="--force"):
        init(tmp_path, {})
    assert (tmp_path / "profile.yaml").read_text() == "mine"
    init(tmp_path, {}, "--force")
    assert "project: my-project" in (tmp_path / "profile.yaml").read_text()


def test_options(tmp_path: Path) -> None:
    options = ("--project", "acme-research", "--zone", "us-east4-b", "--reservation", "r1", "--nodes", "4")
    output, file = init(tmp_path, {}, *options)
    assert "profile.schema.json" in output
    site = synthesized(file.read_text())
    assert site.site.region == "us-east4"
    (pool,) = site.stacks["gpu"]["resource"]["google_container_node_pool"].values()
    assert pool["node_count"] == 4
