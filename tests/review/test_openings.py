"""Every way in which a plan opens something, each beside one that does not."""

from __future__ import annotations

from typing import Any

import pytest

from review.plans import create, judged, slugs, update

Case = tuple[str, dict[str, Any]]

OPEN: dict[str, list[Case]] = {
    "nodes-public": [
        ("google_container_cluster.c", {"private_cluster_config": [{"enable_private_nodes": False}]}),
        ("google_compute_instance.m", {"network_interface": [{"access_config": [{}]}]}),
        ("google_compute_instance_template.m", {"network_interface": [{}, {"access_config": [{"nat_ip": "a"}]}]}),
    ],
    "public-address": [
        ("google_compute_global_address.a", {}),  # the provider's default is EXTERNAL
        ("google_compute_forwarding_rule.f", {}),
        ("google_compute_forwarding_rule.f", {"load_balancing_scheme": "EXTERNAL"}),
        ("google_compute_global_forwarding_rule.f", {"load_balancing_scheme": "EXTERNAL_MANAGED"}),
        ("kubernetes_service.s", {"spec": [{"type": "LoadBalancer"}]}),
        ("kubernetes_service_v1.s", {"spec": [{"type": "LoadBalancer"}], "metadata": [{"annotations": {"a": "b"}}]}),
    ],
    "ingress-open": [
        ("aws_default_security_group.s", {"ingress": [{"cidr_blocks": []}, {"cidr_blocks": ["0.0.0.0/1"]}]}),
        ("aws_security_group.s", {"ingress": [{"ipv6_cidr_blocks": ["::/0"]}]}),
        ("aws_security_group_rule.r", {"type": "ingress", "cidr_blocks": ["0.0.0.0/0"]}),
        ("aws_security_group_rule.r", {"type": "ingress", "ipv6_cidr_blocks": ["2000::/3"]}),
        ("aws_vpc_security_group_ingress_rule.r", {"cidr_ipv4": "0.0.0.0/0"}),
        ("aws_vpc_security_group_ingress_rule.r", {"cidr_ipv6": "::/0"}),
        *(
            ("azurerm_network_security_rule.r", {"direction": "Inbound", "access": "Allow", **source})
            for source in (
                {"source_address_prefix": "*"},
                {"source_address_prefix": "Internet"},
                {"source_address_prefixes": ["10.0.0.0/8", "0.0.0.0/0"]},
            )
        ),
    ],
    "bucket-public": [
        ("google_storage_bucket_access_control.a", {"bucket": "b", "entity": "allUsers"}),
        ("google_storage_object_access_control.a", {"bucket": "b", "entity": "allAuthenticatedUsers"}),
        ("google_storage_bucket_acl.a", {"bucket": "b", "role_entity": ["OWNER:user-a", "READER:allUsers"]}),
        ("google_storage_default_object_acl.a", {"bucket": "b", "predefined_acl": "publicRead"}),
        ("aws_s3_bucket_acl.a", {"bucket": "b", "acl": "public-read"}),
        ("google_storage_bucket_iam_member.m", {"role": "roles/storage.objectViewer", "member": "allUsers"}),
    ],
    "firewall-open": [
        ("google_compute_firewall.f", {"allow": [{"protocol": "tcp"}], "source_ranges": ["10.0.0.0/8", "0.0.0.0/7"]}),
        *(
            (f"google_compute_{kind}_rule.r", {"action": "allow", "match": [{"src_ip_ranges": ["0.0.0.0/0"]}]})
            for kind in ("network_firewall_policy", "region_network_firewall_policy", "firewall_policy")
        ),
    ],
    "firewall-ports": [
        ("google_compute_firewall.f", {"allow": [{"protocol": each}], "source_ranges": ["10.0.0.0/8"]})
        for each in ("udp", "sctp", "all", "TCP")
    ]
    + [
        ("google_compute_firewall.f", {"allow": [{"protocol": "tcp", "ports": ports}], "source_ranges": ["10.0.0.0/8"]})
        for ports in (["0-65535"], ["443", "1-65535"])
    ],
    "iam-broad": [
        ("google_project_iam_member.m", {"project": "p", "role": role, "member": "user:a@example.com"})
        for role in (
            "roles/editor",
            "roles/viewer",
            "roles/compute.admin",
            "roles/iam.serviceAccountTokenCreator",
            "roles/iam.serviceAccountUser",
            "roles/iam.serviceAccountKeyAdmin",
        )
    ]
    + [
        ("google_folder_iam_member.m", {"folder": "f", "role": "roles/viewer", "member": "user:a@example.com"}),
        ("google_organization_iam_member.m", {"org_id": "1", "role": "roles/viewer", "member": "user:a@example.com"}),
        ("google_storage_bucket_iam_member.m", {"bucket": "b", "role": "roles/owner", "member": "user:a@example.com"}),
    ],
    "iam-public": [
        ("google_service_account_iam_binding.m", {"role": "roles/x", "members": ["user:a@b", "allAuthenticatedUsers"]})
    ],
    "iam-authoritative": [
        ("google_folder_iam_binding.b", {"folder": "f", "role": "roles/x", "members": []}),
        ("google_organization_iam_policy.b", {"org_id": "1", "policy_data": "{}"}),
    ],
    "open-control-plane": [
        (
            "google_container_cluster.c",
            {"master_authorized_networks_config": [{"cidr_blocks": [{}, {"cidr_block": "128.0.0.0/1"}]}]},
        )
    ],
    "public-endpoint-unrestricted": [
        ("google_container_cluster.c", {"private_cluster_config": [{"enable_private_endpoint": False}]}),
        (
            "google_container_cluster.c",
            {"control_plane_endpoints_config": [{"ip_endpoints_config": [{"enabled": True}]}]},
        ),
    ],
}  # fmt: skip

