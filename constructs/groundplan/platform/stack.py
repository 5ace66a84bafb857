"""The platform stack: namespace, identity, storage claim, GPU networks, gIB installer, KubeRay operator."""

from __future__ import annotations

from typing import Any

from cdktf import Fn, TerraformResourceLifecycle, TerraformVariable
from cdktf_cdktf_provider_google.data_google_lustre_instance import DataGoogleLustreInstance
from cdktf_cdktf_provider_helm.release import Release
from cdktf_cdktf_provider_kubernetes import persistent_volume_claim_v1 as claim
from cdktf_cdktf_provider_kubernetes import persistent_volume_v1 as volume
from cdktf_cdktf_provider_kubernetes.namespace_v1 import NamespaceV1, NamespaceV1Metadata
from cdktf_cdktf_provider_kubernetes.secret_v1 import SecretV1, SecretV1Metadata
from cdktf_cdktf_provider_kubernetes.service_account_v1 import ServiceAccountV1, ServiceAccountV1Metadata
from constructs import Construct

from groundplan.cluster.values import account_email
from groundplan.kernel.yaml_text import to_yaml
from groundplan.platform import gib
from groundplan.platform.kueue import KUEUE_REPOSITORY, kueue_objects, kueue_values
from groundplan.platform.objects import network_objects
from groundplan.platform.secrets import SECRETS, secret_name
from groundplan.site.resolve import Site
from groundplan.site.stack import ClusterClientStack


