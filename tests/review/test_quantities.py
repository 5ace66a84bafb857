"""Quantities of a plan, each worked out by hand: nodes, GPUs, addresses, money."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from findings import UserError
from groundplan.on_plans import capacity
from groundplan.on_plans.prices import Prices, cost, load_prices, money
from groundplan.on_plans.words import range_rows
from plan_review.model import Resource, Resources
from review.plans import judged, update

B200 = {"machine_type": "a4-highgpu-8g"}
THREE = ["us-central1-a", "us-central1-b", "us-central1-c"]


def resource(kind: str, name: str = "x", **values: Any) -> Resource:
    return Resource("stack", f"{kind}.{name}", kind, {"name": name, **values})


def pool(**values: Any) -> Resource:
    return resource("google_container_node_pool", **{"node_config": [B200], **values})


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        ({"node_count": 2}, 2, 2),
        ({"node_count": 2, "node_locations": THREE}, 6, 6),  # a count is one zone's
        ({"initial_node_count": 3}, 3, 3),
        ({"node_count": 2, "initial_node_count": 3}, 2, 2),
        ({}, 0, 0),
        ({"autoscaling": [{"min_node_count": 1, "max_node_count": 4}], "node_locations": THREE}, 3, 12),
        ({"autoscaling": [{"total_min_node_count": 1, "total_max_node_count": 4}], "node_locations": THREE}, 1, 4),
        ({"autoscaling": [{"total_min_node_count": 0, "total_max_node_count": 0}]}, 0, 0),
        (  # as the real provider stores them (google 6.50 and 7.45): the pair that is not in use is 0
            {
                "autoscaling": [
                    {"min_node_count": 1, "max_node_count": 5, "total_min_node_count": 0, "total_max_node_count": 0}
                ]
            },
            1,
            5,
        ),
        (
            {
                "autoscaling": [
                    {"min_node_count": 0, "max_node_count": 0, "total_min_node_count": 2, "total_max_node_count": 4}
                ],
                "node_locations": THREE,
            },
            2,
            4,
        ),
        ({"autoscaling": [{"min_node_count": 5, "max_node_count": 4}]}, 4, 4),
    ],
)
def test_nodes_of_a_pool(values: dict[str, Any], least: int, most: int) -> None:
    found = capacity.pool(pool(**values))
    assert (found.least, found.most) == (least, most)
    assert found.gpus == most * 8  # an a4-highgpu-8g has eight
    assert found.nodes == (str(most) if least == most else f"{least} to {most}")


@pytest.mark.parametrize(
    ("config", "gpu", "each"),
    [
        ({"machine_type": "a4-highgpu-8g"}, "nvidia-b200", 8),
        ({"machine_type": "n2-standard-8"}, "", 0),
        ({"machine_type": "n1-standard-8", "guest_accelerator": [{"type": "nvidia-t4", "count": 2}]}, "nvidia-t4", 2),
        ({"guest_accelerator": [{"type": "${var.gpu}", "count": 4}]}, "", 4),
    ],
)
def test_gpus_of_a_node(config: dict[str, Any], gpu: str, each: int) -> None:
    found = capacity.pool(pool(node_config=[config], node_count=1))
    assert (found.gpu, found.gpus_per_node) == (gpu, each)


@pytest.mark.parametrize(
    ("values", "source"),
    [
        ({"reservation_affinity": [{"values": ["projects/p/reservations/r"]}]}, "r"),
        ({"reservation_affinity": [{"values": ["projects/p/reservations/r/reservationBlocks/b"]}]}, "r/b"),
        (
            {
                "reservation_affinity": [
                    {"values": ["projects/p/reservations/r/reservationBlocks/b/reservationSubBlocks/s"]}
                ]
            },
            "r/b/s",
        ),
        ({"reservation_affinity": [{"values": ["r"]}]}, "r"),
        ({"spot": True}, "spot"),
        ({"flex_start": True}, "flex-start"),
        ({"preemptible": True}, "preemptible"),
        ({}, "on demand"),
    ],
)
def test_where_machines_come_from(values: dict[str, Any], source: str) -> None:
    assert capacity.pool(pool(node_config=[{**B200, **values}])).reservation == source


def test_a_queued_pool() -> None:
    assert capacity.pool(pool(queued_provisioning=[{"enabled": True}])).reservation == "queued"


SITE = Resources(
    [
        resource("google_compute_subnetwork", "nodes", ip_cidr_range="10.0.0.0/24", secondary_ip_range=[
            {"range_name": "pods", "ip_cidr_range": "10.8.0.0/16"},
        ]),
        resource("google_compute_subnetwork", "rdma-0", ip_cidr_range="10.1.0.0/28"),
        resource("google_compute_subnetwork", "rdma-1", ip_cidr_range="10.1.0.16/28"),
        resource(
            "google_compute_global_address", "lustre", purpose="VPC_PEERING", address="10.9.0.0", prefix_length=20
        ),
        resource("google_compute_global_address", "web", purpose="", address="10.9.16.0", prefix_length=20),
        resource(
            "google_container_cluster", "c", subnetwork="projects/p/regions/r/subnetworks/nodes",
            default_max_pods_per_node=110, ip_allocation_policy=[{"cluster_secondary_range_name": "pods"}],
        ),
        resource(
            "google_container_node_pool", "gpu", cluster="c", node_count=2, node_config=[B200], max_pods_per_node=32,
            network_config=[{"additional_node_network_configs": [{"subnetwork": "rdma-0"}, {"subnetwork": "rdma-1"}]}],
        ),
        resource("google_container_node_pool", "cpu", cluster="projects/p/clusters/c", node_count=3),
        resource("google_container_node_pool", "foreign", cluster="other", node_count=9),
        resource("google_lustre_instance", "l", per_unit_storage_throughput="500", capacity_gib="36000"),
    ]
)  # fmt: skip


def test_addresses_of_a_site() -> None:
    """Google keeps 4 of a subnetwork's. Five nodes; 2 x 64 addresses for 32 pods, and 3 x 256 for 110."""
    found = {each.name: (each.size, each.before, each.after) for each in capacity.capacity(Resources([]), SITE).ranges}
    assert found == {
        "nodes": (252, None, 5),
        "nodes pods": (65536, None, 896),
        "rdma-0": (12, None, 2),
        "rdma-1": (12, None, 2),
        "lustre": (4096, None, None),
    }