CLOSED: dict[str, list[Case]] = {
    "nodes-public": [
        ("google_container_cluster.c", {"private_cluster_config": [{"enable_private_nodes": True}]}),
        ("google_container_cluster.c", {}),
        ("google_compute_instance.m", {"network_interface": [{"access_config": []}, {"access_config": None}, {}]}),
    ],
    "public-address": [
        ("google_compute_forwarding_rule.f", {"load_balancing_scheme": "INTERNAL"}),
        ("kubernetes_service_v1.s", {"spec": [{"type": "ClusterIP"}]}),
        (
            "kubernetes_service_v1.s",
            {
                "spec": [{"type": "LoadBalancer"}],
                "metadata": [{"annotations": {"networking.gke.io/load-balancer-type": "Internal"}}],
            },
        ),
    ],
    "ingress-open": [
        ("aws_security_group_rule.r", {"type": "egress", "cidr_blocks": ["0.0.0.0/0"]}),
        ("aws_vpc_security_group_ingress_rule.r", {"cidr_ipv4": "203.0.113.0/24"}),
        ("azurerm_network_security_rule.r", {"direction": "Outbound", "access": "Allow", "source_address_prefix": "*"}),
        ("azurerm_network_security_rule.r", {"direction": "Inbound", "access": "Deny", "source_address_prefix": "*"}),
    ],
    "bucket-public": [
        ("google_storage_bucket_access_control.a", {"bucket": "b", "entity": "user-a@example.com"}),
        ("google_storage_bucket_acl.a", {"bucket": "b", "role_entity": ["OWNER:user-a"], "predefined_acl": "private"}),
        ("aws_s3_bucket.a", {"acl": "private"}),
    ],
    "firewall-open": [
        ("google_compute_firewall.f", {"allow": [{"protocol": "tcp"}], "source_ranges": ["8.0.0.0/8"]}),
        ("google_compute_firewall.f", {"allow": [{"protocol": "tcp"}], "direction": "EGRESS"}),
        ("google_compute_firewall.f", {"allow": [{"protocol": "tcp"}], "disabled": True}),
        ("google_compute_firewall.f", {"deny": [{"protocol": "tcp"}]}),
        ("google_compute_firewall.f", {"allow": [{"protocol": "tcp", "ports": ["22"]}], "source_tags": ["bastion"]}),
        *(
            (
                "google_compute_network_firewall_policy_rule.r",
                {"action": "allow", "match": [{"src_ip_ranges": ["0.0.0.0/0"]}], **but},
            )
            for but in ({"action": "deny"}, {"direction": "EGRESS"}, {"disabled": True})
        ),
    ],
    "firewall-ports": [
        ("google_compute_firewall.f", {"allow": [{"protocol": "icmp"}], "source_ranges": ["10.0.0.0/8"]}),
        ("google_compute_firewall.f", {"allow": [{"protocol": "tcp", "ports": ["2-65535"]}], "source_tags": ["t"]}),
    ],
    "iam-broad": [
        (
            "google_service_account_iam_member.m",
            {"role": "roles/iam.serviceAccountUser", "member": "user:a@example.com", "service_account_id": "a"},
        ),
        ("google_project_iam_member.m", {"project": "p", "role": "roles/compute.viewer", "member": "user:a@b"}),
    ],
    "iam-authoritative": [("google_storage_bucket_iam_binding.b", {"bucket": "b", "role": "roles/x", "members": []})],
    "public-endpoint-unrestricted": [
        ("google_container_cluster.c", {"private_cluster_config": [{"enable_private_endpoint": True}]}),
        ("google_container_cluster.c", {"enable_autopilot": True}),
        ("google_container_cluster.c", {"master_authorized_networks_config": [{"cidr_blocks": []}]}),
    ],
}  # fmt: skip


