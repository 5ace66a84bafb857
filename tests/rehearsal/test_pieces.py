"""Parts of a rehearsal on their own: what a fault alters, how a plan is told, and the longest chain."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from findings import Finding, Severity
from staged_terraform.data_sources import read_data_source
from staged_terraform.facts import TypeFacts
from staged_terraform.faults import Fault, drift, held_lock, orphan
from staged_terraform.report import FaultReport, Report, StackReport, changes
from staged_terraform.schemas import load
from staged_terraform.simulated_cloud import Refused, RemoteObject, SimulatedCloud
from staged_terraform.stacks import Stack, names_made, other_versions, protected
from staged_terraform.timeline import Step, critical_path


def thing(kind: str, **state: Any) -> RemoteObject:
    return RemoteObject(kind, {"id": f"{kind}-id", **state}, TypeFacts(kind, force_new=frozenset({"labels"})), "p")


def world(*things: RemoteObject) -> SimulatedCloud:
    made = SimulatedCloud(check_api=False)
    for each in things:
        made.create(each, lambda _: None)
    return made


@pytest.mark.parametrize(
    ("state", "after"),
    [
        ({"description": "a", "display_name": "b"}, {"description": "a (changed by hand)", "display_name": "b"}),
        ({"description": "", "display_name": "b"}, {"description": "", "display_name": "b (changed by hand)"}),
        ({"private_ip_google_access": False}, {"private_ip_google_access": True}),
        ({"labels": {"a": "b"}}, {"labels": {"a": "b"}}),  # it forces a replacement, which no drift may
    ],
)
def test_what_drift_alters(state: dict[str, Any], after: dict[str, Any]) -> None:
    made = world(thing("google_a", **state))
    hit = drift(made, "google_")
    (one,) = made.objects.values()
    assert {key: one.state[key] for key in after} == after
    assert hit == ({} if state == after else {"google_a": "google_a-id"})


def test_drift_hits_one_thing_or_one_of_each_type() -> None:
    made = [thing("google_a", description="a"), thing("google_b", description="b"), thing("other", description="c")]
    assert set(drift(world(*made), "google_")) == {"google_a"}
    assert set(drift(world(*made), "each")) == {"google_a", "google_b", "other"}


def test_a_default_that_is_a_number_goes_up_by_one() -> None:
    one = RemoteObject(
        "google_a", {"id": "i", "size": 3, "timeout": 5}, TypeFacts("google_a", defaults={"size": 3}), "p"
    )
    made = world(one)
    drift(made, "google_a")
    (one,) = made.objects.values()
    assert one.state == {"id": "i", "size": 4, "timeout": 5}


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("quota", "Error 403: Quota exceeded for google_a in project p., quotaExceeded"),
        ("stock-out", "Error 503: ZONE_RESOURCE_POOL_EXHAUSTED: z does not have enough resources available"),
        ("reservation-not-found", "Error 404: The reservation was not found in this project and zone., notFound"),
        ("api-disabled", "Error 403: a.googleapis.com has not been used in project p before or it is disabled., acc"),
    ],
)
def test_a_fault_refuses_a_creation_once(fault: str, says: str) -> None:
    played = Fault.parse(f"{fault}:google_a")
    facts, state = TypeFacts("google_a", api="a.googleapis.com"), {"id": "i", "project": "p", "zone": "z"}
    played.before("read", facts, state)
    played.before("create", TypeFacts("google_b"), state)
    with pytest.raises(Refused) as refused:
        played.before("create", facts, state)
    assert str(refused.value).startswith(says)
    assert played.hits == {"google_a": "i"}
    played.before("create", facts, state)  # it is spent


def test_a_fault_of_each_type_hits_every_type_once() -> None:
    played = Fault.parse("quota:each")
    for kind in ("google_a", "google_b"):
        with pytest.raises(Refused):
            played.before("create", TypeFacts(kind), {"name": kind})
        played.before("create", TypeFacts(kind), {"name": kind})
    assert played.hits == {"google_a": "google_a", "google_b": "google_b"}
    played.armed = False
    played.before("create", TypeFacts("google_c"), {})


def test_a_creation_that_timed_out_was_made() -> None:
    played, state = Fault.parse("timeout:google_a"), {"id": "i"}
    assert played.after("update", TypeFacts("google_a"), state) is state
    with pytest.raises(Refused) as refused:
        played.after("create", TypeFacts("google_a"), state)
    assert refused.value.created is state


def test_a_normalised_value_leaves_what_was_sent() -> None:
    sent = {"id": "i", "description": "a"}
    assert Fault.parse("normalise:google_a").after("create", TypeFacts("google_a"), sent) == {
        "id": "i",
        "description": "a (as stored)",
    }
    assert sent["description"] == "a"


def test_a_held_lock_leaves_nothing_behind(tmp_path: Path) -> None:
    with held_lock(tmp_path):
        assert '"OperationTypeApply"' in (tmp_path / ".rehearsal.tfstate.lock.info").read_text()
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "rehearsal.tfstate").write_text("{}")
    with held_lock(tmp_path):
        pass
    assert (tmp_path / "rehearsal.tfstate").read_text() == "{}"


def test_the_id_of_an_orphan() -> None:
    assert orphan("Error 409: The resource 'projects/p/a' already exists, alreadyExists") == "projects/p/a"
    assert orphan("Error 404: The resource 'projects/p/a' was not found") is None


def entry(actions: list[str], **more: Any) -> dict[str, Any]:
    paths = {"replace_paths": more.pop("paths")} if "paths" in more else {}
    return {"address": "module.m.google_a.b", "change": {"actions": actions, **paths}, **more}


@pytest.mark.parametrize(
    ("given", "action", "because"),
    [
        (entry(["create"]), "create", ()),
        (entry(["update"]), "update", ()),
        (entry(["delete"], action_reason="delete_because_no_module"), "delete", ()),
        (entry(["delete", "create"], paths=[["d", 0, "kind"], ["name"], ["name"]]), "replace", ("d.0.kind", "name")),
        (entry(["create", "delete"], action_reason="replace_by_triggers"), "replace", ("replace_by_triggers",)),
        (entry(["delete", "create"], action_reason="replace_because_tainted"), "replace", ("replace_because_tainted",)),
        (entry(["delete", "create"], action_reason="replace_because_cannot_update"), "replace", ()),
    ],
)  # fmt: skip
def test_a_change_of_a_plan(given: dict[str, Any], action: str, because: tuple[str, ...]) -> None:
    (found,) = changes({"resource_changes": [given]})
    assert (found.action, found.because, found.type) == (action, because, "google_a")


def test_what_is_no_change() -> None:
    assert changes({"resource_changes": [entry(["no-op"]), entry(["read"]), entry(["create"], mode="data")]}) == []
    assert changes({}) == []


@pytest.mark.parametrize(
    ("actions", "kind", "loss"),
    [
        (["delete"], "google_lustre_instance", "the file system and all data on it"),
        (["delete", "create"], "google_container_node_pool", "its nodes are drained, and what runs on them stops"),
        (["delete"], "google_container_cluster", "the cluster with everything that runs on it"),
        (["delete"], "google_storage_bucket", "the bucket and every object in it"),
        (["delete"], "kubernetes_namespace_v1", "everything in the namespace"),
        (["update"], "google_lustre_instance", ""),
        (["delete"], "google_compute_router", ""),
    ],
)
def test_what_a_change_loses(actions: list[str], kind: str, loss: str) -> None:
    (found,) = changes({"resource_changes": [{"address": f"{kind}.x", "change": {"actions": actions}}]})
    assert found.loss == loss


def test_a_report_is_well_without_errors_and_with_every_fault_recovered() -> None:
    warning, error = (Finding("r", severity, "m") for severity in (Severity.WARNING, Severity.ERROR))
    assert Report("apply").ok
    assert Report("apply", findings=[warning], faults=[FaultReport("quota", recovered=True)]).ok
    assert not Report("apply", findings=[warning, error]).ok
    lost = [FaultReport("quota", recovered=True), FaultReport("kill", recovered=False)]
    assert not Report("apply", faults=lost).ok
    assert len(Report("plan").not_checked) + 1 == len(Report("plan", guessed=["google_x"]).not_checked)
    stack = StackReport("s", "network", path=[Step("a", 30), Step("b", 60)], plan_json={"secret": 1})
    said = Report("plan", stacks=[stack, stack]).to_json()
    assert (said["simulated"], said["critical_path"]["seconds"]) == (True, 180)
    assert "plan_json" not in said["stacks"][0]


def resource(address: str, *waits: str, mode: str = "managed") -> dict[str, Any]:
    kind, name = address.split(".")
    return {"type": kind, "name": name, "mode": mode, "instances": [{"dependencies": list(waits)}]}


def test_the_longest_chain() -> None:
    """a (10) -> b (5) -> d (1) is longer than c (12) -> d; data sources and unknown types take no time."""
    state = {
        "resources": [
            resource("a.x"),
            resource("b.x", "a.x"),
            resource("c.x"),
            resource("d.x", "b.x", "c.x", "gone.x"),
            resource("z.x", "d.x"),
            resource("a.y", "d.x", mode="data"),
        ]
    }
    assert critical_path(state, {"a": 10, "b": 5, "c": 12, "d": 1}) == [Step("a.x", 10), Step("b.x", 5), Step("d.x", 1)]
    assert critical_path({}, {}) == []


@dataclass
class Given:
    configuration: dict[str, Any]

    @property
    def stack(self) -> Stack:
        return Stack("lab-gpu", "gpu", Path(), self.configuration)


def test_protection_is_lifted_where_it_is() -> None:
    body = {
        "google_a": {"held": {"name": "h"}, "free": {"name": "f"}, "kept": {"lifecycle": {"prevent_destroy": True}}},
        "google_b": {"listed": {"lifecycle": [{"prevent_destroy": True}]}},
    }
    state = {
        "resources": [
            {"type": "google_a", "name": name, "instances": [{"attributes": {"deletion_protection": held}}]}
            for name, held in (("held", True), ("free", False))
        ]
    }
    assert protected(Given({"resource": body}).stack, state) == {
        "google_a": {
            "held": {"deletion_protection": False},
            "kept": {"lifecycle": {"prevent_destroy": False}},
        },
        "google_b": {"listed": {"lifecycle": {"prevent_destroy": False}}},
    }


def test_names_that_a_site_makes() -> None:
    body = {
        "google_a": {"x": {"name": "n"}, "y": {"name": "${google_a.x.name}-y"}, "z": {"account_id": "acc"}},
        "google_b": {"x": {"instance_id": "i", "zone": "z"}},
    }
    assert names_made([Given({"resource": body}).stack]) == {("google_a", "n"), ("google_a", "acc"), ("google_b", "i")}


def test_providers_that_are_pinned_otherwise() -> None:
    def pinned(name: str, version: str) -> Stack:
        providers = {name: {"source": f"hashicorp/{name}", "version": version}}
        return Given({"terraform": {"required_providers": providers}}).stack

    (mismatch,) = other_versions(pinned("helm", "0.0.1"), {})
    assert mismatch.startswith("helm 0.0.1 is pinned, the rehearsal knows ")
    ours = mismatch.rpartition(" ")[2]
    assert other_versions(pinned("helm", f"= {ours}"), {}) == other_versions(pinned("helm", "~> 0.0.1"), {}) == []
    assert other_versions(pinned("helm", f"= {ours}"), {"helm": "9.9.9"}) == [
        f"helm = {ours} is pinned, the rehearsal knows 9.9.9"
    ]
    assert other_versions(pinned("aws", "0.0.1"), {}) == []
    assert pinned("aws", "1.0.0").unknown_providers == ["hashicorp/aws"]
    assert pinned("helm", "1.0.0").unknown_providers == []


def test_a_secret_that_is_not_there_is_an_empty_answer() -> None:
    """As the kubernetes provider reads it: nothing made up, and nothing assumed to exist."""
    cloud = world()
    (block,) = load([("data", "kubernetes_secret_v1")]).values()
    config = {"metadata": [{"name": "no-secret", "namespace": "n"}]}
    found = read_data_source(cloud, "kubernetes_secret_v1", block, config, {}, "cluster")
    assert {name: found[name] for name in ("data", "type", "immutable")} == {
        "data": None,
        "type": None,
        "immutable": None,
    }
    assert cloud.assumptions == set()