def test_ranges_of_a_fabric_stand_in_one_row() -> None:
    rows = range_rows(capacity.capacity(Resources([]), SITE))
    assert ("rdma-0 to rdma-1", "10.1.0.0/28 to 10.1.0.16/28", "0 -> 2", "12") in rows
    assert ("lustre", "10.9.0.0/20", "", "4,096") in rows


def test_lines_of_a_site() -> None:
    """16 GPUs for 730 hours; 3 + 9 nodes of an unknown type."""
    found = {(line.kind, line.name, line.detail): (line.before, line.after) for line in
             capacity.capacity(Resources([]), SITE).lines}  # fmt: skip
    assert found == {
        ("GPU", "nvidia-b200", "on demand"): (0, 16),
        ("GPU-hours", "nvidia-b200", ""): (0, 11_680),
        ("nodes", "a4-highgpu-8g", ""): (0, 2),
        ("nodes", "(machine type not known yet)", ""): (0, 12),
        ("Lustre", "500 MB/s per TiB", ""): (0, 36_000),
    }
    assert capacity.tebibytes(36_000) == "35.2 TiB"  # 36000 / 1024 = 35.16


def test_a_month() -> None:
    gpus, machines, lustre = {"nvidia-b200": Decimal("2")}, {"n2-standard-8": Decimal("0.5")}, {"500": Decimal("0.1")}
    prices = Prices("2026-11-30", "USD", "s", gpus, machines, lustre)
    cpus = pool(node_config=[{"machine_type": "n2-standard-8"}], node_count=3)
    found = cost(prices, Resources([cpus]), Resources([*SITE, cpus]))
    assert found.before == Decimal("1095")  # 3 x 730 x 0.5
    assert found.after == Decimal("28055")  # 16 x 730 x 2 = 23,360; 36,000 x 0.1 = 3,600; 1,095
    assert found.missing == ("nodes of unknown machine type",)


def test_what_has_no_price_is_named() -> None:
    nothing = Prices("2026-11-30", "USD", "s", {}, {}, {})
    assert cost(nothing, Resources([]), SITE).missing == (
        "Lustre at 500 MB/s per TiB",
        "nodes of unknown machine type",
        "nvidia-b200",
    )
    assert cost(nothing, Resources([]), Resources([pool(node_count=0)])).missing == ()


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("99.994", "USD 99.99"),
        ("-99.5", "USD -99.50"),
        ("100", "USD 100"),
        ("12345.4", "USD 12,345"),
        ("0", "USD 0.00"),
    ],
)
def test_money(amount: str, text: str) -> None:
    assert money(Decimal(amount), "USD") == text


