"""The platform stack: namespace, identity, storage claim, GPU networks, gIB installer, KubeRay operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cdktf import ITerraformDependable
from constructs import Construct

from groundplan.cluster.values import account_email
from groundplan.gpu import nvlink
from groundplan.gpu.transports import roce as gib
from groundplan.gpu.transports import tcpxo
from groundplan.platform.access_constructs import (
    ApiCheck,
    ExistingObject,
    Namespace,
    NamespaceProps,
    PodAccount,
    PodAccountProps,
    Secret,
    SecretProps,
)
from groundplan.platform.chart_constructs import (
    GibInstaller,
    GibInstallerProps,
    Operator,
    OperatorProps,
    PassThroughChart,
    PassThroughChartProps,
)
from groundplan.platform.constructs import LustreVolume, LustreVolumeProps
from groundplan.platform.kueue import KUEUE_REPOSITORY, counted_devices, kueue_objects, kueue_values
from groundplan.platform.objects import network_objects
from groundplan.platform.secrets import SECRETS, secret_name
from groundplan.site.releases import namespaces_of, roce_archs, site_releases
from groundplan.site.resolve import Site
from groundplan.site.stack import ClusterClientStack


class PlatformStack(ClusterClientStack):
    """Everything that changes when something inside the cluster gets a new version."""

    def __init__(self, scope: Construct, site: Site) -> None:
        super().__init__(scope, site, "platform")
        labels = {"app.kubernetes.io/managed-by": "groundplan", "app.kubernetes.io/part-of": site.name}
        releases = site_releases(site)
        api = ApiCheck(self, "api", namespaces=namespaces_of(site, "platform")).ready
        namespace = self._namespace(labels)
        after = namespace.ready
        self._pod_account(labels, after)
        for props in secret_props(site, labels):
            Secret(self, f"secret-{props.name}", props, depends_on=after)
        if site.lustre.is_used:
            LustreVolume(self, "lustre", lustre_volume_props(site, labels), depends_on=after)
        if site.nic_networks:
            nics = [nic for fabric in site.fabrics for nic in fabric.all_nics()]
            networks = PassThroughChartProps(
                release=releases["networks"].name, namespace=namespace.name, manifests=network_objects(nics)
            )
            PassThroughChart(self, "networks", networks, depends_on=[*api, *after])
        for arch in roce_archs(site):
            id_ = "gib" if arch == "amd64" else f"gib-{arch}"
            GibInstaller(self, id_, gib_props(site, arch), depends_on=api)
        if "tcpxo" in releases:
            # As gIB's installer: no waiting for the DaemonSets.
            objects = PassThroughChartProps(
                release=releases["tcpxo"].name,
                namespace=tcpxo.NAMESPACE,
                manifests=tcpxo.daemon_sets(),
                wait=False,
            )
            PassThroughChart(self, "tcpxo", objects, depends_on=api)
        if "nvlink" in releases:
            self._nvlink(api)
        Operator(self, "kuberay", kuberay_props(site), depends_on=api)
        if site.queue:
            operator = Operator(self, "kueue", kueue_props(site), depends_on=api)
            queue = PassThroughChartProps(
                release=releases["queue"].name, namespace=namespace.name, manifests=kueue_objects(site.queue)
            )
            # Once the operator is ready, which in Kueue 0.17.1 and 0.19.2 means that its webhooks serve with their
            # certificates. No sleep besides: should the API server's way to them open later still, the release is
            # rolled back whole, and the next apply makes it.
            PassThroughChart(self, "queue", queue, depends_on=[*api, operator.release, *after])

    def _nvlink(self, api: Sequence[ITerraformDependable]) -> None:
        """NVIDIA's DRA driver, once its pods may run there."""
        site, names = self.site, site_releases(self.site)
        pools = [pool for pool in site.pools if pool.nvlink_nodes]
        namespace = Namespace(self, "nvlink-namespace", NamespaceProps(name=nvlink.NAMESPACE))
        quota = PassThroughChartProps(
            release=names["nvlink-quota"].name,
            namespace=namespace.name,
            manifests=nvlink.quota(sum(pool.max_nodes for pool in pools)),
        )
        allowed = PassThroughChart(self, "nvlink-quota", quota, depends_on=[*api, *namespace.ready])
        driver = OperatorProps(
            name=names["nvlink"].name,
            namespace=namespace.name,
            repository=nvlink.repository(),
            chart=nvlink.CHART,
            version=nvlink.version(),
            values=nvlink.driver_values(
                sorted({pool.accelerator for pool in pools}),
                sorted({pool.machine.arch for pool in pools if pool.machine}),
            ),
        )
        Operator(self, "nvlink", driver, depends_on=[*api, allowed.release])

    def _namespace(self, labels: Mapping[str, str]) -> Namespace | ExistingObject:
        name = self.site.profile.platform.namespace
        if name == "default":
            return Namespace.existing(name=name)
        return Namespace(self, "namespace", NamespaceProps(name=name, labels=labels))

    def _pod_account(
        self, labels: Mapping[str, str], after: Sequence[ITerraformDependable]
    ) -> PodAccount | ExistingObject:
        spec = self.site.profile.platform
        if spec.service_account == "default":
            return PodAccount.existing(name=spec.service_account)
        email = account_email(self.site.cluster.workload_account, self.site.project)
        props = PodAccountProps(name=spec.service_account, namespace=spec.namespace, email=email, labels=labels)
        return PodAccount(self, "service-account", props, depends_on=after)


def secret_props(site: Site, labels: Mapping[str, str]) -> list[SecretProps]:
    """The Secrets whose value Terraform asks for; the profile's others are there already."""
    references = {kind: getattr(site.secrets, kind) for kind in SECRETS}
    return [
        SecretProps(
            name=secret_name(kind, reference),
            namespace=site.profile.platform.namespace,
            variable=kind,
            key=reference.key,
            revision=reference.revision,
            description=SECRETS[kind].description,
            labels=labels,
        )
        for kind, reference in references.items()
        if reference is not None and reference.variable
    ]


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


def gib_props(site: Site, arch: str = "amd64") -> GibInstallerProps:
    """gIB on the nodes of every accelerator in the catalog that has RDMA NICs, of one architecture."""
    end = "" if arch == "amd64" else f"-{arch}"
    return GibInstallerProps(
        release=site_releases(site)[f"gib{end}"].name,
        name=f"{gib.NAME}{end}",
        image=gib.installer_image(site.profile.platform.gib, arch),
        accelerators=tuple(gib.rdma_accelerators(site.catalog.machines.values(), arch)),
    )


def kuberay_props(site: Site) -> OperatorProps:
    """The KubeRay operator."""
    spec = site.profile.platform.kuberay
    return OperatorProps(
        name=site_releases(site)["kuberay"].name,
        namespace=spec.namespace,
        repository=site.catalog.kuberay_repository,
        chart="kuberay-operator",
        version=spec.version,
        values={
            "image": {"repository": "quay.io/kuberay/operator", "tag": f"v{spec.version}"},
            "env": [{"name": name, "value": value} for name, value in spec.environment.items()],
        },
    )


def kueue_props(site: Site) -> OperatorProps:
    """The Kueue operator."""
    spec = site.profile.platform.kueue
    return OperatorProps(
        name=site_releases(site)["kueue"].name,
        namespace=spec.namespace,
        repository=KUEUE_REPOSITORY,
        chart="kueue",
        version=spec.version,
        values=kueue_values(
            site.profile.cluster.cpu_pool.name,
            site.profile.platform.namespace,
            counted_devices(site.queue) if site.queue else {},
        ),
    )
