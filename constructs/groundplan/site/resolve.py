"""The Site: every derived value of a profile, computed once.

Rules, stacks, manifest, run-book and review read the Site; nothing is derived twice. Each part is planned in its own
folder (``network/values.py``). Resolving never fails on a profile of the right shape: what is wrong is for the rules
to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from groundplan.catalog import Catalog, load_catalog
from groundplan.cluster.values import ClusterValues, cluster_values
from groundplan.gpu.fabric_values import FabricValues, Nic, NicNetwork, fabric_of, fabrics_of
from groundplan.gpu.values import PoolDefaults, PoolValues, pool_values
from groundplan.kernel.gke import region_of
from groundplan.nemo_rl.config_file import ConfigFile
from groundplan.network.values import NetworkValues, network_values
from groundplan.platform.spec import SecretsSpec
from groundplan.platform.values import QueueValues, queue_values
from groundplan.site.job import config_file, resolve_job
from groundplan.site.profile import Profile
from groundplan.site.stacks import StackEntry, entries_of
from groundplan.storage.values import LustreValues, lustre_values
from groundplan.workload import rayjob
from groundplan.workload.values import JobValues


@dataclass(frozen=True)
class Site:
    """A profile with everything that follows from it."""

    profile: Profile
    catalog: Catalog
    name: str
    project: str
    zone: str
    region: str
    labels: dict[str, str]
    network: NetworkValues
    lustre: LustreValues
    cluster: ClusterValues
    fabrics: tuple[FabricValues, ...]
    """The networks of additional NICs, zone by zone; none where GKE makes them all."""
    pools: tuple[PoolValues, ...]
    secrets: SecretsSpec
    """References to the tokens: the profile's, with the one that a gated model needs."""
    job: JobValues | None
    """None when the catalog knows no such recipe or release, which is for the rules to say."""
    config_file: ConfigFile | None = None
    """The user's own NeMo RL configuration, also when it cannot be used."""
    as_of: date | None = None
    """The day that expiry is judged by; None judges none. Never the clock: the same profile gives the same findings."""

    @property
    def prevent_destroy(self) -> bool:
        """Whether a plan that would destroy what holds data or machines fails (``lifecycle.prevent_destroy``)."""
        given = self.profile.prevent_destroy
        return self.profile.environment == "prod" if given is None else given

    @cached_property
    def job_objects(self) -> list[dict[str, Any]]:
        """The Kubernetes objects of the job, built once, in the order of creation; none while its recipe is unknown."""
        return rayjob.documents(self.job) if self.job else []

    @cached_property
    def nic_networks(self) -> tuple[NicNetwork, ...]:
        """The networks of additional NICs, of all zones."""
        return tuple(network for fabric in self.fabrics for network in fabric.networks)

    def fabric_of(self, pool: PoolValues) -> FabricValues | None:
        """The site's own networks that a pool uses; None when it has no NICs that want one."""
        return fabric_of(self.profile.gpu, self.fabrics, pool, self.zone)

    def nics_of(self, pool: PoolValues) -> tuple[Nic, ...]:
        """A pool's NICs on the site's own networks, in order."""
        fabric = self.fabric_of(pool)
        return fabric.nics(*pool.own_nics) if fabric else ()

    @property
    def services(self) -> tuple[str, ...]:
        """APIs that the site's resources need; cloudresourcemanager is for the project's IAM members."""
        return ("cloudresourcemanager", "compute", "container", "iam", "lustre", "servicenetworking", "storage")

    @property
    def queue(self) -> QueueValues | None:
        """The queue of the jobs; None while Kueue is off."""
        return queue_values(
            self.profile.platform,
            site=self.name,
            cpu_pool=self.profile.cluster.cpu_pool,
            cpu_machine=self.cluster.cpu_machine,
            pools=self.pools,
        )

    @cached_property
    def stacks(self) -> tuple[StackEntry, ...]:
        """The stacks that it has, in order of creation."""
        return entries_of({"host"} if self.network.host_stack else ())

    def stack_name(self, stack: str) -> str:
        """``nemo-rl-network``: the name of the stack, its workspace and its state."""
        return f"{self.name}-{stack}"


def resolve(profile: Profile, folder: Path = Path(), as_of: date | None = None) -> Site:
    """Compute the Site. `folder` is the profile's, for its catalog files. Raises UserError on a bad catalog."""
    catalog = load_catalog(tuple(folder / name for name in profile.catalog))
    lustre = lustre_values(
        profile.storage.lustre, catalog, site=profile.site, project=profile.project, zone=profile.zone
    )
    network = network_values(profile.network, site=profile.site, project=profile.project, lustre_name=lustre.name)
    defaults = PoolDefaults(profile.project, profile.zone, profile.reservation, profile.cluster.max_pods_per_node)
    pools = pool_values(profile.gpu, catalog, defaults)
    fabrics = fabrics_of(profile.gpu, pools, site=profile.site, zone=profile.zone, project=network.project)
    file = config_file(profile, catalog, folder)
    job = resolve_job(profile, catalog, lustre, fabrics, pools, file)
    own = {"environment": profile.environment, "managed-by": "groundplan", "site": profile.site}
    return Site(
        profile=profile,
        catalog=catalog,
        name=profile.site,
        project=profile.project,
        zone=profile.zone,
        region=profile.region or region_of(profile.zone),
        labels=dict(sorted((profile.labels | own).items())),
        network=network,
        lustre=lustre,
        cluster=cluster_values(
            profile.cluster,
            catalog,
            site=profile.site,
            project=profile.project,
            environment=profile.environment,
        ),
        fabrics=fabrics,
        pools=pools,
        secrets=job.site_secrets if job else profile.secrets,
        job=job,
        config_file=file,
        as_of=as_of,
    )
