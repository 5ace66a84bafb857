"""Rules on claims: (changes, a claim that trips it, one that does not)."""

from __future__ import annotations

from typing import Any

from review.cases_of_risk import POOL, pool
from review.plans import update

CLAIMED: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "outside-claim": (
        [update("google_container_node_pool.p", POOL, pool(node_count=4))],
        "gpu pool grows 2 -> 3",
        "gpu pool grows 2 -> 4",
    ),
}
