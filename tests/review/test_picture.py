"""The picture of a report: what changes reads old -> new, and no word on a line covers another."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from groundplan.on_plans.svg import svg
from groundplan.on_plans.topology import topology
from plan_review.reading import plan_of
from review.cases_of_risk import LUSTRE, POOL, pool
from review.plans import create, document, update


def picture(*changes: dict[str, Any]) -> str:
    return svg(topology([plan_of(document(*changes), "s")]))


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (
            update("google_container_node_pool.p", POOL, pool(node_count=4)),
            ["2 -&gt; 4 x a4-highgpu-8g", "16 -&gt; 32 B200"],
        ),
        (
            update(
                "google_lustre_instance.l", {**LUSTRE, "capacity_gib": "18000"}, {**LUSTRE, "capacity_gib": "36000"}
            ),
            ["18,000 -&gt; 36,000 GiB"],
        ),
        (
            update(
                "google_container_cluster.c",
                {"name": "c", "release_channel": [{"channel": "REGULAR"}]},
                {"name": "c", "release_channel": [{"channel": "RAPID"}]},
            ),
            ["REGULAR -&gt; RAPID"],
        ),
        (
            update("google_compute_network.n", {"name": "n", "mtu": 1460}, {"name": "n", "mtu": 8896}),
            ["MTU 1460 -&gt; 8896"],
        ),
        (
            update(
                "helm_release.h",
                {"name": "h", "repository": "oci://r", "chart": "kuberay-operator", "version": "1.6.0"},
                {"name": "h", "repository": "oci://r", "chart": "kuberay-operator", "version": "1.7.0"},
            ),
            ["Helm chart 1.6.0 -&gt; 1.7.0"],
        ),
        (create("google_compute_network.n", name="n", mtu=8896), [">MTU 8896<"]),
    ],
)
def test_a_change_reads_old_to_new(change: dict[str, Any], shown: list[str]) -> None:
    drawn = picture(change)
    for text in shown:
        assert text in drawn


def test_no_word_on_a_line_covers_another() -> None:
    networks = [create(f"google_compute_network.n{n}", name=f"n{n}") for n in range(6)]
    nics = [{"network": f"n{n}"} for n in range(6)]
    pools = [
        create(
            f"google_container_node_pool.p{n}",
            **pool(name=f"p{n}", network_config=[{"additional_node_network_configs": nics}]),
        )
        for n in range(4)
    ]
    labels = re.findall(r'<text class="edge-label" x="(\d+)" y="(\d+)">1 NIC</text>', picture(*networks, *pools))
    assert len(labels) == 24
    heights = sorted(int(y) for x, y in labels if x == labels[0][0])
    assert len(heights) == 24
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 11  # the type's size
