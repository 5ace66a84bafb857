"""Planted mistakes are found, each by a message that leads to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rehearsal import standin
from rehearsal.conftest import Run, said


def typo(stacks: dict[str, Any]) -> None:
    vpc = stacks["network"]["resource"]["google_compute_network"]["vpc"]
    vpc["auto_create_subnetwork"] = vpc.pop("auto_create_subnetworks")


def unknown_type(stacks: dict[str, Any]) -> None:
    resource = stacks["network"]["resource"]
    resource["google_compute_netwrok"] = resource.pop("google_compute_network")


def missing_argument(stacks: dict[str, Any]) -> None:
    del stacks["storage"]["resource"]["google_lustre_instance"]["lustre"]["filesystem"]


def wrong_type(stacks: dict[str, Any]) -> None:
    stacks["network"]["resource"]["google_compute_network"]["vpc"]["mtu"] = "large"


def bad_reference(stacks: dict[str, Any]) -> None:
    stacks["network"]["resource"]["google_compute_subnetwork"]["primary"]["network"] = (
        "${google_compute_network.vcp.id}"
    )


def no_depends_on(stacks: dict[str, Any]) -> None:
    del stacks["network"]["resource"]["google_compute_network"]["vpc"]["depends_on"]
    stacks["network"]["resource"]["google_project_service"]["compute"]["depends_on"] = ["google_project_service.iam"]


def literal_in_the_same_stack(stacks: dict[str, Any]) -> None:
    pool = stacks["gpu"]["resource"]["google_container_node_pool"]["b200"]
    del pool["lifecycle"]
    pool["network_config"]["additional_node_network_configs"] = [{"network": "lab-roce", "subnetwork": "lab-roce-0"}]


def absent_network(stacks: dict[str, Any]) -> None:
    stacks["cluster"]["resource"]["google_container_cluster"]["cluster"]["network"] = "lba"


def no_peering(stacks: dict[str, Any]) -> None:
    del stacks["network"]["resource"]["google_service_networking_connection"]


def identity_before_cluster(stacks: dict[str, Any]) -> None:
    resource = stacks["cluster"]["resource"]
    identity = resource["google_service_account_iam_member"]["identity"]
    del identity["depends_on"]
    resource["google_container_cluster"]["cluster"]["depends_on"] = ["google_service_account_iam_member.identity"]


def manifest_beside_its_cluster(stacks: dict[str, Any]) -> None:
    cluster = stacks["cluster"]
    cluster["terraform"]["required_providers"]["kubernetes"] = {"source": "hashicorp/kubernetes", "version": "2.38.0"}
    cluster["provider"]["kubernetes"] = [{"host": "https://${google_container_cluster.cluster.endpoint}"}]
    cluster["resource"]["kubernetes_manifest"] = {
        "quota": {"manifest": {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}}
    }


def no_namespace(stacks: dict[str, Any]) -> None:
    stacks["workload"]["resource"]["kubernetes_config_map_v1"]["script"]["metadata"]["namespace"] = "lr"


def no_operator(stacks: dict[str, Any]) -> None:
    del stacks["platform"]["resource"]["helm_release"]["kuberay"]


def no_multi_networking(stacks: dict[str, Any]) -> None:
    stacks["cluster"]["resource"]["google_container_cluster"]["cluster"]["enable_multi_networking"] = False


def wrong_parameter_set(stacks: dict[str, Any]) -> None:
    body = standin.network_object()
    body["spec"]["vpcSubnet"] = "lab-roce-8"
    stacks["platform"]["resource"]["helm_release"]["networks"] = standin.release(
        "networks", [body], depends_on=["kubernetes_namespace_v1.rl"]
    )


def no_chart(stacks: dict[str, Any]) -> None:
    stacks["workload"]["resource"]["helm_release"]["job"]["chart"] = "${path.module}/../../charts/passthru"


def other_cluster(stacks: dict[str, Any]) -> None:
    stacks["platform"]["data"]["google_container_cluster"]["cluster"]["location"] = "us-central1"
    stacks["platform"]["provider"]["kubernetes"] = [{"host": "https://10.1.2.3"}]


def early_data_source(stacks: dict[str, Any]) -> None:
    stacks["network"]["data"] = {
        "google_lustre_instance": {"lustre": {"instance_id": "lab", "location": "us-central1-a"}}
    }


def firewall_on_the_roce_network(stacks: dict[str, Any]) -> None:
    stacks["gpu"]["resource"]["google_compute_firewall"] = {
        "roce": {"name": "roce", "network": "${google_compute_network.roce.id}", "allow": [{"protocol": "tcp"}]}
    }


def pool_in_another_zone(stacks: dict[str, Any]) -> None:
    stacks["gpu"]["resource"]["google_container_node_pool"]["b200"]["node_locations"] = ["us-central1-c"]


@pytest.mark.parametrize(
    ("plant", "rule", "words"),
    [
        (typo, "rehearsal-validate", 'Did you mean "auto_create_subnetworks"'),
        (unknown_type, "rehearsal-validate", "google_compute_netwrok"),
        (missing_argument, "rehearsal-validate", 'The argument "filesystem" is required'),
        (wrong_type, "rehearsal-validate", "a number is required"),
        (bad_reference, "rehearsal-validate", "has not been declared in the root module"),
        (no_depends_on, "rehearsal-apply", "compute.googleapis.com has not been used in project lab-project"),
        (literal_in_the_same_stack, "rehearsal-apply", "that is not there (yet). Does it come later"),
        (absent_network, "rehearsal-apply", "networks/lba' was not found"),
        (no_peering, "rehearsal-apply", "no private service access connection"),
        (identity_before_cluster, "rehearsal-apply", "Identity Pool does not exist (lab-project.svc.id.goog)"),
        (manifest_beside_its_cluster, "rehearsal-plan", "cannot create REST client: no client config"),
        (no_namespace, "rehearsal-apply", 'namespaces "lr" not found'),
        (no_operator, "rehearsal-apply", 'no matches for kind "RayJob" in version "ray.io/v1"'),
        (no_multi_networking, "rehearsal-apply", 'no matches for kind "GKENetworkParamSet"'),
        (wrong_parameter_set, "rehearsal-apply", "vpcSubnet lab-roce-8 was not found"),
        (no_chart, "rehearsal-apply", "could not locate chart"),
        (other_cluster, "rehearsal-apply", "connection refused"),
        (firewall_on_the_roce_network, "rehearsal-apply", "a RoCE network takes no firewall rules"),
        (pool_in_another_zone, "rehearsal-apply", "serves zone us-central1-a only"),
        (early_data_source, "rehearsal-plan", "looks for something that is not there yet"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_planted_mistake_is_found(run: Run, plant: Callable[[Any], None], rule: str, words: str) -> None:
    stacks = standin.site()
    plant(stacks)
    report = run(stacks, until="validate" if rule == "rehearsal-validate" else "apply")
    assert not report.ok
    errors = [each for each in report.findings if each.severity == "error"]
    assert {each.rule for each in errors} == {rule}, said(report)
    assert words in said(report)


def test_values_that_the_documentation_does_not_list_are_warned_of(run: Run) -> None:
    network = standin.network()
    network["resource"]["google_compute_network"]["vpc"]["routing_mode"] = "WORLDWIDE"
    report = run({"network": network}, until="plan")
    assert report.ok
    assert "routing_mode" in said(report)


def test_something_outside_is_refused_unless_declared(run: Run) -> None:
    stacks = {"network": standin.network()}
    subnetwork = stacks["network"]["resource"]["google_compute_subnetwork"]["primary"]
    subnetwork["network"] = "projects/host/global/networks/shared"
    subnetwork["depends_on"] = ["google_project_service.compute"]
    refused = run(stacks, until="apply")
    assert "The resource 'projects/host/global/networks/shared' was not found" in said(refused)
    declared = run(stacks, until="apply", existing=frozenset({("google_compute_network", "shared")}))
    assert declared.ok, said(declared)


def test_a_claimed_volume_cannot_be_replaced_alone(run: Run) -> None:
    changed = standin.platform()
    source = changed["resource"]["kubernetes_persistent_volume_v1"]["lustre"]["spec"]["persistent_volume_source"]
    source["csi"]["volume_handle"] = "another"
    report = run(standin.site(platform=changed), old=standin.site(), until="apply", stack="platform")
    assert "it is in use by kubernetes_persistent_volume_claim_v1 rl/lustre" in said(report)


def test_deletion_protection_is_refused_in_the_providers_manner(terraform: None) -> None:
    from staged_terraform.facts import TypeFacts
    from staged_terraform.simulated_cloud import Refused, RemoteObject, SimulatedCloud

    cloud = SimulatedCloud(check_api=False)
    cluster = RemoteObject("google_container_cluster", {"id": "c", "deletion_protection": True}, TypeFacts("x"), "p")
    cloud.create(cluster, lambda _: None)
    with pytest.raises(Refused, match="deletion_protection is set to true"):
        cloud.delete(cluster)
