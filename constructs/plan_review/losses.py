"""What it means that a resource goes away. Products register the words for the types that they know."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from plan_review.model import Action, Change


@dataclass(frozen=True, slots=True)
class Loss:
    """`noun` names the thing as people do; `text` says what is lost.

    `grave`: it cannot be had back by another apply. `data`: what is lost are data. `totals` are amounts that are
    added up over losses that are alike: ``(("node", 2), ("B200 GPU", 16))``.
    """

    noun: str
    text: str
    grave: bool = False
    data: bool = False
    totals: tuple[tuple[str, int], ...] = ()


#: Types that hold data or keys, by a part of their name: for those that nobody registered.
_HOLDS_DATA = re.compile(
    r"bucket|_sql_database|database_instance|_db_instance|_rds_|dynamodb_table|_disk$|_volume$|_ebs_|filestore|"
    r"file_system|_efs_|storage_account|bigquery_(dataset|table)|spanner|bigtable|redis_instance|alloydb|"
    r"kms_(crypto_)?key|_key_ring|persistent_volume|artifact_registry_repository|_ecr_repository|cosmosdb"
)


def loss(change: Change) -> Loss:
    """What replacing or destroying it loses."""
    known = LOSSES.get(change.type)
    if known:
        return known(change)
    name = f"{change.type} {change.label}"
    if _HOLDS_DATA.search(change.type):
        return Loss(name, "what it holds is deleted with it", grave=True, data=True)
    return Loss(name, "it is gone until the new one stands" if change.action is Action.REPLACE else "it is gone")


def _marker(change: Change) -> Loss:
    return Loss(change.address, "a marker in the state; nothing in the cloud")


#: Type -> its loss in words. A product adds its own types.
LOSSES: dict[str, Callable[[Change], Loss]] = {"terraform_data": _marker, "null_resource": _marker}
