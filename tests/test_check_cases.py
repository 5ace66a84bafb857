"""The public failures of docs/cases.md, with the values of the reports."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from findings import RULES, Finding, Severity
from groundplan.site.check import check_file
from rules.support import GONE, text_of

POOL = "gpu.pools[0]"
PROD = {"environment": "prod"}
RUN = {"name": "run", "start": "2025-12-01T00:00:00Z", "end": "2026-01-16T00:00:00Z"}
FIREWALL = [{"name": "x", "network": "rdma", "source_ranges": ["10.0.0.0/20"], "allow": [{"protocol": "icmp"}]}]
EXISTING_DEFAULT = {"network.primary.existing": {"network": "default", "subnetwork": "default"}}
TOKEN = "hf_abcdefghijklmnopqrstuvwxyz"

#: Case, edits of the smallest profile, rule, words of the message or the mend.
CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("C10", {"workload.overrides": {"HF_TOKEN": TOKEN}}, "secret-literal", "Hugging Face token"),
    ("C10", {"secrets": {"hugging_face": TOKEN}}, "secret-literal", "reference under `secrets:`"),
    ("C15", {f"{POOL}.nodes": 2, f"{POOL}.autoscaling": {"min": 0, "max": 2}}, "node-count-mode", "keep one"),
    ("C18", {f"{POOL}.capacity": "queued", f"{POOL}.autoscaling": {"max": 2}}, "capacity-conflict", "my-reservation"),
    (
        "C18",
        {"reservation": GONE, f"{POOL}.capacity": "queued", f"{POOL}.autoscaling": {"min": 1, "max": 2}},
        "capacity-autoscaling",
        "min: 0",
    ),
    ("C19", {f"{POOL}.placement": "compact"}, "placement-conflict", "policy of its own"),
    ("C21", {"reservation": {"project": "owner-project", "name": "r", "sub_block": "s"}}, "reservation-path", "block"),
    ("C21", {"reservation": ["r1", "r2"]}, "wrong-value", "one reservation"),
    ("C23", {f"{POOL}.auto_upgrade": False}, "auto-upgrade-channel", "REGULAR"),
    ("C23", {f"{POOL}.auto_repair": False}, "auto-repair-mode", "REGULAR"),
    ("C24", {"reservation": GONE}, "reservation-missing", "reservation"),
    ("C24", {"reservation": {"project": "owner-project"}}, "missing-key", "`reservation.name` is missing"),
    ("C26", {f"{POOL}.autoscalling": {"max": 2}}, "unknown-key", "did you mean `autoscaling`"),
    ("C29", {"cluster.dns_config": {"cluster_dns_scope": "VPC_SCOPE"}}, "unknown-key", "dns_config"),
    ("C31", {"cluster.maintenance.exclusions": [RUN]}, "exclusion-expired", "2026-01-16"),
    (
        "C31",
        {"cluster.maintenance.exclusions": [{**RUN, "end_time_behavior": "UNTIL_END_OF_SUPPORT"}]},
        "unknown-key",
        "end_time_behavior",
    ),
    ("C32", {"network.firewall_rules": FIREWALL}, "firewall-roce", "RoCE"),
    ("C33", {"gpu.rdma.network_profile": "us-central1-a-vpc-roce"}, "roce-zone", "us-central1-a"),
    ("C33", {"gpu.pools": [{"name": "a"}, {"name": "b", "zone": "us-central1-a"}]}, "roce-zone", "one zone"),
    ("C33", {"gpu.rdma.mtu": 1460}, "roce-mtu", "8896"),
    ("C33", {"gpu.rdma.cidrs": [f"192.168.{n}.0/24" for n in range(1, 8)]}, "rdma-subnetworks", "8 RDMA NICs"),
    ("C34", {"network.primary.pods": "10.4.0.0/24", "cluster.cpu_pool.max_nodes": 10}, "pod-range-size", "use a /20"),
    (
        "C35",
        {
            "network.primary.pods": "10.4.0.0/21",
            "cluster.max_pods_per_node": 32,
            f"{POOL}.nodes": 58,
            "cluster.cpu_pool.max_pods_per_node": 32,
        },
        "pod-range-size",
        "use a /20",
    ),
    ("C37", {"network.primary.name": "default"}, "network-default", "auto-mode"),
    ("C37", EXISTING_DEFAULT, "network-default", "pods_range"),
    ("C39", {"region": "us-east4"}, "zone-region", "us-central1"),
    ("C40", {"storage.lustre.network": "gvnic"}, "unknown-key", "network"),
    ("C41", {"cluster.version": "1.33.2-gke.4000000"}, "lustre-port", "legacy_port: true"),
    ("C41", {"cluster.version": "1.35", "storage.lustre.legacy_port": True}, "lustre-port", "leave it out"),
    ("C48", {"workload.name": "j" * 48}, "job-name", ""),
    ("C48", {"workload.name": "1job"}, "wrong-value", "starting with a letter"),
    ("C56", PROD, "backend-local-prod", "gcs"),
    (
        "C56",
        {"backend": {"gcs": {"bucket": "states"}, "cloud": {"organization": "acme"}}},
        "wrong-value",
        "exactly one",
    ),
    ("C60", {"workload.nodes": 17, f"{POOL}.nodes": 16}, "job-pool", "16"),
    (
        "C62",
        {**PROD, "backend": {"gcs": {"bucket": "states"}}, "workload.image": "nvcr.io/nvidia/nemo-rl:latest"},
        "job-image",
        "",
    ),
    ("C68", {"labels": {"owner": TOKEN}}, "secret-literal", "revoke"),
]


def judged(edits: dict[str, Any], folder: Path, as_of: date | None = date(2026, 12, 1)) -> list[Finding]:
    file = folder / "profile.yaml"
    file.write_text(text_of(edits), "utf-8")
    return check_file(file, as_of).findings


@pytest.mark.parametrize(("case", "edits", "rule", "words"), CASES, ids=[f"{c}-{r}" for c, _, r, _ in CASES])
def test_case(case: str, edits: dict[str, Any], rule: str, words: str, tmp_path: Path) -> None:
    everything = judged(edits, tmp_path)
    found = [f for f in everything if f.rule == rule]
    assert found, [f"{f.rule}: {f.message}" for f in everything]
    assert words in " ".join(f"{f.message} {f.hint}" for f in found)
    assert found[0].location
    assert TOKEN not in " ".join(f"{f.message} {f.hint} {f.location.text if f.location else ''}" for f in everything)


#: What the reports say must pass.
RIGHT: list[tuple[str, dict[str, Any]]] = [
    ("C15", {f"{POOL}.nodes": 2}),
    ("C18", {"reservation": GONE, f"{POOL}.capacity": "queued", f"{POOL}.autoscaling": {"min": 0, "max": 2}}),
    ("C21", {"reservation": {"project": "owner-project", "name": "r", "block": "b", "sub_block": "s"}}),
    (
        "C23",
        {
            "reservation": GONE,
            f"{POOL}.capacity": "flex_start",
            f"{POOL}.autoscaling": {"max": 2},
            f"{POOL}.auto_repair": False,
        },
    ),
    ("C34", {"network.primary.pods": "10.4.0.0/20", "cluster.cpu_pool.max_nodes": 10}),
    (
        "C35",
        {
            "network.primary.pods": "10.4.0.0/20",
            "cluster.max_pods_per_node": 32,
            f"{POOL}.nodes": 58,
            "cluster.cpu_pool.max_pods_per_node": 32,
        },
    ),
    ("C41", {"cluster.version": "1.35"}),
    ("C56", {"environment": "dev"}),
    ("C60", {"workload.nodes": 2, f"{POOL}.nodes": 2}),
]


@pytest.mark.parametrize(("case", "edits"), RIGHT, ids=[case for case, _ in RIGHT])
def test_what_is_right_passes(case: str, edits: dict[str, Any], tmp_path: Path) -> None:
    found = judged(edits, tmp_path)
    assert [f"{f.rule}: {f.message}" for f in found if f.severity is Severity.ERROR] == []


def test_the_page_of_cases_names_rules_that_there_are() -> None:
    page = (Path(__file__).parent.parent / "docs" / "cases.md").read_text("utf-8")
    reading = {"secret-literal", "unknown-key", "wrong-value", "missing-key"}
    named = set(re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", page)) - reading
    assert named - RULES.of_profiles.keys() == set()
    table = set(re.findall(r"^\| (C\d+) ", page, re.MULTILINE))
    assert {case for case, *_ in CASES} <= table
