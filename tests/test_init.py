"""`groundplan init`: the tutorial's variables give a profile that synthesizes the tutorial's names."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from findings import UserError, dotted
from groundplan.cli import cli
from groundplan.commands.tutorial_variables import UNUSED, VARIABLES, words_from_environment
from sites import ROOT, SMALL, site_of, synthesized

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
    ("gpu", "machine_type"),
    [("nvidia-h200-141gb", "a3-ultragpu-8g"), ("nvidia-gb200", "a4x-highgpu-4g"), ("nvidia-b200", "a4-highgpu-8g")],
)
def test_a_gpu_that_one_machine_type_has_names_it(gpu: str, machine_type: str) -> None:
    taken = words_from_environment(
        {key: value for key, value in TUTORIAL.items() if "TYPE" not in key} | {"GPU_TYPE": gpu}
    )
    assert taken.words["machine_type"] == machine_type
    assert "accelerator" not in taken.words


@pytest.mark.parametrize(
    ("reservation", "value"),
    [
        (
            "https://www.googleapis.com/compute/v1/projects/owner-project/zones/us-central1-b/reservations/res",
            "projects/owner-project/reservations/res",
        ),
        (
            "//compute.googleapis.com/projects/owner-project/zones/us-central1-b/reservations/res",
            "projects/owner-project/reservations/res",
        ),
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
    with pytest.raises(UserError, match=r"was not written: correct \$NODE_ZONE$"):
        init(tmp_path, TUTORIAL | {"NODE_ZONE": "us-central1"}, "--from-env")
    with pytest.raises(UserError, match=r"was not written: correct --zone$"):
        init(tmp_path, TUTORIAL, "--from-env", "--zone", "us-central1")
    assert list(tmp_path.iterdir()) == []


def test_what_is_taken_and_what_is_not(tmp_path: Path) -> None:
    former = {"NODE_LOCATION": "us-east4-b", "CONTROL_PLANE_LOCATION": "us-east4", "NETWORK": "net", "GS_BUCKET": "b"}
    given = {k: v for k, v in TUTORIAL.items() if k not in ("NODE_ZONE", "CONTROL_PLANE_REGION")} | former
    given |= {"GKE_VERSION": "1.35.2-gke.1842000", "REPLICA_COUNT": "3"}
    output, file = init(tmp_path, given, "--from-env", "--nodes", "4")
    profile = yaml.safe_load(file.read_text())
    assert (profile["zone"], profile["region"], profile["network"]["primary"]["name"]) == (
        "us-east4-b",
        "us-east4",
        "net",
    )
    assert profile["cluster"]["version"] == "1.35.2-gke.1842000"
    assert profile["gpu"]["pools"][0]["nodes"] == 4
    assert "NETWORK_PREFIX is set and was not taken: NETWORK names the network" in output
    assert "GS_BUCKET is set and was not taken" in output
    assert "REPLICA_COUNT" not in output


def test_the_commented_profile_costs_what_the_default_one_does(tmp_path: Path) -> None:
    """Machines and storage, that is: comments and names are all that it adds."""
    _, file = init(tmp_path, {})
    short = yaml.safe_load(SMALL)
    commented, plain = site_of(file.read_text()), site_of(SMALL)
    assert yaml.safe_load(file.read_text()).items() >= short.items()
    assert commented.profile.cluster.cpu_pool == plain.profile.cluster.cpu_pool
    assert commented.lustre == plain.lustre
    assert [(p.name, p.max_nodes, p.spec.machine_type) for p in commented.pools] == [
        (p.name, p.max_nodes, p.spec.machine_type) for p in plain.pools
    ]


def test_every_variable_is_documented(tmp_path: Path) -> None:
    help_ = CliRunner().invoke(cli, ["init", "--help"]).output
    page = (ROOT / "docs" / "tutorial-parity.md").read_text("utf-8")
    for name, variable in VARIABLES.items():
        assert name in help_
        assert f"| `{name}` | `{dotted(variable.path)}` |" in page
        if variable.formerly:
            assert f"`{variable.formerly}`" in page
    assert all(f"`{name}`" in page for name in (*UNUSED, "NETWORK_PREFIX"))


def test_next_steps_work_as_they_are_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["init"])
    assert "next: groundplan check, then groundplan synth\n" in done.output
    assert CliRunner().invoke(cli, ["check"]).output == "profile.yaml: ok, no findings\n"
    assert "next: groundplan check one.yaml, then" in CliRunner().invoke(cli, ["init", "one.yaml"]).output


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
