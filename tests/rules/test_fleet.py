"""Clashes between sites."""

from __future__ import annotations

import pytest

from groundplan.site.check import check_files
from rules.support import FleetCase, findings, text_of

#: Ranges of a second site that meet nothing of the defaults.
APART = {
    "network.primary.nodes": "10.16.0.0/20",
    "network.primary.pods": "10.20.0.0/14",
    "network.primary.services": "10.24.0.0/20",
    "network.private_service_access.address": "10.25.0.0",
}
SECOND = {"site": "second", "reservation": "second", **APART}
SHARED = {
    "network.primary.existing": {"project": "host-project", "network": "shared", "subnetwork": "gke"},
    "network.primary.nodes": "10.0.0.0/20",
    "network.primary.pods": "10.4.0.0/14",
    "network.primary.services": "10.8.0.0/20",
}
GCS = {"backend": {"gcs": {"bucket": "states"}}}
OTHER = {"project": "other-project", "reservation": "other"}
BLOCK = {"reservation": {"name": "big", "block": "one"}}


def reserved(count: int | None, nodes: int, **more: object) -> dict[str, object]:
    name: dict[str, object] = {"name": "big"} if count is None else {"name": "big", "count": count}
    return {**APART, "reservation": name, "gpu.pools[0].nodes": nodes, **more}


def shared(site: str, project: str, host: str) -> dict[str, object]:
    """A site that uses the VPC `vpc-of-<host>` of a host project."""
    vpc = {"project": host, "network": f"vpc-of-{host}", "subnetwork": f"{site}-gke"}
    return {**APART, "site": site, "project": project, "network.primary.existing": vpc, "reservation": site}


