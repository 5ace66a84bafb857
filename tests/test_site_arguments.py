"""Arguments that a site gets by its environment and its keys: guards, upgrades, addresses, accounts."""

from __future__ import annotations

from sites import SMALL, synthesized
from synth_sites import FULL

GUARDED = ("google_container_cluster", "google_lustre_instance", "google_storage_bucket")


def test_prod_guards_what_holds_data_or_machines_at_plan() -> None:
    """`deletion_protection` stops an apply half-way; `prevent_destroy` fails the plan before anything is touched."""
    full, small = synthesized(FULL), synthesized(SMALL)
    opted_out = synthesized(FULL.replace("environment: prod", "environment: prod\nprevent_destroy: false"))
    for kind in GUARDED:
        assert full.only(kind)["lifecycle"]["prevent_destroy"] is True
        assert "prevent_destroy" not in opted_out.only(kind).get("lifecycle", {})
    pools = full.resources("google_container_node_pool")
    guarded = {name: pool["lifecycle"].get("prevent_destroy") for name, pool in pools.items()}
    assert guarded == {name: None if name == "cpu-pool" else True for name in pools}
    assert "prevent_destroy" not in small.text()


def test_the_cpu_pool_is_replaced_with_its_cluster() -> None:
    pool = synthesized(SMALL).resources("google_container_node_pool")["cpu-pool"]
    assert pool["lifecycle"]["replace_triggered_by"] == ["google_container_cluster.cluster.id"]


def test_upgrades_are_held_unless_the_profile_lets_them_come() -> None:
    policy = synthesized(SMALL + "cluster: {maintenance: {hold_upgrades: false}}\n").only("google_container_cluster")
    assert "maintenance_exclusion" not in policy["maintenance_policy"]
    own = "exclusions: [{name: mine, start: 2026-12-01T00:00:00Z, scope: NO_MINOR_UPGRADES}]"
    cluster = synthesized(SMALL + f"cluster: {{maintenance: {{{own}}}}}\n").only("google_container_cluster")
    _, mine = cluster["maintenance_policy"]["maintenance_exclusion"]
    assert mine == {
        "exclusion_name": "mine",
        "start_time": "2026-12-01T00:00:00Z",
        "exclusion_options": {"scope": "NO_MINOR_UPGRADES", "end_time_behavior": "UNTIL_END_OF_SUPPORT"},
    }


def test_a_queued_pool_is_a_flex_start_pool() -> None:
    pool = "{capacity: queued, autoscaling: {min: 0, max: 2}, reservation: null}"
    queued = synthesized(SMALL.replace("reservation: my-reservation\n", "") + f"gpu: {{pools: [{pool}]}}\n")
    node_pool = queued.resources("google_container_node_pool")["pool-a4-highgpu-8g"]
    assert node_pool["queued_provisioning"] == {"enabled": True}
    assert node_pool["node_config"]["flex_start"] is True


def test_nat_has_fixed_addresses_when_the_profile_asks() -> None:
    asked = synthesized(SMALL + "network: {primary: {nat: {addresses: 2}}}\n")
    assert {each["name"] for each in asked.resources("google_compute_address").values()} == {
        f"{asked.site.name}-net-nat-0",
        f"{asked.site.name}-net-nat-1",
    }
    nat = asked.only("google_compute_router_nat")
    assert nat["nat_ip_allocate_option"] == "MANUAL_ONLY"
    assert nat["nat_ips"] == [f"${{google_compute_address.nat-address-{n}.self_link}}" for n in (0, 1)]
    usual = synthesized(SMALL)
    assert usual.only("google_compute_router_nat")["nat_ip_allocate_option"] == "AUTO_ONLY"
    assert usual.resources("google_compute_address") == {}


def test_service_accounts_that_exist_are_used_and_not_made() -> None:
    accounts = "{nodes: my-nodes, nodes_exists: true, workload: my-pods, workload_exists: true}"
    found = synthesized(SMALL + f"cluster: {{service_accounts: {accounts}}}\n")
    assert found.resources("google_service_account") == {}
    assert found.resources("google_project_iam_member") == {}
    email = "my-nodes@my-project.iam.gserviceaccount.com"
    assert found.only("google_container_cluster")["node_config"]["service_account"] == email
    pools = found.resources("google_container_node_pool").values()
    assert {pool["node_config"]["service_account"] for pool in pools} == {email}
    (identity,) = found.resources("google_service_account_iam_member").items()
    assert identity[0] == "workload-identity", "the address that it has with an account of the site's own"
    assert identity[1]["service_account_id"] == (
        "projects/my-project/serviceAccounts/my-pods@my-project.iam.gserviceaccount.com"
    )
    assert identity[1]["member"] == "serviceAccount:my-project.svc.id.goog[nemo-rl/nemo-rl]"


def test_who_may_come_by_ip_turns_the_private_endpoint_on() -> None:
    """Beside the DNS endpoint, and without a public one."""
    office = "cluster: {control_plane: {authorized_networks: [{name: office, cidr: 10.200.0.0/24}]}}\n"
    cluster = synthesized(SMALL + office).only("google_container_cluster")
    assert cluster["control_plane_endpoints_config"]["ip_endpoints_config"] == {"enabled": True}
    assert cluster["private_cluster_config"]["enable_private_endpoint"] is True
    assert cluster["master_authorized_networks_config"] == {
        "cidr_blocks": [{"cidr_block": "10.200.0.0/24", "display_name": "office"}],
        "gcp_public_cidrs_access_enabled": False,
    }