class PlatformStack(ClusterClientStack):
    """Everything that changes when something inside the cluster gets a new version."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "platform")
        self.namespace = site.profile.platform.namespace
        #: Empty for the namespace `default`, which is there already.
        self.after_namespace: list[Any] = []
        self._namespace()
        self._service_account()
        self._secrets()
        self._lustre()
        self.pass_through(
            "networks",
            release=f"{site.name}-networks",
            namespace=self.namespace,
            manifests=network_objects(site),
            depends_on=self.after_namespace or None,
        )
        self.pass_through(
            "gib",
            release=f"{site.name}-gib",
            namespace=gib.NAMESPACE,
            manifests={"daemonset": gib.daemon_set(site)},
            # Its pods come with the GPU nodes, which an autoscaled pool may have none of.
            wait=False,
        )
        self._kuberay()
        if site.profile.platform.kueue.enabled:
            self._kueue()

    def _labels(self) -> dict[str, str]:
        return {"app.kubernetes.io/managed-by": "groundplan", "app.kubernetes.io/part-of": self.site.name}

    def _namespace(self) -> None:
        if self.namespace == "default":
            return
        # Training pods mount host paths for the driver and gIB, which no stricter Pod Security level admits.
        labels = {**self._labels(), "pod-security.kubernetes.io/enforce": "privileged"}
        metadata = NamespaceV1Metadata(name=self.namespace, labels=labels)
        self.after_namespace = [NamespaceV1(self, "namespace", metadata=metadata)]

    def _service_account(self) -> None:
        name = self.site.profile.platform.service_account
        if name == "default":
            return
        email = account_email(self.site.cluster.workload_account, self.site.project)
        ServiceAccountV1(
            self,
            "service-account",
            metadata=ServiceAccountV1Metadata(
                name=name,
                namespace=self.namespace,
                labels=self._labels(),
                annotations={"iam.gke.io/gcp-service-account": email},
            ),
            depends_on=self.after_namespace or None,
        )

    def _secrets(self) -> None:
        """Secrets whose value Terraform asks for: an ephemeral variable into a write-only argument, so that it stands
        in no plan and no state."""
        for kind in SECRETS:
            reference = getattr(self.site.secrets, kind)
            if reference is None or not reference.variable:
                continue
            name = secret_name(kind, reference)
            variable = TerraformVariable(
                self, kind, type="string", sensitive=True, nullable=False, description=SECRETS[kind].description
            )
            variable.add_override("ephemeral", True)
            SecretV1(
                self,
                f"secret-{name}",
                metadata=SecretV1Metadata(name=name, namespace=self.namespace, labels=self._labels()),
                type="Opaque",
                data_wo={reference.key: variable.string_value},
                data_wo_revision=reference.revision,
                depends_on=self.after_namespace or None,
            )

    def _lustre(self) -> None:
        """The instance as a volume, bound in advance to its claim; only the servers' address comes from the cloud."""
        site, plan = self.site, self.site.lustre
        instance = DataGoogleLustreInstance(self, "lustre", instance_id=plan.name, zone=plan.zone, project=site.project)
        address = Fn.element(Fn.split("@", instance.mount_point), 0)
        bound = volume.PersistentVolumeV1(
            self,
            "lustre-volume",
            metadata=volume.PersistentVolumeV1Metadata(name=plan.volume, labels=self._labels()),
            spec=[
                volume.PersistentVolumeV1Spec(
                    storage_class_name=plan.storage_class,
                    capacity={"storage": f"{plan.capacity_gib}Gi"},
                    access_modes=["ReadWriteMany"],
                    volume_mode="Filesystem",
                    # The data stays with the instance, whatever happens to volume and claim.
                    persistent_volume_reclaim_policy="Retain",
                    claim_ref=volume.PersistentVolumeV1SpecClaimRef(name=plan.claim, namespace=self.namespace),
                    persistent_volume_source=volume.PersistentVolumeV1SpecPersistentVolumeSource(
                        csi=volume.PersistentVolumeV1SpecPersistentVolumeSourceCsi(
                            driver="lustre.csi.storage.gke.io",
                            volume_handle=plan.volume_handle,
                            volume_attributes={"ip": address, "filesystem": plan.filesystem},
                        )
                    ),
                )
            ],
        )
        claim.PersistentVolumeClaimV1(
            self,
            "lustre-claim",
            metadata=claim.PersistentVolumeClaimV1Metadata(
                name=plan.claim, namespace=self.namespace, labels=self._labels()
            ),
            spec=claim.PersistentVolumeClaimV1Spec(
                storage_class_name=plan.storage_class,
                volume_name=plan.volume,
                access_modes=["ReadWriteMany"],
                resources=claim.PersistentVolumeClaimV1SpecResources(requests={"storage": f"{plan.claim_gib}Gi"}),
            ),
            wait_until_bound=True,
            # A volume cannot go while its claim is there: what replaces the one (another instance, another zone) must
            # replace both.
            lifecycle=TerraformResourceLifecycle(
                replace_triggered_by=["kubernetes_persistent_volume_v1.lustre-volume.id"]
            ),
            depends_on=[bound, *self.after_namespace],
        )

    def _kuberay(self) -> None:
        site, spec = self.site, self.site.profile.platform.kuberay
        image = {"repository": "quay.io/kuberay/operator", "tag": f"v{spec.version}"}
        Release(
            self,
            "kuberay",
            name="kuberay-operator",
            namespace=spec.namespace,
            create_namespace=True,
            repository=site.catalog.kuberay_repository,
            chart="kuberay-operator",
            version=spec.version,
            values=[to_yaml({"image": image})],
            atomic=True,
            wait=True,
            timeout=900,
            max_history=5,
        )

    def _kueue(self) -> None:
        """The operator, and the queue's objects once its CRDs and webhook serve: no second apply is needed."""
        site, spec = self.site, self.site.profile.platform.kueue
        operator = Release(
            self,
            "kueue",
            name="kueue",
            namespace=spec.namespace,
            create_namespace=True,
            repository=KUEUE_REPOSITORY,
            chart="kueue",
            version=spec.version,
            values=[to_yaml(kueue_values(site))],
            atomic=True,
            wait=True,
            timeout=900,
            max_history=5,
        )
        self.pass_through(
            "queue",
            release=f"{site.name}-queue",
            namespace=self.namespace,
            manifests=kueue_objects(site),
            depends_on=[operator, *self.after_namespace],
        )
