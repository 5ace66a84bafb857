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
    r"(bucket|bucket_object|s3_object|_database|database_instance|_db_(instance|cluster)|(rds|redshift|docdb|neptune|"
    r"elasticache|memorydb|alloydb)_\w*(cluster|instance|group)|dynamodb_(global_)?table|_disk|_volume|filestore_instance|"
    r"file_system|storage_(account|container|share|blob|table|queue)|bigquery_(dataset|table)|(spanner|bigtable|redis|"
    r"memcache)_(instance|database|table|cluster)|kms_(crypto_)?key|kms_replica_key|key_ring|key_vault(_key|_secret)?|"
    r"secretsmanager_secret|ssm_parameter|persistent_volume(_v1)?|artifact_registry_repository|ecr_repository|"
    r"cosmosdb_account|redis_cache|(elasticsearch|opensearch)_domain|(sql|mysql|postgresql|mariadb|mssql)_(flexible_)?"
    r"(server|database)|managed_instance|firestore_database|kinesis_stream|msk_cluster|backup_vault|snapshot|_ami|"
    r"fsx_\w+|log_group|logging_project_bucket_config|memorystore_instance|netapp_volume)$"
)

#: Types that hold all else.
_HOLDS_ALL = re.compile(r"(azurerm_resource_group|aws_organizations_account|azurerm_subscription|_project|_folder)$")


def loss(change: Change) -> Loss:
    """What replacing or destroying it loses."""
    known = LOSSES.get(change.type)
    if known:
        return known(change)
    name = f"{change.type} {change.label}"
    if _HOLDS_DATA.search(change.type):
        return Loss(name, "what it holds is deleted with it", grave=True, data=True)
    if _HOLDS_ALL.search(change.type):
        return Loss(name, "EVERYTHING in it goes with it", grave=True, data=True)
    return Loss(name, "it is gone until the new one stands" if change.action is Action.REPLACE else "it is gone")


def _marker(change: Change) -> Loss:
    return Loss(change.address, "a marker in the state; nothing in the cloud")


#: Type -> its loss in words. A product adds its own types.
LOSSES: dict[str, Callable[[Change], Loss]] = {"terraform_data": _marker, "null_resource": _marker}
