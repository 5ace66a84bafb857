"""The ``backend`` section: where Terraform keeps the six states."""

from __future__ import annotations

from typing import Annotated

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from groundplan.kernel.fields import BucketName, Matching, Section

WorkspaceWord = Annotated[str, Matching(r"[A-Za-z0-9][-_A-Za-z0-9]{0,39}", "1 to 40 letters, digits, - and _")]


class LocalBackend(Section):
    """State in a file beside each stack: for trials on one machine."""


class GcsBackend(Section):
    """State in a Cloud Storage bucket, one prefix a stack."""

    bucket: BucketName
    """Name of the bucket (versioned, and not made by this site)."""
    prefix: Annotated[str, Matching(r"[A-Za-z0-9][-_./A-Za-z0-9]{0,199}", "a path without a leading slash")] | None = (
        None
    )
    """Prefix of the states; the stack's name is added. Default: groundplan/<site>."""


class CloudBackend(Section):
    """Terraform Cloud (HCP Terraform): one workspace a stack."""

    organization: WorkspaceWord
    """Organization."""
    project: Annotated[str, Matching(r"[-_ A-Za-z0-9]{3,40}", "3 to 40 letters, digits, spaces, - and _")] | None = None
    """Project that new workspaces are made in. Default: the organization's default project."""
    hostname: Annotated[str, Matching(r"[a-z0-9][-.a-z0-9]*[a-z0-9]", "a host name")] | None = None
    """Host of Terraform Enterprise. Default: Terraform Cloud."""


class BackendSpec(Section):
    """Exactly one backend."""

    local: LocalBackend | None = None
    """State in a file beside each stack."""
    gcs: GcsBackend | None = None
    """State in a Cloud Storage bucket."""
    cloud: CloudBackend | None = None
    """Terraform Cloud workspaces."""

    @model_validator(mode="after")
    def _one(self) -> BackendSpec:
        if sum(choice is not None for choice in (self.local, self.gcs, self.cloud)) != 1:
            limit = "must have exactly one of `local`, `gcs` and `cloud`"
            raise PydanticCustomError("limit", "{limit}", {"limit": limit})
        return self
