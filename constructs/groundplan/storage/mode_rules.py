"""What can be wrong with the choice of a file system: a new Lustre, an existing one, none."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity, rule
from groundplan.nemo_rl.config_rules import nearest
from groundplan.site.resolve import Site

_LUSTRE: ProfilePath = ("storage", "lustre")
_JOBS: ProfilePath = ("storage", "jobs")
#: Mode -> the keys that say something in it.
_KEYS = {"existing": {"mode", "name", "project", "zone", "legacy_port", "claim", "mount_path"}, "none": {"mode"}}


@rule("lustre-mode", Severity.WARNING)
def lustre_mode(site: Site) -> Iterator[Problem]:
    """A key says something about an instance that the site does not make.

    Source: groundplan's own layout, docs/building-blocks.md: of an existing instance the volume alone is made, and none
    has nothing.

    Mend: leave the key out, or use `mode: new`.
    """
    given = site.profile.storage.lustre.model_fields_set
    if site.lustre.is_made:
        if "project" in given:
            message = "`storage.lustre.project` has no effect: a new instance stands in the site's project"
            yield Problem((*_LUSTRE, "project"), message, "leave it out, or set `mode: existing`")
        return
    for key in sorted(given - _KEYS[site.lustre.mode]):
        message = f"`storage.lustre.{key}` has no effect with mode {site.lustre.mode}"
        yield Problem((*_LUSTRE, key), message, "leave it out, or set `mode: new`")


@rule("lustre-existing")
def lustre_existing(site: Site) -> Iterator[Problem]:
    """An existing Lustre instance is named, and stands in the network that the cluster is in.

    Pods reach an instance in the cluster's VPC alone. A VPC that this site makes cannot hold an instance that is there
    before it. What the profile cannot know, Terraform looks at: a plan fails where the instance stands in another
    network, or has another port.

    Source: Managed Lustre documentation, "Create a Managed Lustre instance" (the network is fixed when it is made);
    GoogleCloudPlatform/lustre-csi-driver#104.

    Mend: give `name`, and `network.primary.existing`; or use `mode: new`.
    """
    if site.lustre.mode != "existing":
        return
    if site.profile.storage.lustre.name is None:
        message = "`storage.lustre.mode` is existing, and nothing says which instance"
        yield Problem(
            (*_LUSTRE, "name"), message, "add `name:` with its id, as `gcloud lustre instances list` shows it"
        )
    if not site.network.exists:
        message = (
            f"the Lustre instance {site.lustre.name} is there already, and the network {site.network.vpc} is not: pods "
            "reach an instance in the cluster's own VPC alone"
        )
        yield Problem((*_LUSTRE, "mode"), message, "set `network.primary.existing` to the VPC of the instance")


@rule("jobs-folder")
def jobs_folder(site: Site) -> Iterator[Problem]:
    """The jobs' folders lie in one place: on Lustre, in a mounted bucket of the site, or on a claim of the user's.

    On a pod's own disk they would go with it, and each node would have its own.

    Source: NVIDIA-NeMo/RL, docs/design-docs/checkpointing.md and docs/cluster.md (a file system that all nodes share).

    Mend: `storage.jobs` without Lustre, none with it.
    """
    jobs = site.profile.storage.jobs
    if site.lustre.is_used:
        if jobs is not None:
            message = f"`storage.jobs` and Lustre (mode {site.lustre.mode}) are two places for the jobs' folders"
            hint = "leave one out: `storage.lustre: none`, or no `storage.jobs`"
            yield Problem(_JOBS, message, hint)
        return
    if jobs is None:
        if site.has_job:
            message = "`storage.lustre` is none, and nothing else holds the job's folders"
            yield Problem((*_LUSTRE, "mode"), message, "add `storage.jobs` with `bucket: NAME` or `claim: NAME`")
        return
    if jobs.bucket is None:
        return
    found = next((bucket for bucket in site.buckets if bucket.name == jobs.bucket), None)
    at = (*_JOBS, "bucket")
    if found is None:
        names = [bucket.name for bucket in site.buckets]
        hint = nearest(jobs.bucket, names) if names else f"add `buckets: [{{name: {jobs.bucket}}}]`"
        yield Problem(at, f"`storage.jobs.bucket` {jobs.bucket} is none of `storage.buckets`", hint)
    elif found.spec.read_only:
        yield Problem(at, f"`storage.jobs.bucket` {jobs.bucket} is mounted for reading alone", "leave `read_only` out")
    elif found.spec.mount and found.spec.mount != jobs.mount_path:
        message = (
            f"the bucket {jobs.bucket} is mounted at {jobs.mount_path}, and its own `mount` says {found.spec.mount}"
        )
        yield Problem((*_JOBS, "mount_path"), message, "leave `mount` of the bucket out")
