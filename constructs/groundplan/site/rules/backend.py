"""Where Terraform keeps its states."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, rule
from groundplan.site.resolve import Site


@rule("backend-local-prod")
def backend_local_prod(site: Site) -> Iterator[Problem]:
    """A prod site keeps its states in local files.

    A state on one machine is lost with it, is not locked, and nobody else can apply or destroy the site.

    Source: Terraform documentation, "Backends".

    Mend: `backend: {gcs: {bucket: NAME}}` or `backend: {cloud: {organization: NAME}}`.
    """
    if site.profile.environment == "prod" and site.profile.backend.local is not None:
        yield Problem(
            ("backend",),
            "a prod site has no shared backend: its states would be files on one machine",
            "set `backend: {gcs: {bucket: NAME}}` or `backend: {cloud: {organization: NAME}}`",
        )


@rule("backend-own-bucket")
def backend_own_bucket(site: Site) -> Iterator[Problem]:
    """The states are kept in a bucket that the site itself makes.

    The bucket is not there when the first stack is initialised, and destroying the site would destroy the states that
    say what to destroy.

    Source: Terraform documentation, "Backend Type: gcs": the bucket must exist before the backend is configured.

    Mend: a bucket that was made apart, with versioning.
    """
    gcs = site.profile.backend.gcs
    if gcs and any(bucket.name == gcs.bucket for bucket in site.profile.storage.buckets):
        yield Problem(
            ("backend", "gcs", "bucket"),
            f"the states are kept in {gcs.bucket}, which this site makes and destroys itself",
            "use a bucket that is made apart",
        )
