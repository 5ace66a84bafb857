"""What the platform section comes to: the queue that admits the jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from groundplan.catalog import Machine
from groundplan.cluster.spec import CpuPool
from groundplan.gpu.values import PoolValues
from groundplan.platform.spec import PlatformSpec


@dataclass(frozen=True)
class QueueValues:
    """A LocalQueue, its ClusterQueue, and the nodes whose capacity it hands out.

    `prefix` (the site's name) begins the names of everything cluster-scoped. `cpu_machine` is None for a machine type
    that the catalog does not know; its quota is then 0.
    """

    prefix: str
    name: str
    version: str
    namespace: str
    topology: Literal["block", "subblock", "none"]
    cpu_pool: CpuPool
    cpu_machine: Machine | None
    pools: tuple[PoolValues, ...]

    @property
    def cluster_queue(self) -> str:
        """Name of the ClusterQueue, which is cluster-scoped."""
        return self.scoped(self.name)

    def scoped(self, name: str) -> str:
        """The name of a cluster-scoped object."""
        return f"{self.prefix}-{name}"

    @property
    def queued_pools(self) -> list[PoolValues]:
        """The pools whose nodes GKE makes for a ProvisioningRequest alone."""
        return [pool for pool in self.pools if pool.capacity == "queued"]


def queue_values(
    spec: PlatformSpec, *, site: str, cpu_pool: CpuPool, cpu_machine: Machine | None, pools: tuple[PoolValues, ...]
) -> QueueValues | None:
    """The queue; None while Kueue is off."""
    if not spec.kueue.enabled:
        return None
    return QueueValues(
        prefix=site,
        name=spec.kueue.queue,
        version=spec.kueue.version,
        namespace=spec.namespace,
        topology=spec.kueue.topology,
        cpu_pool=cpu_pool,
        cpu_machine=cpu_machine,
        pools=pools,
    )
