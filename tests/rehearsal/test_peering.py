"""A connection to Google's services that is abandoned: nothing is called, the peering stays, and holds its network."""

from __future__ import annotations

import copy

import pytest

from rehearsal import standin
from rehearsal.conftest import Run, said
from staged_terraform.connections import CONNECTION, remove_by_hand
from staged_terraform.display import text
from staged_terraform.facts import TypeFacts
from staged_terraform.simulated_cloud import Refused, RemoteObject, SimulatedCloud

STAYS = f"projects/{standin.PROJECT}/global/networks/{standin.SITE}/peerings/servicenetworking-googleapis-com"
BY_HAND = (
    f"gcloud compute networks peerings delete servicenetworking-googleapis-com --network={standin.SITE} "
    f"--project={standin.PROJECT}"
)


def abandoning() -> standin.Stack:
    stack = copy.deepcopy(standin.network())
    connection = stack["resource"]["google_service_networking_connection"]["services"]
    connection["deletion_policy"] = "ABANDON"
    return stack


def test_the_network_is_refused_until_the_peering_goes_by_hand(run: Run) -> None:
    report = run({"network": abandoning()})
    assert report.ok, said(report)
    (network,) = report.stacks
    assert network.by_hand == [BY_HAND]
    assert network.destroyed == sorted(network.created)
    assert not [each for each in report.remaining if "peering" in each]
    assert f"Google refused the destroy until: {BY_HAND}" in text(report)


def test_what_stays_in_a_network_of_others_is_named(run: Run) -> None:
    stack = abandoning()
    theirs = f"projects/{standin.PROJECT}/global/networks/shared"
    for kind in ("google_service_networking_connection", "google_compute_global_address"):
        stack["resource"][kind]["services"]["network"] = theirs
    stack["resource"]["google_compute_global_address"]["services"]["depends_on"] = ["google_project_service.compute"]
    report = run({"network": stack}, existing=frozenset({("google_compute_network", "shared")}))
    assert report.ok, said(report)
    assert report.stacks[0].by_hand == []
    assert f"left-in-cloud {theirs}/peerings/servicenetworking-googleapis-com" in report.remaining


def test_the_refusal_is_googles(terraform: None) -> None:
    cloud = SimulatedCloud(check_api=False)
    network = RemoteObject(
        "google_compute_network", {"id": f"projects/{standin.PROJECT}/global/networks/n"}, TypeFacts("n"), "p"
    )
    abandons = {
        "argument": "deletion_policy",
        "value": "ABANDON",
        "leaves": "{network}/peerings/{peering}",
        "holds": "network",
        "type": "google_compute_network",
        "by_hand": "remove {peering}",
    }
    state = {
        "id": "c",
        "network": network.id,
        "peering": "servicenetworking-googleapis-com",
        "deletion_policy": "ABANDON",
    }
    connection = RemoteObject("google_service_networking_connection", state, TypeFacts("c", abandons=abandons), "p")
    for each in (network, connection):
        cloud.create(each, lambda _: None)
    cloud.delete(connection)
    with pytest.raises(
        Refused, match=r"already being used by '.*/peerings/servicenetworking-googleapis-com'"
    ) as refused:
        cloud.delete(network)
    assert remove_by_hand(cloud, "another refusal") == []
    assert remove_by_hand(cloud, refused.value.summary) == ["remove servicenetworking-googleapis-com"]
    cloud.delete(network)


def test_a_connection_is_kept_after_the_last_instance_until_it_goes_by_hand(run: Run) -> None:
    report = run({"network": standin.network(), "storage": standin.storage()})
    assert report.ok, said(report)
    network, storage = report.stacks
    assert (network.by_hand, storage.by_hand) == ([BY_HAND], [])
    assert not [each for each in report.remaining if "connection" in each or "peering" in each]


def test_without_an_instance_the_connection_goes(run: Run) -> None:
    report = run({"network": standin.network()})
    assert report.ok, said(report)
    assert report.stacks[0].by_hand == []


def test_while_an_instance_stands_nothing_by_hand_helps() -> None:
    cloud = SimulatedCloud(check_api=False)
    state = {"id": "c", "network": "projects/p/global/networks/n", "peering": "s"}
    connection = RemoteObject(CONNECTION, state, TypeFacts(CONNECTION), "p")
    lustre = [
        RemoteObject("l", {"id": name, "network": state["network"]}, TypeFacts("l", peered="network"), "p")
        for name in ("one", "two")
    ]
    for each in (connection, *lustre):
        cloud.create(each, lambda _: None)
    cloud.delete(lustre[0])
    for other in ("two must be deleted first", "for hours after the last instance is gone"):
        with pytest.raises(Refused, match="Producer services are still using") as refused:
            cloud.delete(connection)
        assert other in refused.value.detail
        helps = remove_by_hand(cloud, refused.value.summary)
        assert bool(helps) == ("hours" in other)
        cloud.delete(lustre[1])
    cloud.delete(connection)
