"""Managed Lustre and the buckets."""

from __future__ import annotations

import pytest

from rules.support import Case, findings

OLD = "1.33.2-gke.4000000"
BETWEEN = "1.33.2-gke.4700000"
NEW = "1.35.2-gke.1842000"


def lustre(**values: object) -> dict[str, object]:
    return {f"storage.lustre.{key}": value for key, value in values.items()}


CASES = [
    Case(
        "lustre-throughput",
        lustre(throughput=600),
        lustre(throughput=500),
        "storage.lustre.throughput",
        ("125, 250, 500, 1000", "use 500"),
    ),
    *(
        Case(
            "lustre-capacity-least",
            lustre(throughput=tier, capacity_gib=least - 1),
            lustre(throughput=tier, capacity_gib=least),
            "storage.lustre.capacity_gib",
            (f"{least}",),
        )
        for tier, least in [(1000, 9000), (500, 18000), (250, 36000), (125, 72000)]
    ),
    Case(
        "lustre-capacity-least",
        lustre(capacity_gib=9000),
        lustre(capacity_gib=9000, throughput=1000),
        "storage.lustre.capacity_gib",
        ("9000 is below 18000", "throughput: 1000"),
    ),
    Case(
        "lustre-capacity-most",
        lustre(capacity_gib=20016000 + 144000),
        lustre(capacity_gib=1908000),
        "storage.lustre.capacity_gib",
        ("20016000",),
    ),
    Case(
        "lustre-capacity-most",
        lustre(capacity_gib=1926000),
        lustre(capacity_gib=1890000),
        "storage.lustre.capacity_gib",
        ("1908000", "quota"),
        "warning",
    ),
    Case(
        "lustre-capacity-step",
        lustre(capacity_gib=20000),
        lustre(capacity_gib=36000),
        "storage.lustre.capacity_gib",
        ("18000", "18000 or 36000"),
    ),
    Case(
        "lustre-capacity-step",
        lustre(capacity_gib=27000),
        lustre(capacity_gib=54000),
        "storage.lustre.capacity_gib",
        ("another source says 9000",),
        "warning",
    ),
    Case(
        "lustre-capacity-step",
        lustre(capacity_gib=24000),
        lustre(capacity_gib=72000),
        "storage.lustre.capacity_gib",
        ("another source says 12000",),
        "warning",
    ),
    Case(
        "lustre-capacity-step",
        lustre(capacity_gib=10000, throughput=1000),
        lustre(capacity_gib=27000, throughput=1000),
        "storage.lustre.capacity_gib",
        ("9000",),
    ),
    Case("lustre-zone", lustre(zone="us-east4-a"), lustre(zone="us-central1-b"), "storage.lustre.zone", ("region",)),
    Case("lustre-zone", lustre(zone="us-central1-a"), {}, "storage.lustre.zone", ("us-central1-b",), "warning"),
    Case(
        "lustre-port",
        {"cluster.version": OLD},
        {"cluster.version": OLD, **lustre(legacy_port=True)},
        "storage.lustre.legacy_port",
        ("6988", "legacy_port: true"),
    ),
    Case("lustre-zone", lustre(zone="us-east4-b"), {"gpu.pools[0].zone": "us-central1-a"}, "storage.lustre.zone"),
    Case(
        "lustre-port", {"cluster.version": "1.32"}, {"cluster.version": "1.33"}, "storage.lustre.legacy_port", ("1.32",)
    ),
    Case(
        "lustre-port",
        {"cluster.version": BETWEEN},
        {"cluster.version": "1.33.2-gke.4780000"},
        "storage.lustre.legacy_port",
        ("4780000",),
        "warning",
    ),
    Case(
        "lustre-port",
        {"cluster.version": NEW, **lustre(legacy_port=True)},
        {"cluster.version": NEW},
        "storage.lustre.legacy_port",
        ("leave it out",),
        "warning",
    ),
    *(
        Case("lustre-mount-path", lustre(mount_path=bad), lustre(mount_path=good), "storage.lustre.mount_path", (what,))
        for bad, good, what in [
            ("/dev/shm", "/data", "/dev"),
            ("/usr/local/nvidia", "/mnt/lustre", "/usr"),
            ("/opt", "/opt/data", "/opt/"),
            ("/opt/nemo-rl/results", "/opt/data/nemo-rl", "/opt/nemo-rl"),
            ("/opt/NeMo-Gym", "/opt/my-nemo", "/opt/nemo"),
            ("/opt/gym_venvs/x", "/gym_venvs", "/opt/gym_venvs"),
            ("/opt/amazon", "/opt/amazonas", "/opt/amazon"),
            *(
                (f"/{name}", f"/{name}-data", f"/{name}")
                for name in ("home", "var", "etc", "usr", "proc", "sys", "root")
            ),
            *((f"/{name}/x", f"/{name}ry", f"/{name}") for name in ("bin", "lib", "home", "dev", "tmp", "sbin", "var")),
            ("/var/lib", "/data/var/lib", "/var"),
            ("/data/..", "/data..x", "parent"),
            ("/tmp/ray", "/lustre", "/tmp"),
        ]
    ),
    Case(
        "bucket-location",
        {"storage.buckets": [{"name": "my-data", "location": "europe-west4"}]},
        {"storage.buckets": [{"name": "my-data", "location": "US"}, {"name": "two", "location": "US-CENTRAL1"}]},
        "storage.buckets[0].location",
        ("europe-west4",),
        "warning",
    ),
    Case(
        "bucket-location-word",
        {"storage.buckets": [{"name": "my-data", "location": "us-central1-b"}]},
        {"storage.buckets": [{"name": "my-data", "location": "NAM4"}, {"name": "two"}]},
        "storage.buckets[0].location",
        ("us-central1",),
    ),
]


@pytest.mark.parametrize(("version", "legacy"), [("1.32", False), (OLD, True)])
def test_the_legacy_port_mends_no_version_that_is_refused_anyway(version: str, legacy: bool) -> None:
    (finding,) = [f for f in findings({"cluster.version": version}) if f.rule == "lustre-port"]
    assert ("legacy_port: true" in finding.hint) is legacy
    assert "4780000" in finding.hint


@pytest.mark.parametrize("capacity", [18000, 36000, 1908000])
def test_what_every_source_agrees_on_passes_without_a_word(capacity: int) -> None:
    assert findings(lustre(capacity_gib=capacity)) == []
