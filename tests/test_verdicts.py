"""One value, one verdict: what `check` says of a profile's value, `diff` and `review` say of the same value in JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from verdicts import check, diff, review

DIGEST = "@sha256:" + "a" * 64

#: Range -> whether it admits the internet, or a good part of it.
RANGES = {
    "0.0.0.0/0": True,
    "0.0.0.0/1": True,
    "128.0.0.0/1": True,
    "128.0.0.0/2": True,
    "8.0.0.0/7": True,
    "172.0.0.0/6": True,
    "8.0.0.0/8": False,
    "34.64.0.0/10": False,
    "203.0.113.0/24": False,
    "198.51.100.7/32": False,
    "10.0.0.0/8": False,
    "100.64.0.0/10": False,
    "240.0.0.0/4": False,
    "248.0.0.0/5": False,
}

#: The same for IPv6, which no profile takes.
RANGES_V6 = {
    "::/0": True,
    "::/1": True,
    "2000::/3": True,
    "2001:db8::/32": False,
    "fc00::/7": False,
    "fe80::/10": False,
}

#: Image -> whether it may be another one tomorrow.
IMAGES = {
    "registry.example/x": True,
    "registry.example:5000/x": True,
    "registry.example/x:latest": True,
    "registry.example/x:LATEST": True,
    "registry.example/x:master": True,
    "registry.example/x:main": True,
    "registry.example/x:dev": True,
    "registry.example/x:nightly": True,
    "registry.example/x:stable": True,
    "registry.example/x:edge": True,
    "registry.example/x:cuda-nightly": True,
    "registry.example:5000/x:Dev": True,
    "registry.example/x:v0.6.0": False,
    "registry.example:5000/x:v0.6.0": False,
    "registry.example:5000/latest/x:v0.6.0": False,
    "registry.example/main:v0.6.0": False,
    "registry.example/x:v0.6.0-patched.3": False,
    "registry.example/x:v0.6.0-stable": False,
    "registry.example/x:nightly-20261130": False,
    "registry.example/x:main-3f2a9bc": False,
    f"registry.example/x{DIGEST}": False,
    f"registry.example:5000/x:latest{DIGEST}": False,
    f"registry.example/x:v0.6.0{DIGEST}": False,
}


def firewall(cidr: str) -> tuple[str, dict[str, Any]]:
    allow = [{"protocol": "tcp", "ports": ["443"]}]
    return "google_compute_firewall.f", {"name": "f", "network": "n", "source_ranges": [cidr], "allow": allow}


def cluster(cidr: str, **more: Any) -> tuple[str, dict[str, Any]]:
    networks = {"cidr_blocks": [{"cidr_block": cidr, "display_name": "them"}]}
    return "google_container_cluster.c", {"name": "c", "master_authorized_networks_config": networks, **more}


@pytest.mark.parametrize("cidr", RANGES)
def test_firewall_sources(cidr: str, tmp_path: Path) -> None:
    rules = [
        {"name": "f", "network": "primary", "source_ranges": [cidr], "allow": [{"protocol": "tcp", "ports": [443]}]}
    ]
    given = rules[0] | {"allow": [{"protocol": "tcp", "ports": ["443"]}]}
    found = (check(network={"firewall_rules": [given]}), diff(tmp_path, firewall(cidr)), review(firewall(cidr)))
    assert [said.get("firewall-open") for said in found] == ["error" if RANGES[cidr] else None] * 3


@pytest.mark.parametrize("cidr", RANGES)
def test_authorized_networks(cidr: str, tmp_path: Path) -> None:
    control_plane = {"public_endpoint": True, "authorized_networks": [{"name": "them", "cidr": cidr}]}
    found = (
        check(cluster={"control_plane": control_plane}),
        diff(tmp_path, cluster(cidr)),
        review(cluster(cidr)),
    )
    assert [said.get("open-control-plane") for said in found] == ["error" if RANGES[cidr] else None] * 3


@pytest.mark.parametrize("cidr", RANGES_V6)
def test_ipv6(cidr: str, tmp_path: Path) -> None:
    expected = ["error" if RANGES_V6[cidr] else None] * 2
    found = [diff(tmp_path / "f", firewall(cidr)), review(firewall(cidr))]
    assert [said.get("firewall-open") for said in found] == expected
    found = [diff(tmp_path / "c", cluster(cidr)), review(cluster(cidr))]
    assert [said.get("open-control-plane") for said in found] == expected


def job(image: str, environment: str) -> tuple[str, dict[str, Any]]:
    pod = {"spec": {"containers": [{"name": "ray-head", "image": image}]}}
    manifest = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "j", "labels": {"environment": environment}},
        "spec": {"rayClusterSpec": {"headGroupSpec": {"template": pod}}},
    }
    return "helm_release.job", {"name": "job", "values": [yaml.safe_dump({"manifests": {"job": manifest}})]}


def installer(image: str, environment: str) -> tuple[str, dict[str, Any]]:
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "nccl-rdma-installer", "labels": {"environment": environment}},
        "spec": {"template": {"spec": {"initContainers": [{"name": "install", "image": image}]}}},
    }
    return "helm_release.gib", {"name": "gib", "values": [yaml.safe_dump({"manifests": {"gib": manifest}})]}


@pytest.mark.parametrize("environment", ["dev", "prod"])
@pytest.mark.parametrize("image", IMAGES)
def test_images(image: str, environment: str, tmp_path: Path) -> None:
    severity = {"dev": "warning", "prod": "error"}[environment] if IMAGES[image] else None
    checked = check(environment=environment, workload={"image": image}, platform={"gib": {"image": image}})
    given = (job(image, environment), installer(image, environment))
    for said in (checked, diff(tmp_path, *given), review(*given)):
        assert said.get("job-image") == severity
        assert said.get("gib-image-floating") == severity


def chart(image: str) -> tuple[str, dict[str, Any]]:
    """A chart's values as KubeRay's: repository and tag apart."""
    name, _, digest = image.partition("@")
    head, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    parts = {"repository": f"{head}{slash}{last}", "tag": tag or None, "digest": digest or None}
    return "helm_release.operator", {"name": "operator", "values": [yaml.safe_dump({"image": parts})]}


def deployment(image: str) -> tuple[str, dict[str, Any]]:
    container = [{"name": "c", "image": image}]
    spec = [{"template": [{"spec": [{"container": container}]}]}]
    return "kubernetes_deployment_v1.d", {"metadata": [{"name": "d"}], "spec": spec}


@pytest.mark.parametrize("image", IMAGES)
def test_images_of_other_containers(image: str, tmp_path: Path) -> None:
    severity = "warning" if IMAGES[image] else None
    assert diff(tmp_path, deployment(image)).get("image-floating") == severity
    assert review(deployment(image)).get("image-floating") == severity
    if ":" in image.rpartition("/")[2]:
        assert review(chart(image)).get("image-floating") == severity
    else:  # the chart's own default
        assert "image-floating" not in review(chart(image))
