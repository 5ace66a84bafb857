"""Every name that a site gives, derived ones included: its length, its twins, and who else uses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from findings import Problem, ProfilePath, rule
from groundplan.platform.secrets import SECRETS, secret_name
from groundplan.site.resolve import Site

#: RFC 1035 names of Compute Engine.
_COMPUTE = 63


@dataclass(frozen=True, slots=True)
class Name:
    """A name and where the profile decides it.

    `kind` and `scope` say within what it must be unique: two names clash when all three are equal. `created` is false
    for what is only used. `longest` is the limit of its kind.
    """

    kind: str
    scope: str
    text: str
    path: ProfilePath
    longest: int = _COMPUTE
    created: bool = True


def names_of(site: Site) -> Iterator[Name]:
    """Every name in Google Cloud that the site's resources have."""
    yield from _network_names(site)
    yield from _fabric_names(site)
    project, regional = site.project, f"{site.project}/{site.region}"
    accounts: ProfilePath = ("cluster", "service_accounts")
    yield Name("cluster", regional, site.cluster.name, ("cluster", "name"), 40)
    spec = site.profile.cluster.service_accounts
    for account, key, exists in (
        (site.cluster.nodes_account, "nodes", spec.nodes_exists),
        (site.cluster.workload_account, "workload", spec.workload_exists),
    ):
        yield Name("service account", project, account, (*accounts, key), 30, created=not exists)
    cluster = f"{regional}/{site.cluster.name}"
    yield Name("node pool", cluster, site.profile.cluster.cpu_pool.name, ("cluster", "cpu_pool", "name"), 40)
    for pool in site.pools:
        yield Name("node pool", cluster, pool.name, ("gpu", "pools", pool.index, "name"), 40)
    if site.lustre.is_used:
        scope, made = f"{site.lustre.project}/{site.lustre.zone}", site.lustre.is_made
        yield Name("Lustre instance", scope, site.lustre.name, ("storage", "lustre", "name"), created=made)
    for bucket in site.buckets:
        path = ("storage", "buckets", bucket.index, "name")
        yield Name("bucket", "", bucket.name, path, created=not bucket.spec.exists)


def _network_names(site: Site) -> Iterator[Name]:
    plan, project, region = site.network, site.network.project, site.region
    made = not plan.exists
    path: ProfilePath = ("network", "primary", "name" if made else "existing")
    yield Name("network", project, plan.vpc, path, created=made)
    subnetwork: ProfilePath = ("network", "primary", "subnetwork" if made else "existing")
    yield Name("subnetwork", f"{project}/{region}", plan.subnetwork, subnetwork, created=made)
    if made:
        if site.lustre.is_used:
            yield Name("firewall rule", project, f"{plan.vpc}-lustre", path)
        if site.profile.network.primary.nat.enabled:
            yield Name("router", f"{project}/{region}", f"{plan.vpc}-router", path)
            yield Name("NAT", f"{project}/{region}/{plan.vpc}-router", f"{plan.vpc}-nat", path)
    access: ProfilePath = ("network", "private_service_access", "name")
    yield Name("address range", project, plan.access_name, access, created=plan.access_created)
    for index, entry in enumerate(site.profile.network.firewall_rules):
        yield Name("firewall rule", project, entry.name, ("network", "firewall_rules", index, "name"))


def _fabric_names(site: Site) -> Iterator[Name]:
    for fabric in site.fabrics:
        project, regional = fabric.project, f"{fabric.project}/{site.region}"
        for network in fabric.networks:
            own = network.path[:2] != ("gpu", "zones")
            key = ("existing" if network.exists else "prefix",) if own else (f"{network.kind}_prefix",)
            path: ProfilePath = (*network.path, *key)
            yield Name("network", project, network.name, path, created=not network.exists)
            for subnetwork in network.subnetworks:
                yield Name("subnetwork", regional, subnetwork, path, created=not network.exists)
            if network.firewall and not network.exists:
                yield Name("firewall rule", project, network.firewall, path)


