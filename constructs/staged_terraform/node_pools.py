"""A cluster shows the pools that others made in it: what is read of it changes with each of them."""

from __future__ import annotations

import copy
from typing import Any

from staged_terraform.conformance import conform
from staged_terraform.schema_types import Block, block_type
from staged_terraform.simulated_cloud import RemoteObject, SimulatedCloud

Object = dict[str, Any]


def pools_of(cloud: SimulatedCloud, cluster: Object) -> list[RemoteObject]:
    """The pools of a cluster, in the order of their creation."""
    return [
        pool
        for pool in cloud.of_type("google_container_node_pool")
        if (found := cloud.find("google_container_cluster", str(pool.state.get("cluster"))))
        and found.id == cluster.get("id")
    ]


def with_pools(cloud: SimulatedCloud, block: Block, cluster: Object) -> Object:
    """A cluster's state as it is read: ``node_pool`` has all pools, ``node_config`` is that of the first."""
    pools = [copy.deepcopy(pool.state) for pool in pools_of(cloud, cluster)]
    if not pools:
        return cluster
    shown = {"node_pool": pools, "node_config": pools[0].get("node_config") or []}
    fitting = {
        name: [conform(block_type(block.blocks[name].block), each) for each in elements]
        for name, elements in shown.items()
        if name in block.blocks
    }
    return {**cluster, **fitting}
