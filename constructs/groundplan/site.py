"""The Site: every derived value of a profile, computed once.

Rules, stacks, manifest, run-book and review read the Site; nothing is derived twice. Each part is planned in its own
folder (``network/plan.py`` ...). Resolving never fails on a profile of the right shape: what is wrong is for the rules
to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from groundplan.catalog import Catalog, load_catalog
from groundplan.cluster.plan import ClusterPlan, plan_cluster
from groundplan.gpu.plan import FabricPlan, PoolPlan, plan_fabric, plan_pools
from groundplan.network.plan import NetworkPlan, plan_network
from groundplan.platform.spec import SecretReference
from groundplan.profile import Profile
from groundplan.storage.plan import LustrePlan, plan_lustre
from groundplan.workload.job import JobPlan
from groundplan.workload.plan import plan_job


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
    network: NetworkPlan
    lustre: LustrePlan
    cluster: ClusterPlan
    fabric: FabricPlan
    pools: tuple[PoolPlan, ...]
    job: JobPlan | None
    """None when the catalog knows no such recipe or release, which is for the rules to say."""
    as_of: date | None = None
    """The day that expiry is judged by; None judges none. Never the clock: the same profile gives the same findings."""

    @property
    def services(self) -> tuple[str, ...]:
        """APIs that the site's resources need; cloudresourcemanager is for the project's IAM members."""
        return ("cloudresourcemanager", "compute", "container", "iam", "lustre", "servicenetworking", "storage")

    def stack_name(self, stack: str) -> str:
        """``nemo-rl-network``: the name of the stack, its workspace and its state."""
        return f"{self.name}-{stack}"


def resolve(profile: Profile, folder: Path = Path(), as_of: date | None = None) -> Site:
    """Compute the Site. `folder` is the profile's, for its catalog files. Raises GroundplanError on a bad catalog."""
    catalog = load_catalog(tuple(folder / name for name in profile.catalog))
    lustre, fabric, pools = plan_lustre(profile, catalog), plan_fabric(profile), plan_pools(profile, catalog)
    job = plan_job(profile, catalog, lustre, fabric, pools)
    if job and job.model.gated and "hugging_face" not in profile.secrets.model_fields_set:
        # A profile of three lines has to run: a gated model's token is then asked for by Terraform. An explicit
        # `hugging_face: null` stays none, which the rule `gated-model` refuses.
        secrets = profile.secrets.model_copy(update={"hugging_face": SecretReference(variable=True)})
        profile = profile.model_copy(update={"secrets": secrets})
        job = plan_job(profile, catalog, lustre, fabric, pools)
    own = {"environment": profile.environment, "managed-by": "groundplan", "site": profile.site}
    return Site(
        profile=profile,
        catalog=catalog,
        name=profile.site,
        project=profile.project,
        zone=profile.zone,
        region=profile.region or profile.zone.rpartition("-")[0],
        labels=dict(sorted((profile.labels | own).items())),
        network=plan_network(profile, lustre.name),
        lustre=lustre,
        cluster=plan_cluster(profile, catalog),
        fabric=fabric,
        pools=pools,
        job=job,
        as_of=as_of,
    )
