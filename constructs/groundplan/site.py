"""The Site: every derived value of a profile, computed once.

Rules, stacks, manifest, run-book and review read the Site; nothing is derived twice. Each part is planned in its own
folder (``network/plan.py`` ...). Resolving never fails on a profile of the right shape: what is wrong is for the rules
to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from groundplan.catalog import Catalog, load_catalog
from groundplan.cluster.plan import ClusterPlan, plan_cluster
from groundplan.gpu.plan import FabricPlan, PoolPlan, plan_fabric, plan_pools
from groundplan.network.plan import NetworkPlan, plan_network
from groundplan.profile import Profile
from groundplan.storage.plan import LustrePlan, plan_lustre

#: The stacks in order of creation; destroy goes the other way.
STACKS = ("network", "storage", "cluster", "gpu", "platform", "workload")


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

    def stack_name(self, stack: str) -> str:
        """``nemo-rl-network``: the name of the stack, its workspace and its state."""
        return f"{self.name}-{stack}"


def resolve(profile: Profile, folder: Path = Path()) -> Site:
    """Compute the Site. `folder` is the profile's, for its catalog files. Raises GroundplanError on a bad catalog."""
    catalog = load_catalog(tuple(folder / name for name in profile.catalog))
    lustre = plan_lustre(profile)
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
        fabric=plan_fabric(profile),
        pools=plan_pools(profile, catalog),
    )
