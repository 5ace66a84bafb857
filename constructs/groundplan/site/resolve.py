"""The Site: every derived value of a profile, computed once.

Rules, stacks, manifest, run-book and review read the Site; nothing is derived twice. Each part is planned in its own
folder (``network/values.py``). Resolving never fails on a profile of the right shape: what is wrong is for the rules
to say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from groundplan.storage.buckets import BucketValues, Volumes, bucket_values
from groundplan.storage.values import LustreValues, SharedVolume, lustre_values, shared_volume
from groundplan.workload import rayjob
from groundplan.workload.spec import WorkloadSpec
from groundplan.workload.values import JobValues


@dataclass(frozen=True)
class JobPart:
    """One of several jobs: its place in `workload.jobs`, its section, and what that comes to."""

    index: int
    spec: WorkloadSpec
    job: JobValues | None
    file: ConfigFile | None


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
    buckets: tuple[BucketValues, ...]
    """The buckets, their defaults filled in."""
    shared: SharedVolume
    """The file system that the job's pods share."""
    cluster: ClusterValues
    fabrics: tuple[FabricValues, ...]
    """The networks of additional NICs, zone by zone; none where GKE makes them all."""
    pools: tuple[PoolValues, ...]
    secrets: SecretsSpec
    """References to the tokens: the profile's, with the one that a gated model needs."""
    job: JobValues | None
    """The job, or the first of several. None when there is none (`workload.mode: none`), and when the catalog knows no
    such recipe or release, which is for the rules to say."""
    config_file: ConfigFile | None = None
    """The user's own NeMo RL configuration, also when it cannot be used."""
    parts: tuple[JobPart, ...] = ()
    """The jobs of `workload.jobs`; none where the section itself is the job."""
    whole: Site | None = None
    """Of a view of one job: the site with all of them."""
    as_of: date | None = None
    """The day that expiry is judged by; None judges none. Never the clock: the same profile gives the same findings."""

    @property
    def prevent_destroy(self) -> bool:
        """Whether a plan that would destroy what holds data or machines fails (``lifecycle.prevent_destroy``)."""
        given = self.profile.prevent_destroy
        return self.profile.environment == "prod" if given is None else given

    @property
    def has_job(self) -> bool:
        """Whether the profile asks for a job at all; a platform without one has no workload stack."""
        return self.profile.workload.mode != "none"

    @cached_property
    def views(self) -> tuple[Site, ...]:
        """The site as each of its jobs sees it, with that one's section and no other; itself where there is one."""
        if not self.parts:
            return (self,)
        return tuple(
            replace(
                self,
                profile=self.profile.model_copy(update={"workload": part.spec}),
                job=part.job,
                config_file=part.file,
                parts=(),
                whole=self,
            )
            for part in self.parts
        )

    @property
    def jobs(self) -> tuple[JobValues, ...]:
        """Every job; none of a platform without one, nor one whose recipe is unknown."""
        return tuple(view.job for view in self.views if view.job)

    @cached_property
    def job_objects(self) -> list[dict[str, Any]]:
        """The Kubernetes objects of all jobs, in the order of creation; none of one whose recipe is unknown."""
        return [each for objects in self.objects_of.values() for each in objects]

    @cached_property
    def objects_of(self) -> dict[str, list[dict[str, Any]]]:
        """Name of each job -> its Kubernetes objects, built once."""
        return {job.name: rayjob.documents(job) for job in self.jobs}

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
        found = ["cloudresourcemanager", "compute", "container", "iam", "storage"]
        found += ["lustre"] * self.lustre.is_used
        found += ["servicenetworking"] * (self.lustre.is_used or self.network.access_created)
        return tuple(sorted(found))

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
        stored = self.lustre.is_used or any(not bucket.spec.exists for bucket in self.buckets)
        decided = {"host": self.network.host_stack, "storage": stored, "workload": self.has_job}
        return entries_of({name for name, has in decided.items() if has})

    def stack_name(self, stack: str) -> str:
        """``nemo-rl-network``: the name of the stack, its workspace and its state."""
        return f"{self.name}-{stack}"


def resolve(profile: Profile, folder: Path = Path(), as_of: date | None = None) -> Site:
    """Compute the Site. `folder` is the profile's, for its catalog files. Raises UserError on a bad catalog."""
    catalog = load_catalog(tuple(folder / name for name in profile.catalog))
    lustre = lustre_values(
        profile.storage.lustre, catalog, site=profile.site, project=profile.project, zone=profile.zone
    )
    region = profile.region or region_of(profile.zone)
    buckets = bucket_values(profile.storage, region=region)
    network = network_values(
        profile.network,
        site=profile.site,
        project=profile.project,
        lustre_name=lustre.name,
        lustre=lustre.is_made,
    )
    defaults = PoolDefaults(profile.project, profile.zone, profile.reservation, profile.cluster.max_pods_per_node)
    pools = pool_values(profile.gpu, catalog, defaults)
    fabrics = fabrics_of(profile.gpu, pools, site=profile.site, zone=profile.zone, project=network.project)
    volumes = Volumes(shared_volume(profile.storage, lustre), buckets)

    def part(spec: WorkloadSpec, index: int = 0) -> JobPart:
        own = profile.model_copy(update={"workload": spec})
        file = config_file(own, catalog, folder)
        return JobPart(index, spec, resolve_job(own, catalog, volumes, fabrics, pools, file), file)

    workload = profile.workload
    entries = workload.jobs if workload.mode != "none" else []
    parts = tuple(part(workload.of(entry), index) for index, entry in enumerate(entries))
    first = parts[0] if parts else part(workload)
    jobs = [each.job for each in parts or (first,) if each.job]
    own = {"environment": profile.environment, "managed-by": "groundplan", "site": profile.site}
    return Site(
        profile=profile,
        catalog=catalog,
        name=profile.site,
        project=profile.project,
        zone=profile.zone,
        region=region,
        labels=dict(sorted((profile.labels | own).items())),
        network=network,
        lustre=lustre,
        buckets=buckets,
        shared=volumes.shared,
        cluster=cluster_values(
            profile.cluster,
            catalog,
            site=profile.site,
            project=profile.project,
            environment=profile.environment,
        ),
        fabrics=fabrics,
        pools=pools,
        secrets=next((job.site_secrets for job in jobs if job.site_secrets.hugging_face), profile.secrets),
        job=first.job,
        config_file=first.file,
        parts=parts,
        as_of=as_of,
    )
