"""Openings in resources of any cloud, each beside what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plan_review import text
from review.plans import create, destroy, judged, same, slugs, update

Object = dict[str, Any]

ANYONE = json.dumps({"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sqs:*"}]})
SOMEONE = json.dumps({"Statement": [{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::1:root"}, "Action": "*"}]})
BOUND = json.dumps({"Statement": [{"Effect": "Allow", "Principal": "*", "Condition": {"StringEquals": {"a": "b"}}}]})


def rule(**more: str) -> Object:
    return {"security_rule": [{"direction": "Inbound", "access": "Allow", "source_address_prefix": "*", **more}]}


@pytest.mark.parametrize(
    ("kind", "opened", "severity", "closed"),
    [
        ("azurerm_network_security_group", rule(), "error", rule(access="Deny")),
        ("azurerm_network_security_group", rule(), "error", rule(direction="Outbound")),
        ("aws_sqs_queue", {"policy": ANYONE}, "error", {"policy": SOMEONE}),
        ("aws_sqs_queue", {"policy": ANYONE}, "error", {"policy": BOUND}),
        ("aws_eks_cluster", {"vpc_config": [{"public_access_cidrs": ["0.0.0.0/0"]}]}, "error",
         {"vpc_config": [{"public_access_cidrs": ["192.0.2.0/24"]}]}),
        ("google_sql_database_instance", {"settings": [{"authorized_networks": [{"value": "::/0"}]}]}, "error",
         {"settings": [{"authorized_networks": [{"value": "192.0.2.0/24"}]}]}),
        ("aws_route", {"cidr_block": "0.0.0.0/0"}, "error", {"destination_cidr_block": "0.0.0.0/0"}),
        ("aws_db_instance", {"publicly_accessible": True}, "warning", {"publicly_accessible": False}),
        ("aws_s3_bucket_x", {"block_public_acls": False}, "warning", {"block_public_acls": True}),
        ("azurerm_kubernetes_cluster", {"private_cluster_enabled": False}, "warning",
         {"private_cluster_enabled": True}),
        ("google_cloud_run_v2_service", {"ingress": "INGRESS_TRAFFIC_ALL"}, "warning",
         {"ingress": "INGRESS_TRAFFIC_INTERNAL_ONLY"}),
        ("aws_lambda_function_url", {"authorization_type": "NONE"}, "warning", {"authorization_type": "AWS_IAM"}),
        ("kubernetes_deployment", {"spec": [{"host_network": True}]}, "warning", {"spec": [{"host_network": False}]}),
        ("aws_instance", {"public_dns": "x", "associate_public_ip_address": True}, "warning", {"public_dns": "x"}),
    ],
)  # fmt: skip
def test_what_lets_many_in(kind: str, opened: Object, severity: str, closed: Object) -> None:
    found = [each for each in judged(create(f"{kind}.x", name="x", **opened)).counting if each.rule == "looks-open"]
    assert [str(each.severity) for each in found] == [severity]
    assert "looks-open" not in slugs(judged(create(f"{kind}.x", name="x", **closed)))


def test_an_update_that_opens_is_told_once() -> None:
    before, after = ({"identifier": "d", "publicly_accessible": each} for each in (False, True))
    result = judged(update("aws_db_instance.d", before, after))
    assert set(slugs(result)) == {"looks-open"}
    assert "aws_db_instance.d is opened" in text.render(result).splitlines()[1]
    standing = judged(same("aws_db_instance.d", **after))
    assert standing.verdict == "safe"


def test_a_guard_that_goes_says_so() -> None:
    (notice, *_) = judged(destroy("aws_s3_bucket_public_access_block.b", bucket="b")).counting
    assert notice.consequence == "what it kept out, or kept safe, it keeps no more"