def _cases(table: dict[str, list[Case]]) -> list[Any]:
    return [
        pytest.param(slug, address, given, id=f"{slug}-{number}")
        for slug, cases in table.items()
        for number, (address, given) in enumerate(cases)
    ]


@pytest.mark.parametrize(("slug", "address", "given"), _cases(OPEN))
def test_it_is_seen(slug: str, address: str, given: dict[str, Any]) -> None:
    assert slug in slugs(judged(create(address, name="x", **given)))


@pytest.mark.parametrize(("slug", "address", "given"), _cases(CLOSED))
def test_its_neighbour_is_not(slug: str, address: str, given: dict[str, Any]) -> None:
    assert slug not in slugs(judged(create(address, name="x", **given)))


@pytest.mark.parametrize(
    ("role", "severity", "says"),
    [
        ("roles/owner", "error", "it may do everything in that project"),
        ("roles/editor", "error", "it may change nearly everything in that project"),
        ("roles/viewer", "warning", "it may read nearly everything in that project"),
        ("roles/compute.admin", "warning", "it administers all of it in that project"),
        ("roles/iam.serviceAccountUser", "warning", "may act with the rights of service accounts"),
    ],
)
def test_how_broad_a_role_is(role: str, severity: str, says: str) -> None:
    (notice,) = judged(create("google_project_iam_member.m", project="p", role=role, member="user:a@b")).counting
    assert (str(notice.severity), says in notice.consequence) == (severity, True)
    assert notice.message == f"user:a@b gets {role} on project p"


@pytest.mark.parametrize(
    ("role", "says"),
    [
        ("roles/storage.objectViewer", "anyone on the internet can read what is in it"),
        ("roles/storage.objectAdmin", "anyone on the internet can read what is in it, and write to it"),
        ("roles/storage.objectCreator", "anyone on the internet can read what is in it, and write to it"),
    ],
)
def test_a_public_bucket_that_can_be_written(role: str, says: str) -> None:
    entry = create("google_storage_bucket_iam_member.m", bucket="b", role=role, member="allUsers")
    (notice,) = [each for each in judged(entry).counting if each.rule == "bucket-public"]
    assert notice.consequence == says


SWITCHES = [
    ("control_plane_endpoints_config", {"ip_endpoints_config": [{"enabled": True}]}, "IP endpoint turned on"),
    (
        "control_plane_endpoints_config",
        {"dns_endpoint_config": [{"allow_external_traffic": True}]},
        "DNS endpoint turned on",
    ),
    ("private_cluster_config", {"enable_private_endpoint": False}, "public IP endpoint turned on"),
    (
        "master_authorized_networks_config",
        {"gcp_public_cidrs_access_enabled": True},
        "addresses of Google Cloud admitted",
    ),
    (
        "master_authorized_networks_config",
        {"cidr_blocks": [{"cidr_block": "192.0.2.0/24", "display_name": "office"}]},
        "authorized network 192.0.2.0/24 (office) added",
    ),
]


@pytest.mark.parametrize(("block", "inside", "says"), SWITCHES)
def test_each_way_to_the_control_plane(block: str, inside: dict[str, Any], says: str) -> None:
    off = {"name": "c"}
    on = {**off, block: [inside]}
    found = judged(update("google_container_cluster.c", off, on)).notices
    (notice,) = [each for each in found if each.rule == "control-plane-access"]
    assert notice.message == f"the control plane of cluster c opens: {says}"
    for before, after in ((on, off), (on, {**on, "description": "d"})):
        found = judged(update("google_container_cluster.c", before, after)).notices
        assert "control-plane-access" not in {each.rule for each in found}
