"""The constructs in somebody else's cdktf program: no Site, no profile, plain cdktf."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from groundplan.emit.modules import load
from sites import ROOT

#: A program of another team: a fabric and a pool in a stack of their own, beside a pool on networks that exist.
#: The fast imports, so that the test does not wait for all of the providers.
LOADED = "from groundplan.emit.modules import load; load()"
PROGRAM = ROOT / "docs" / "examples" / "fabric_and_pool.py"


def test_a_fabric_and_a_pool_in_a_program_of_ones_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"from groundplan.emit.modules import load; load()\n{PROGRAM.read_text()}",
            str(tmp_path),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "stacks" / "ours" / "cdk.tf.json").read_text())["resource"]
    networks = found["google_compute_network"]
    assert networks["roce"]["network_profile"] == "projects/our-project/global/networkProfiles/us-central1-b-vpc-roce"
    assert networks["roce"]["mtu"] == 8896 and "network_profile" not in networks["second"]
    assert [each["name"] for each in found["google_compute_subnetwork"].values()].count("roce-net-sub-7") == 1
    assert len(found["google_compute_subnetwork"]) == 9
    assert set(found["google_compute_firewall"]) == {"second-internal"}, "a RoCE network takes no firewall rule"
    pools = found["google_container_node_pool"]
    nics = pools["pool-new"]["network_config"]["additional_node_network_configs"]
    assert nics[0]["network"] == "${google_compute_network.second.name}"
    assert [nic["subnetwork"] for nic in nics[1:]] == [
        f"${{google_compute_subnetwork.roce-subnetwork-{n}.name}}" for n in range(8)
    ]
    assert "google_compute_network.roce.id" in pools["pool-new"]["lifecycle"]["replace_triggered_by"]
    old = pools["pool-old"]["network_config"]["additional_node_network_configs"]
    assert old[8] == {"network": "old", "subnetwork": "old-7"}
    assert pools["pool-old"]["node_config"]["labels"] == {"team": "ours"}
    assert found["terraform_data"]["shape-new"]["triggers_replace"]["machine_type"] == "a4-highgpu-8g"


FABRIC = {"project": "p", "region": "us-central1", "zone": "us-central1-b", "network": "n", "cidrs": ["10.0.0.0/24"]}
POOL = {
    "name": "p", "project": "p", "cluster": "c", "location": "us-central1", "zone": "us-central1-b", "nodes": 2,
    "machine_type": "a4-highgpu-8g", "accelerator": "nvidia-b200", "gpus_per_node": 8, "networks": (),
    "service_account": "a@p", "reservation": "projects/p/reservations/r",
}  # fmt: skip


@pytest.mark.parametrize(
    ("props", "given", "says"),
    [
        ("RoceFabricProps", {**FABRIC, "subnetwork": ["a"]}, "subnetwork"),
        ("RoceFabricProps", {**FABRIC, "cidrs": ["10.0.0.1/24"]}, "10.0.0.0/24"),
        ("RoceFabricProps", {**FABRIC, "cidrs": []}, "cidrs"),
        ("RoceFabricProps", {**FABRIC, "subnetworks": ["a", "b"]}, "2 names for 1 ranges"),
        ("RoceFabricProps", {**FABRIC, "mtu": 9000}, "8896"),
        ("RoceFabricProps", {**FABRIC, "zone": "us-central1"}, "us-central1-b"),
        ("GpuNodePoolProps", {**POOL, "acelerator": "nvidia-b200"}, "acelerator"),
        ("GpuNodePoolProps", {**POOL, "most_nodes": 4}, "exactly one of nodes and most_nodes"),
        ("GpuNodePoolProps", {**POOL, "nodes": None, "most_nodes": 2, "least_nodes": 3}, "least_nodes 3 is above"),
        ("GpuNodePoolProps", {**POOL, "reservation": ""}, "needs a reservation"),
        ("GpuNodePoolProps", {**POOL, "capacity": "spott"}, "spott"),
        ("GpuNodePoolProps", {**POOL, "driver": "NEWEST"}, "NEWEST"),
        ("GpuNodePoolProps", {**POOL, "networks": ["roce"]}, "networks"),
        ("GpuNodePoolProps", {**POOL, "taints": [{"key": "a", "efect": "NO_EXECUTE"}]}, "efect"),
    ],
)
def test_wrong_props_are_refused_by_name(props: str, given: dict[str, object], says: str) -> None:
    load()
    from groundplan.gpu import constructs

    with pytest.raises((TypeError, ValueError), match=says.replace(".", r"\.")):
        getattr(constructs, props)(**given)
    getattr(constructs, props)(**(FABRIC if props == "RoceFabricProps" else POOL))