@rule("name-long")
def name_long(site: Site) -> Iterator[Problem]:
    """A name that groundplan derives is longer than its kind allows.

    What the profile names is checked as it is read; what follows from it (<network>-router, <lustre>-range ...) is
    checked here: networks, subnetworks, routers, firewall rules and address ranges 63, clusters and pools 40, service
    accounts 30.

    Source: Compute Engine, "Naming resources"; GKE and IAM API references.

    Mend: a shorter name where the finding points.
    """
    seen: set[ProfilePath] = set()
    for name in names_of(site):
        if name.created and len(name.text) > name.longest and name.path not in seen:
            seen.add(name.path)
            over = len(name.text) - name.longest
            yield Problem(
                name.path,
                f"the {name.kind} would be called {name.text}: {len(name.text)} characters, at most "
                f"{name.longest} are allowed",
                f"shorten the name by {over}",
            )


@rule("name-twice")
def name_twice(site: Site) -> Iterator[Problem]:
    """Two things of the site would have the same name.

    The second fails with "already exists" in the middle of an apply. Typical are two GPU pools of one machine type,
    which both get its name, and two prefixes set alike.

    Source: Google Cloud API design guide, "Errors" (409, ALREADY_EXISTS); Compute Engine documentation, "Naming
    resources".

    Mend: a name of its own for one of them.
    """
    first: dict[tuple[str, str, str], Name] = {}
    for name in names_of(site):
        key = (name.kind, name.scope, name.text)
        other = first.setdefault(key, name)
        if other is name or not (name.created or other.created) or name.path == other.path:
            continue
        if name.kind == "network":
            continue  # network-shared-by-nics says it better
        yield Problem(name.path, f"two {name.kind}s would be called {name.text}", "give one of them a name of its own")


@rule("secret-name-twice")
def secret_name_twice(site: Site) -> Iterator[Problem]:
    """A Secret that Terraform writes has the name of one that is there already.

    A `variable` becomes a Secret of a fixed name in the platform's namespace; an existing Secret of that name would be
    taken over, or the apply fails.

    Source: Kubernetes documentation, "Object Names and IDs": within a namespace one object of a kind has a name.

    Mend: another name for the existing Secret.
    """
    secrets = site.secrets
    made = {}
    for kind in SECRETS:
        reference = getattr(secrets, kind)
        if reference and reference.variable:
            made[secret_name(kind, reference)] = kind
    used = [(("secrets", kind, "secret"), getattr(secrets, kind)) for kind in SECRETS]
    existing: list[tuple[ProfilePath, str]] = [(path, ref.secret) for path, ref in used if ref and ref.secret]
    if secrets.image_pull:
        existing.append((("secrets", "image_pull"), secrets.image_pull))
    for path, text in existing:
        if text in made:
            yield Problem(
                path,
                f"the Secret named there is the one that Terraform writes for `secrets.{made[text]}`",
                "use an existing Secret of another name",
            )


@rule("secret-key-twice")
def secret_key_twice(site: Site) -> Iterator[Problem]:
    """Two tokens are read from the same key of the same Secret.

    One value cannot be a Hugging Face token and a W&B key: one of the two services refuses it, hours into a job.

    Source: groundplan's own limit: each service issues tokens of its own, and neither takes the other's.

    Mend: a key of its own for each, or another Secret.
    """
    hugging_face, wandb = site.secrets.hugging_face, site.secrets.wandb
    if not hugging_face or not wandb or not hugging_face.secret:
        return
    if (hugging_face.secret, hugging_face.key) == (wandb.secret, wandb.key):
        yield Problem(
            ("secrets", "wandb", "key" if "key" in wandb.model_fields_set else "secret"),
            "`secrets.hugging_face` and `secrets.wandb` name the same key of the same Secret",
            "give each a `key` of its own, or another Secret",
        )