FLEETS = [
    FleetCase(
        "fleet-shared-vpc",
        (shared("one", "team-project", "host-a"), shared("two", "team-project", "host-b")),
        (shared("one", "team-project", "host-a"), shared("two", "other-project", "host-b")),
        "network.primary.existing.project",
        ("attached to host-b", "one (", "a.yaml", "a VPC of host-a"),
    ),
    FleetCase(
        "fleet-shared-vpc",
        (shared("one", "team-project", "host-a"), shared("two", "host-a", "host-b")),
        (shared("one", "team-project", "host-a"), {**SECOND, "project": "host-a"}),
        "network.primary.existing.project",
        ("host-a would be host project and service project at once",),
    ),
    FleetCase(
        "fleet-shared-vpc",
        (shared("one", "host-a", "host-b"), shared("two", "team-project", "host-a")),
        (shared("one", "host-a", "host-b"), shared("two", "team-project", "host-b")),
        "network.primary.existing.project",
        ("host-a would be host project and service project at once", "one (", "a.yaml"),
    ),
    FleetCase(
        "fleet-name", ({}, {"reservation": "b"}), ({}, SECOND), "site", ("more would be made by nemo-rl (", "a.yaml")
    ),
    FleetCase(
        "fleet-name",
        ({}, {**SECOND, "cluster.name": "nemo-rl"}),
        ({}, {**SECOND, **OTHER, "cluster.name": "nemo-rl"}),
        "cluster.name",
        ("cluster nemo-rl",),
    ),
    FleetCase(
        "fleet-name",
        ({"storage.buckets": [{"name": "data"}]}, {**SECOND, **OTHER, "storage.buckets": [{"name": "data"}]}),
        ({"storage.buckets": [{"name": "data"}]}, {**SECOND, "storage.buckets": [{"name": "data2"}]}),
        "storage.buckets[0].name",
        ("bucket data",),
    ),
    FleetCase(
        "fleet-state",
        ({**GCS}, {**GCS, **OTHER}),
        ({**GCS}, {**GCS, **SECOND}),
        "backend.gcs",
        ("gs://states/groundplan/nemo-rl/nemo-rl-network",),
    ),
    FleetCase("fleet-state", ({}, OTHER), ({}, {**OTHER, **GCS}), "", ("terraform.nemo-rl-network.tfstate",)),
    FleetCase(
        "fleet-state",
        (
            {"backend": {"cloud": {"organization": "acme"}}},
            {"backend": {"cloud": {"organization": "acme"}}, "reservation": "b"},
        ),
        ({"backend": {"cloud": {"organization": "acme"}}}, {"backend": {"cloud": {"organization": "acme2"}}}),
        "backend.cloud",
        ("acme", "workspace nemo-rl-network"),
    ),
    # Declared as peers, in whichever profile.
    FleetCase(
        "fleet-overlap",
        (
            {**OTHER, "site": "one"},
            {
                **SECOND,
                "network.primary.nodes": "10.5.0.0/20",
                "network.peers": [{"name": "one", "ranges": ["10.0.0.0/20"]}],
            },
        ),
        ({**OTHER, "site": "one"}, {**SECOND, "network.peers": [{"name": "one", "ranges": ["10.0.0.0/20"]}]}),
        "network.primary.nodes",
        ("10.4.0.0/14 (pods)", "a.yaml"),
    ),
    # The GPU network of one on the primary network of the other.
    FleetCase(
        "fleet-overlap",
        (
            {**OTHER, "site": "one", "network.peers": [{"name": "second", "ranges": ["10.16.0.0/12"]}]},
            {**SECOND, "gpu.gvnic.cidr": "10.0.1.0/24"},
        ),
        ({**OTHER, "site": "one", "network.peers": [{"name": "second", "ranges": ["10.16.0.0/12"]}]}, SECOND),
        "gpu.gvnic.cidr",
        ("10.0.0.0/20 (nodes)",),
    ),
    # The same VPC: subnetwork and pods may be shared, services not.
    FleetCase(
        "fleet-overlap",
        ({**SHARED, "site": "one"}, {**SHARED, "site": "two"}),
        (
            {**SHARED, "site": "one"},
            {
                **SHARED,
                "site": "two",
                "network.primary.services": "10.8.16.0/20",
                "network.primary.existing.services_range": "services-two",
            },
        ),
        "network.primary.services",
        ("services",),
    ),
    FleetCase(
        "fleet-ranges-alike",
        ({}, {"site": "second", "reservation": "b"}),
        ({}, SECOND),
        "network.primary",
        ("never be peered",),
        "warning",
    ),
    FleetCase(
        "fleet-ranges-alike",
        ({}, {**SECOND, "network.primary.nodes": "192.168.3.0/24"}),
        ({}, {**SECOND, **OTHER}),
        "",
        ("192.168.3.0/24",),
        "warning",
    ),
    FleetCase(
        "fleet-reservation",
        (reserved(None, 2), reserved(None, 2, site="b")),
        (reserved(4, 2), reserved(4, 2, site="b")),
        "reservation",
        ("up to 4",),
        "warning",
    ),
    FleetCase(
        "fleet-reservation",
        (reserved(3, 2), reserved(3, 2, site="b")),
        (reserved(4, 2), reserved(None, 2, site="b")),
        "reservation",
        ("holds 3",),
    ),
    # A count of a block says nothing of the whole, of which the other site may take other machines.
    FleetCase(
        "fleet-reservation",
        (reserved(None, 2), {**reserved(None, 2), "reservation": {**BLOCK["reservation"], "count": 2}}),
        (reserved(4, 2), {**reserved(None, 2), "reservation": {**BLOCK["reservation"], "count": 2}}),
        "reservation",
        ("is used by nemo-rl",),
        "warning",
    ),
    FleetCase(
        "fleet-reservation",
        (reserved(3, 2), {**reserved(None, 2), "reservation": BLOCK["reservation"]}),
        (reserved(4, 2), {**reserved(None, 2), "reservation": BLOCK["reservation"]}),
        "reservation",
        ("holds 3",),
    ),
    FleetCase("fleet-twice", (SECOND, {}, SECOND), ({}, SECOND), "site", ("the same site twice", "a.yaml")),
    FleetCase(
        "fleet-reservation",
        (BLOCK, {**BLOCK, "reservation.sub_block": "x"}),
        (BLOCK, {"reservation": {"name": "big", "block": "two"}}),
        "reservation",
        ("big",),
        "warning",
    ),
    FleetCase(
        "fleet-reservation",
        ({"gpu.pools[0].reservation": "big"}, {}, {"gpu.pools[0].reservation": "big", "site": "c"}),
        (
            {"gpu.pools[0].reservation": "big"},
            {},
            {"gpu.pools[0].reservation": {"name": "big", "project": "owner-project"}},
        ),
        "gpu.pools[0].reservation",
        ("a.yaml",),
        "warning",
    ),
]


def test_two_sites_that_are_apart_pass_without_a_word(tmp_path) -> None:  # type: ignore[no-untyped-def]
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    for file, edits in zip(files, ({}, SECOND), strict=True):
        file.write_text(text_of(edits))
    assert [f.message for result in check_files(files) for f in result.findings] == []


def test_a_site_given_twice_is_one_finding(tmp_path) -> None:  # type: ignore[no-untyped-def]
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml", tmp_path / "c.yaml"]
    for file, edits in zip(files, ({}, {}, {"site": "c", "reservation": "c"}), strict=True):
        file.write_text(text_of(edits))
    found = [[f.rule for f in result.findings] for result in check_files(files)]
    assert found == [[], ["fleet-twice"], ["fleet-ranges-alike"]]


def test_a_fleet_finding_is_ignored_like_any_other(tmp_path) -> None:  # type: ignore[no-untyped-def]
    files = [tmp_path / "a.yaml", tmp_path / "b.yaml"]
    ignore = {"ignore": [{"rule": "fleet-ranges-alike", "reason": "never to be peered"}]}
    for file, edits in zip(files, ({}, {"site": "second", "reservation": "b", **ignore}), strict=True):
        file.write_text(text_of(edits))
    (finding,) = check_files(files)[1].findings
    assert finding.ignored == "never to be peered"


@pytest.mark.parametrize("edits", [{}, SECOND, SHARED])
def test_a_site_never_clashes_with_itself(edits: dict[str, object]) -> None:
    assert [f.message for f in findings(edits) if f.rule.startswith("fleet")] == []
