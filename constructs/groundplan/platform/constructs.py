"""A Lustre instance as a volume inside a cluster, for any cdktf program that has a Kubernetes provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Annotated, Self

from cdktf import Fn, ITerraformDependable, TerraformResourceLifecycle, TerraformStack
from cdktf_cdktf_provider_google.data_google_lustre_instance import DataGoogleLustreInstance
from cdktf_cdktf_provider_kubernetes import persistent_volume_claim_v1 as claim
from cdktf_cdktf_provider_kubernetes import persistent_volume_v1 as volume
from constructs import Construct
from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from groundplan.kernel.constructs import Part
from groundplan.kernel.props import PROPS, KubernetesLabels, KubernetesName, Text
from groundplan.platform.access_constructs import ExistingObject
from groundplan.storage.values import ExistingLustre


@dataclass(frozen=True, kw_only=True, config=PROPS)
class LustreVolumeProps:
    """A volume and a claim, bound to one another in advance."""

    lustre: ExistingLustre
    """The instance: ``LustreInstance.existing(...)``, or the `reference` of one of your own."""
    volume: KubernetesName
    """Name of the PersistentVolume, which is cluster-scoped."""
    claim: KubernetesName
    """Name of the PersistentVolumeClaim."""
    namespace: KubernetesName
    """Namespace of the claim."""
    capacity_gib: Annotated[int, Field(ge=1)]
    """Capacity of the instance in GiB."""
    claim_gib: Annotated[int, Field(ge=1)]
    """GiB that the claim requests, at most the capacity. A claim made in advance cannot be resized: ask for little, and
    the instance can grow; pods see the whole file system either way."""
    storage_class: Text
    """Class name that both share; it is never looked up."""
    labels: KubernetesLabels = field(default_factory=dict)
    """Labels of both. Default: none."""

    @model_validator(mode="after")
    def _claim_fits(self) -> Self:
        if self.claim_gib > self.capacity_gib:
            raise ValueError(f"claim_gib: {self.claim_gib} is not at most capacity_gib ({self.capacity_gib})")
        return self


class LustreVolume(Part):
    """The instance as a volume, bound in advance to its claim; only the servers' address comes from the cloud.

    ``data.google_lustre_instance.<id>``, ``kubernetes_persistent_volume_v1.<id>-volume``,
    ``kubernetes_persistent_volume_claim_v1.<id>-claim``, ``terraform_data.<id>-binding``. The claim waits for
    `depends_on`, such as its namespace.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: LustreVolumeProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        self.props = props
        lustre = props.lustre
        self.instance = DataGoogleLustreInstance(
            scope, id_, instance_id=lustre.name, zone=lustre.zone, project=lustre.project
        )
        filesystem = lustre.filesystem or self.instance.filesystem
        address = Fn.element(Fn.split("@", self.instance.mount_point), 0)
        # What makes another claim makes another volume: once its claim is gone, a retained volume is Released, and
        # binds to no other. A plain override, as for the shape of pools (gpu/constructs.py).
        binding = f"{id_}-binding"
        TerraformStack.of(self).add_override(
            f"resource.terraform_data.{binding}",
            {
                "triggers_replace": {
                    "claim": f"{props.namespace}/{props.claim}",
                    "claim_gib": props.claim_gib,
                    "storage_class": props.storage_class,
                }
            },
        )
        self.volume = volume.PersistentVolumeV1(
            scope,
            f"{id_}-volume",
            metadata=volume.PersistentVolumeV1Metadata(name=props.volume, labels=dict(props.labels) or None),
            spec=[
                volume.PersistentVolumeV1Spec(
                    storage_class_name=props.storage_class,
                    capacity={"storage": f"{props.capacity_gib}Gi"},
                    access_modes=["ReadWriteMany"],
                    volume_mode="Filesystem",
                    # The data stays with the instance, whatever happens to volume and claim.
                    persistent_volume_reclaim_policy="Retain",
                    claim_ref=volume.PersistentVolumeV1SpecClaimRef(name=props.claim, namespace=props.namespace),
                    persistent_volume_source=volume.PersistentVolumeV1SpecPersistentVolumeSource(
                        csi=volume.PersistentVolumeV1SpecPersistentVolumeSourceCsi(
                            driver="lustre.csi.storage.gke.io",
                            volume_handle=lustre.volume_handle,
                            volume_attributes={"ip": address, "filesystem": filesystem},
                        )
                    ),
                )
            ],
            lifecycle=TerraformResourceLifecycle(replace_triggered_by=[f"terraform_data.{binding}.id"]),
        )
        self.claim = claim.PersistentVolumeClaimV1(
            scope,
            f"{id_}-claim",
            metadata=claim.PersistentVolumeClaimV1Metadata(
                name=props.claim, namespace=props.namespace, labels=dict(props.labels) or None
            ),
            spec=claim.PersistentVolumeClaimV1Spec(
                storage_class_name=props.storage_class,
                volume_name=props.volume,
                access_modes=["ReadWriteMany"],
                resources=claim.PersistentVolumeClaimV1SpecResources(requests={"storage": f"{props.claim_gib}Gi"}),
            ),
            wait_until_bound=True,
            # A volume cannot go while its claim is there: what replaces the one (another instance, another zone) must
            # replace both.
            lifecycle=TerraformResourceLifecycle(
                replace_triggered_by=[f"kubernetes_persistent_volume_v1.{self.volume.friendly_unique_id}.id"]
            ),
            depends_on=[self.volume, *depends_on],
        )

    @property
    def ready(self) -> Sequence[ITerraformDependable]:
        """What pods that mount it must wait for."""
        return (self.claim,)

    @staticmethod
    def existing(*, claim: str) -> ExistingObject:
        """A claim that is there already, by its name; nothing is created."""
        return ExistingObject(name=claim)

    @property
    def name(self) -> str:
        """Name of the claim, as text."""
        return self.props.claim
