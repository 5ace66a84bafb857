"""The first ten lines of plans that the real google provider made: verdict, and what must be said."""

from __future__ import annotations

from typing import Any

import pytest

from groundplan.on_plans.assess import Provenance, assess
from plan_review import text
from plan_review.reading import plan_of
from rehearsal.recorded import ARCHIVE, plans

SAFE, DECISION, DANGEROUS = "SAFE: ", "NEEDS A DECISION: ", "DANGEROUS: "

#: Plan -> (verdict, words of the first ten lines).
EXPECTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "7.45-exclusion-without-end_time": (SAFE, ("a guard more",)),
    "7.45-lustre-deletion_policy-PREVENT": (SAFE, ("a guard more",)),
    "7.45-node_drain_config-change": (DECISION, ('pdb_timeout_duration "86400s" -> "7200s"',)),
    "7.45-pool-maintenance_policy-removed": (DECISION, ("no rule knows: ", "maintenance_policy")),
    "b200-gpu-create": (SAFE, ("A first creation",)),
    "destroy-prod-cluster": (DANGEROUS, ("cluster nemo-rl-b200 is destroyed", "stops half-way", "up to 5 nodes")),
    "destroy-prod-storage": (DANGEROUS, ("18,000 GiB and ALL DATA",)),
    "edit-authnet-add-cluster": (DECISION, ("authorized network 10.128.0.0/9 (office) added",)),
    "edit-authnet-public-cluster": (DECISION, ("public IP endpoint turned on",)),
    "edit-autoscaling-max-gpu": (DECISION, ("grows from 0-2 to 0-4 nodes: 16 -> 32 B200 GPUs",)),
    "edit-bootdisk-300-gpu": (DECISION, ("disk_size_gb 200 -> 300", "GKE recreates its 2 nodes")),
    "edit-bucket-labels-cluster": (SAFE, ("names and marks alone", "names nobody, and the IP endpoint is off")),
    "edit-bucket-labels-storage": (SAFE, ("labels of 2 resources",)),
    "edit-bucket-retention-storage": (SAFE, ("old versions are kept longer",)),
    "edit-bucket-versioning-off-storage": (DECISION, ("versioning.enabled true -> false", "lifecycle_rule")),
    "edit-channel-rapid-cluster": (DECISION, ("REGULAR -> RAPID", "cannot be undone")),
    "edit-channel-stable-cluster": (DECISION, ("REGULAR -> STABLE",)),
    "edit-cpu-machine-cluster": (DANGEROUS, ("n2-highmem-80 -> n2-highmem-96 in place",)),
    "edit-cpu-name-cluster": (DECISION, ("node pool cpu-pool is replaced", "up to 5 nodes", "Ray head")),
    "edit-driver-latest-gpu": (DANGEROUS, ('gpu_driver_version: "DEFAULT" -> "LATEST"', "16 B200 GPUs")),
    "edit-gcs-fuse-off-cluster": (DECISION, ("gcs_fuse_csi_driver_config.enabled true -> false",)),
    "edit-gvnic-cidr-gpu": (DANGEROUS, ("GPU pool a4-highgpu-8g is replaced: it follows", "further admits")),
    "edit-labels-add-gpu": (SAFE, ("names and marks alone",)),
    "edit-lustre-legacy-port-network": (DECISION, ("further admits: tcp 6988",)),
    "edit-lustre-legacy-port-storage": (DECISION, ("gke_support_enabled false -> true",)),
    "edit-lustre-throughput-storage": (DANGEROUS, ("ALL DATA on it are deleted",)),
    "edit-mtu-gvnic-1460-gpu": (DECISION, ("changes its MTU: 8896 -> 1460", "keep the old MTU until they are stopped")),
    "edit-mtu-primary-1460-network": (DECISION, ("changes its MTU: 8896 -> 1460",)),
    "edit-nat-off-network": (DECISION, ("Cloud NAT nemo-rl-b200-net-nat is destroyed", "no image is pulled")),
    "edit-nat-ports-network": (SAFE, ("more connections for each machine",)),
    "edit-node-labels-gpu": (SAFE, ("a label more on nodes",)),
    "edit-nodes-2-3-gpu": (DECISION, ("grows from 2 to 3 nodes: 16 -> 24 B200 GPUs",)),
    "edit-pods-range-network": (DECISION, ("range pods: 10.4.0.0/14 -> 10.12.0.0/14", "Google will refuse it")),
    "edit-pool-add-gpu": (DECISION, ("GPU pool second is made, of 1 nodes with 8 B200 GPUs",)),
    "edit-subnet-move-network": (DECISION, ('ip_cidr_range: "10.0.0.0/20" -> "10.1.0.0/20"',)),
    "edit-taint-add-gpu": (DECISION, ("team=x:NO_SCHEDULE added", "new pods must tolerate it")),
    "edit-version-135-136-cluster": (DECISION, ("is upgraded: 1.35", "cannot be undone")),
    "edit-version-135-cluster": (SAFE, ("the control plane runs it already",)),
    "edit-version-135-removed-cluster": (SAFE, ("the control plane runs it already",)),
    "edit-window-start-cluster": (SAFE, ("the next upgrades come at another time",)),
    "edit-zone-cluster": (DECISION, ("us-central1-b -> us-central1-a", "drained and deleted")),
    "secondplan-b200-cluster": (SAFE, ("names nobody, and the IP endpoint is off",)),
    "secondplan-flex-gpu": (SAFE, ("Nothing changes.",)),
}


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    if not ARCHIVE.is_file():
        pytest.skip(f"no recorded plans at {ARCHIVE}: they are not part of the project")
    return plans()


@pytest.mark.parametrize("name", EXPECTED)
def test_the_first_ten_lines_of_a_real_plan(recorded: dict[str, Any], name: str) -> None:
    verdict, said = EXPECTED[name]
    plan = plan_of(recorded.get(name) or recorded[f"{name}-7.45.0"], name)
    first = "\n".join(text.render(assess([plan], provenance=Provenance("0"))).splitlines()[:10])
    assert first.startswith(verdict)
    for words in said:
        assert words in first


def test_no_plan_of_an_update_is_safe_without_a_reason(recorded: dict[str, Any]) -> None:
    for name, document in recorded.items():
        result = assess([plan_of(document, name)], provenance=Provenance("0"))
        if result.verdict == "safe" and result.counts.get("update"):  # type: ignore[call-overload]
            assert result.harmless, name
