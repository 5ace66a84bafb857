"""Limits of small functions, each worked out by hand: the last value that passes and the first that does not."""

from __future__ import annotations

from ipaddress import IPv4Network
from pathlib import Path

import pytest
from click.testing import CliRunner

from groundplan.cli import cli
from groundplan.kernel.addresses import free_block
from groundplan.kernel.images import parse_image
from groundplan.kernel.ports import is_every_port
from groundplan.kernel.ranges import admits_internet, is_private
from sites import SMALL, synthesized


@pytest.mark.parametrize(
    ("prefix", "taken", "free"),
    [
        (9, ["10.0.0.0/9"], "10.128.0.0/9"),  # the second half is the last that fits
        (9, ["10.128.0.0/9"], "10.0.0.0/9"),
        (9, ["10.0.0.0/9", "10.128.0.0/9"], None),
        (24, ["10.0.0.0/8"], "172.16.0.0/24"),
        (16, ["10.0.0.0/8", "172.16.0.0/16"], "172.18.0.0/16"),  # 172.17 is Docker's
        (16, ["10.0.0.0/8", "172.16.0.0/12"], "192.168.0.0/16"),
        (24, ["10.0.0.0/25"], "10.0.1.0/24"),
        (24, ["10.0.0.255/32"], "10.0.1.0/24"),
        (24, ["10.0.1.0/32"], "10.0.0.0/24"),
    ],
)
def test_the_first_free_block(prefix: int, taken: list[str], free: str | None) -> None:
    found = free_block(prefix, map(IPv4Network, taken))
    assert found == (IPv4Network(free) if free else None)


@pytest.mark.parametrize(
    ("image", "tag", "digest", "moves"),
    [
        ("r:5000/a", "", "", True),
        ("r:5000/a:v1", "v1", "", False),
        ("a@sha256:0", "", "sha256:0", False),
        ("a:latest@sha256:0", "latest", "sha256:0", False),
        ("a@half", "", "", True),
        ("a:latest", "latest", "", True),
        ("a:nightly", "nightly", "", True),
    ],
)
def test_an_image(image: str, tag: str, digest: str, moves: bool) -> None:
    found = parse_image(image)
    assert (found.tag, found.digest, found.floats) == (tag, digest, moves)


@pytest.mark.parametrize(
    ("cidr", "internet"),
    [
        ("0.0.0.0/0", True),
        ("8.0.0.0/7", True),
        ("8.0.0.0/8", False),
        ("10.0.0.0/8", False),
        ("240.0.0.0/4", False),  # class E, which is private in a VPC
        ("224.0.0.0/3", True),
        ("::/0", True),
        ("2000::/15", True),
        ("2000::/16", False),
        ("fc00::/7", False),
        ("fe80::/10", False),
        ("${var.a}", False),
    ],
)
def test_what_admits_the_internet(cidr: str, internet: bool) -> None:
    assert admits_internet(cidr) is internet


@pytest.mark.parametrize(
    ("cidr", "private"),
    [
        ("172.31.255.0/24", True),
        ("172.32.0.0/24", False),
        ("100.64.0.0/10", True),
        ("100.128.0.0/10", False),
        ("192.168.0.0/15", False),
        ("198.18.0.0/15", True),
        ("198.20.0.0/15", False),
    ],
)
def test_what_is_private(cidr: str, private: bool) -> None:
    assert is_private(IPv4Network(cidr)) is private


@pytest.mark.parametrize(
    ("ports", "every"), [("0-65535", True), ("1-65535", True), ("2-65535", False), ("1-65534", False), ("443", False)]
)
def test_every_port(ports: str, every: bool) -> None:
    assert is_every_port(ports) is every


def test_every_option_of_the_cpu_pool_reaches_it() -> None:
    sizes = "machine_type: n2-standard-32, min_nodes: 2, max_nodes: 7, disk_gib: 333, max_pods_per_node: 64"
    options = f"{{name: system, {sizes}, disk_type: pd-ssd, secure_boot: true}}"
    site = synthesized(SMALL + f"cluster: {{cpu_pool: {options}}}\n")
    (pool,) = site.stacks["cluster"]["resource"]["google_container_node_pool"].values()
    assert (pool["name"], pool["initial_node_count"], pool["max_pods_per_node"]) == ("system", 2, 64)
    assert pool["autoscaling"] == {"min_node_count": 2, "max_node_count": 7, "location_policy": "BALANCED"}
    config = pool["node_config"]
    assert (config["machine_type"], config["disk_size_gb"], config["disk_type"]) == ("n2-standard-32", 333, "pd-ssd")
    assert config["shielded_instance_config"] == {"enable_secure_boot": True, "enable_integrity_monitoring": True}


def test_a_network_without_a_way_out_and_a_nat_without_log() -> None:
    none = synthesized(SMALL + "network: {primary: {nat: {enabled: false}}}\n")
    assert none.resources("google_compute_router_nat") == none.resources("google_compute_router") == {}
    quiet = synthesized(SMALL + "network: {primary: {nat: {logging: false, min_ports_per_vm: 128}}}\n")
    nat = quiet.only("google_compute_router_nat")
    assert (nat["min_ports_per_vm"], "log_config" in nat) == (128, False)
    assert nat["subnetwork"][0]["source_ip_ranges_to_nat"] == ["ALL_IP_RANGES"]


def test_init_writes_profile_yaml_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(cli, ["init"]).exit_code == 0
    assert [each.name for each in tmp_path.glob("*.yaml")] == ["profile.yaml"]


def test_a_section_of_the_catalog_stands_alone() -> None:
    tiers = CliRunner().invoke(cli, ["catalog", "tiers"]).output
    assert "a4-highgpu-8g" not in tiers
    assert "a4-highgpu-8g" in CliRunner().invoke(cli, ["catalog"]).output
