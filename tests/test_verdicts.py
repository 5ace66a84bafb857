"""What `check` says of a range or an image, `diff` and `review` say too: one table, three ways to ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from findings import RULES, Severity
from groundplan.emit.app import write_site
from groundplan.kernel.images import parse_image
from groundplan.kernel.ranges import admits_internet
from groundplan.review.assess import Provenance, assess
from groundplan.review.folders import compare_folders
from groundplan.site.profile import parse_profile
from groundplan.site.resolve import resolve
from review.plans import create, judged, slugs
from sites import SMALL

DIGEST = "@sha256:" + "0123456789abcdef" * 4

#: Range -> whether it admits the internet, or a good part of it.
RANGES = {
    "0.0.0.0/0": True,
    "0.0.0.0/1": True,
    "128.0.0.0/1": True,
    "128.0.0.0/2": True,
    "8.0.0.0/7": True,
    "8.0.0.0/8": False,
    "203.0.113.0/24": False,
    "10.0.0.0/8": False,
    "240.0.0.0/4": False,  # class E: private by the VPC documentation
    "224.0.0.0/3": True,  # half of it is class E, half is not
}

#: Image -> whether it moves.
IMAGES = {
    "nvcr.io/nvidia/nemo-rl:v0.7.0": False,
    "nvcr.io/nvidia/nemo-rl:master": True,
    "nvcr.io/nvidia/nemo-rl:dev": True,
    "nvcr.io/nvidia/nemo-rl:nightly": True,
    "nvcr.io/nvidia/nemo-rl:nightly-2026-01-01": True,
    "nvcr.io/nvidia/nemo-rl:LATEST": True,
    "nvcr.io/nvidia/nemo-rl:Main": True,
    "nvcr.io/nvidia/nemo-rl": True,
    "registry.example.com:5000/nemo-rl": True,
    "registry.example.com:5000/nemo-rl:v0.7.0": False,
    "registry.example.com:5000/nemo-rl:master" + DIGEST: False,
    "nvcr.io/nvidia/nemo-rl" + DIGEST: False,
    "nvcr.io/nvidia/mainline:v0.7.0": False,
    "nvcr.io/nvidia/nemo-rl:domain-7": False,
}


def checked(profile: dict[str, Any], says: str = "") -> set[tuple[str, str]]:
    """Slug and severity of everything that `check` finds; with `says`, of what says so."""
    site = resolve(parse_profile(yaml.safe_dump(profile))[0])
    return {
        (found.rule, str(found.severity))
        for rule in RULES.values()
        if rule.subject == "site"
        for found in rule.findings(site)
        if says in found.message
    }


def differing(profile: dict[str, Any], folder: Path) -> set[tuple[str, str]]:
    """The same of `diff`, from the smallest profile to this one."""
    for name, text in (("old", SMALL), ("new", yaml.safe_dump(profile))):
        write_site(resolve(parse_profile(text)[0]), folder / name)
    plans = compare_folders(folder / "old", folder / "new")
    return set(slugs(assess(plans, provenance=Provenance("0"))).items())


def profile(**more: Any) -> dict[str, Any]:
    return {**yaml.safe_load(SMALL), **more}


@pytest.mark.parametrize(("source", "opens"), RANGES.items())
def test_a_range_has_one_verdict(source: str, opens: bool, tmp_path: Path) -> None:
    assert admits_internet(source) is opens
    network = {"name": "office", "cidr": source}
    rule = {"name": "own", "source_ranges": [source], "allow": [{"protocol": "tcp", "ports": ["443"]}]}
    wanted = profile(
        cluster={"control_plane": {"public_endpoint": True, "authorized_networks": [network]}},
        network={"firewall_rules": [rule]},
    )
    reviewed = judged(
        create("google_compute_firewall.f", name="own", network="n", direction="INGRESS", **rule_of(source)),
        create("google_container_cluster.c", name="c", master_authorized_networks_config=[blocks(source)]),
    )
    for slug in ("open-control-plane", "firewall-open"):
        verdicts = [(slug, "error") in found for found in (checked(wanted), set(slugs(reviewed).items()))]
        assert verdicts == [opens, opens], slug
    if source in ("0.0.0.0/1", "240.0.0.0/4", "128.0.0.0/2"):  # a synth each
        found = {slug for slug, severity in differing(wanted, tmp_path) if severity == "error"}
        assert ({"open-control-plane", "firewall-open"} <= found) is opens


def rule_of(source: str) -> dict[str, Any]:
    return {"source_ranges": [source], "allow": [{"protocol": "tcp", "ports": ["443"]}]}


def blocks(source: str) -> dict[str, Any]:
    return {"cidr_blocks": [{"cidr_block": source}]}


@pytest.mark.parametrize("source", ["::/0", "2000::/3", "::/1"])
def test_a_range_of_ipv6_that_opens(source: str) -> None:
    assert admits_internet(source)


@pytest.mark.parametrize("source", ["fd00::/8", "fc00::/7", "fe80::/10", "2001:db8::/32", "", "${var.x}", None])
def test_what_does_not_open(source: object) -> None:
    assert not admits_internet(source)


@pytest.mark.parametrize(("image", "moves"), IMAGES.items())
@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_an_image_has_one_verdict(image: str, moves: bool, environment: str, tmp_path: Path) -> None:
    assert parse_image(image).moves is moves
    severity = str(Severity.ERROR if environment == "prod" else Severity.WARNING)
    pod = {"spec": {"containers": [{"name": "train", "image": image}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "labels": {"environment": environment}}}
    values = yaml.safe_dump({"manifests": {"j": job | {"spec": {"template": pod}}}})
    reviewed = judged(create("helm_release.job", name="job", values=[values]))
    assert (("image-moving", severity) in slugs(reviewed).items()) is moves
    keys = {"job-image": {"workload": {"image": image}}, "gib-image-floating": {"platform": {"gib": {"image": image}}}}
    for slug, key in keys.items():
        found = checked(profile(environment=environment, **key), "moving image")
        assert ((slug, severity) in found) is moves
    if image.endswith((":master", ":v0.7.0")) and environment == "dev":  # a synth each
        found = differing(profile(workload={"image": image}), tmp_path)
        assert (("image-moving", severity) in found) is moves