@pytest.mark.parametrize(
    ("price", "value"), [("0", "0"), ("'1.5'", "1.5"), ("true", None), (".inf", None), ("-0.01", None), ("x", None)]
)
def test_a_price(tmp_path: Path, price: str, value: str | None) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(f"date: 2026-11-30\ncurrency: USD\nsource: s\nmachines: {{m: {price}}}\n")
    if value is None:
        with pytest.raises(UserError, match=r"`machines\.m` must be a number of at least 0"):
            load_prices(file)
    else:
        assert load_prices(file).machines == {"m": Decimal(value)}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("date: tomorrow\ncurrency: USD\nsource: s\n", "`date` must be the day"),
        ("date: 2026-11-30\ncurrency: ' '\nsource: s\n", "`currency` is missing"),
        ("date: 2026-11-30\ncurrency: USD\n", "`source` is missing"),
        ("date: 2026-11-30\ncurrency: USD\nsource: s\ngpus: [1]\n", "`gpus` must be a mapping"),
    ],
)
def test_a_price_file_that_lacks_something(tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(line)
    with pytest.raises(UserError, match=says):
        load_prices(file)


def notices(before: dict[str, Any], after: dict[str, Any], kind: str = "google_container_node_pool") -> dict[str, Any]:
    return {each.rule: each for each in judged(update(f"{kind}.x", before, after)).counting}


def test_a_pool_that_grows_and_shrinks() -> None:
    two, five = ({"name": "g", "node_count": n, "node_config": [{**B200, "spot": True}]} for n in (2, 5))
    grows = notices(two, five)["gpu-capacity-grows"]
    assert grows.message == "GPU pool g grows from 2 to 5 nodes: 16 -> 40 B200 GPUs"
    assert grows.hint == "make sure that spot holds 5 machines"
    assert grows.consequence.startswith("+17,520 GPU-hours a month")  # 3 x 8 x 730
    assert set(notices(two, five)) == {"gpu-capacity-grows"}
    assert set(notices(five, two)) == {"capacity-shrinks"}
    shrinks = notices(five, two)["capacity-shrinks"]
    assert shrinks.message == "pool g shrinks from 5 to 2 nodes"
    assert shrinks.consequence.startswith("3 nodes drained, 24 B200 GPUs gone")
    cpus = {"name": "c", "node_config": [{"machine_type": "n2-standard-8"}]}
    assert "gpu-capacity-grows" not in notices({**cpus, "node_count": 1}, {**cpus, "node_count": 2})
    assert notices({**cpus, "node_count": 2}, {**cpus, "node_count": 1})["capacity-shrinks"].consequence.startswith(
        "1 node drained, the pods on them gone"
    )


def test_a_lustre_that_grows_and_shrinks() -> None:
    small, large = ({"instance_id": "l", "capacity_gib": str(size)} for size in (18_000, 36_000))
    grows = notices(small, large, "google_lustre_instance")
    assert grows["lustre-grows"].message == "Lustre instance l grows: capacity_gib 18,000 -> 36,000"
    assert "17.6 TiB more are paid for" in grows["lustre-grows"].consequence  # 18000 / 1024 = 17.58
    assert str(notices(large, small, "google_lustre_instance")["lustre-shrinks"].severity) == "error"


@pytest.mark.parametrize(
    "path",
    [
        "node_config.image_type", "node_config.disk_size_gb", "node_config.disk_type", "node_config.kubelet_config",
        "node_config.linux_node_config", "node_config.boot_disk", "node_config.gvnic", "node_config.logging_variant",
        "node_config.workload_metadata_config", "version",
    ],
)  # fmt: skip
def test_what_recreates_nodes(path: str) -> None:
    def pool_with(value: str) -> dict[str, Any]:
        outer, _, inner = path.rpartition(".")
        config = {**B200, **({inner: value} if outer else {})}
        return {"name": "g", "node_count": 2, "node_config": [config], **({} if outer else {inner: value})}

    found = notices(pool_with("a"), pool_with("b"))["nodes-recreated"]
    assert found.message == f'pool g changes {path} "a" -> "b"'
    assert found.consequence.startswith("GKE recreates its 2 nodes one by one; 16 B200 GPUs gone meanwhile")
