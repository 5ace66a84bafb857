"""Who of a service project may use what stands in the host project of a Shared VPC, for any cdktf program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_google.compute_subnetwork_iam_member import ComputeSubnetworkIamMember
from constructs import Construct
from pydantic import Field
from pydantic.dataclasses import dataclass

from groundplan.kernel.constructs import Part
from groundplan.kernel.gke import NETWORK_USER
from groundplan.kernel.props import PROPS, Text


@dataclass(frozen=True, kw_only=True, config=PROPS)
class SubnetworkUsersProps:
    """Who may place interfaces in a subnetwork."""

    project: Text
    """Project of the subnetwork: the host project."""
    region: Text
    """Region of the subnetwork."""
    subnetwork: Text
    """The subnetwork, by name."""
    members: Annotated[Mapping[str, Text], Field(min_length=1)]
    """Key of the address -> member of IAM, such as ``serviceAccount:...``. Each may use it, and nothing else."""


class SubnetworkUsers(Part):
    """The role compute.networkUser on one subnetwork: ``google_compute_subnetwork_iam_member.<id>-<key>``.

    `depends_on` is what must be there first, such as the project's services.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: SubnetworkUsersProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        self.grants = {
            key: ComputeSubnetworkIamMember(
                scope,
                f"{id_}-{key}",
                project=props.project,
                region=props.region,
                subnetwork=props.subnetwork,
                role=NETWORK_USER,
                member=member,
                depends_on=list(depends_on) or None,
            )
            for key, member in props.members.items()
        }
        """The cdktf resources by key; pools should wait for them."""
