"""The platform stack: namespace, identity, storage claim, GPU networks, gIB installer, KubeRay operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdktf import TerraformVariable
from cdktf_cdktf_provider_kubernetes.namespace_v1 import NamespaceV1, NamespaceV1Metadata
from cdktf_cdktf_provider_kubernetes.secret_v1 import SecretV1, SecretV1Metadata
from cdktf_cdktf_provider_kubernetes.service_account_v1 import ServiceAccountV1, ServiceAccountV1Metadata
from constructs import Construct

from groundplan.cluster.values import account_email
from groundplan.platform import gib
from groundplan.platform.chart_constructs import (
    GibInstaller,
    GibInstallerProps,
    Operator,
    OperatorProps,
    PassThroughChart,
    PassThroughChartProps,
)
from groundplan.platform.constructs import LustreVolume, LustreVolumeProps
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
        LustreVolume(self, "lustre", lustre_volume_props(site, self._labels()), depends_on=self.after_namespace)
        networks = PassThroughChartProps(
            release=f"{site.name}-networks",
            namespace=self.namespace,
            manifests=network_objects(site.fabric.nics),
        )
        PassThroughChart(self, "networks", networks, depends_on=self.after_namespace)
        GibInstaller(self, "gib", gib_props(site))
        Operator(self, "kuberay", kuberay_props(site))
        if site.queue:
            operator = Operator(self, "kueue", kueue_props(site))
            queue = PassThroughChartProps(
                release=f"{site.name}-queue", namespace=self.namespace, manifests=kueue_objects(site.queue)
            )
            # Once the operator's CRDs and webhook serve: no second apply is needed.
            PassThroughChart(self, "queue", queue, depends_on=[operator.release, *self.after_namespace])

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


def lustre_volume_props(site: Site, labels: Mapping[str, str]) -> LustreVolumeProps:
    """The site's instance as the volume of its jobs."""
    own = site.lustre
    return LustreVolumeProps(
        lustre=own.reference,
        volume=own.volume,
        claim=own.claim,
        namespace=site.profile.platform.namespace,
        capacity_gib=own.capacity_gib,
        claim_gib=own.claim_gib,
        storage_class=own.storage_class,
        labels=labels,
    )


def gib_props(site: Site) -> GibInstallerProps:
    """gIB on the nodes of every accelerator in the catalog that has RDMA NICs."""
    return GibInstallerProps(
        release=f"{site.name}-gib",
        image=gib.installer_image(site.profile.platform.gib),
        accelerators=tuple(gib.rdma_accelerators(site.catalog.machines.values())),
    )


def kuberay_props(site: Site) -> OperatorProps:
    """The KubeRay operator."""
    spec = site.profile.platform.kuberay
    return OperatorProps(
        name="kuberay-operator",
        namespace=spec.namespace,
        repository=site.catalog.kuberay_repository,
        chart="kuberay-operator",
        version=spec.version,
        values={"image": {"repository": "quay.io/kuberay/operator", "tag": f"v{spec.version}"}},
    )


def kueue_props(site: Site) -> OperatorProps:
    """The Kueue operator."""
    spec = site.profile.platform.kueue
    return OperatorProps(
        name="kueue",
        namespace=spec.namespace,
        repository=KUEUE_REPOSITORY,
        chart="kueue",
        version=spec.version,
        values=kueue_values(site.profile.cluster.cpu_pool.name),
    )
