"""What the six stacks share: backend, pinned providers and outputs.

Stack modules import cdktf; load it through :func:`groundplan.emit.modules.load` first, which takes a second
instead of sixteen; a program that does not just waits longer. They can be
used on their own from any cdktf program: ``NetworkStack(app, resolve(profile))``.
"""

from __future__ import annotations

from cdktf import CloudBackend, GcsBackend, LocalBackend, NamedCloudWorkspace, TerraformDataSource, TerraformStack
from cdktf_cdktf_provider_google.provider import GoogleProvider
from cdktf_cdktf_provider_helm.provider import HelmProvider, HelmProviderKubernetes
from cdktf_cdktf_provider_kubernetes.provider import KubernetesProvider
from constructs import Construct

from groundplan.catalog.newer import pinned_versions
from groundplan.site.backend import BackendSpec
from groundplan.site.outputs import outputs_of
from groundplan.site.resolve import Site
from groundplan.site.stacks import ENTRIES

#: Write-only arguments and ephemeral variables need Terraform 1.11 (or OpenTofu 1.11).
REQUIRED_TERRAFORM = ">= 1.11.0"


class SiteStack(TerraformStack):
    """A stack of a site: named ``<site>-<kind>``, with its backend and the Google provider."""

    def __init__(self, scope: Construct, site: Site, kind: str) -> None:
        super().__init__(scope, site.stack_name(kind))
        self.site = site
        # Full sources, because OpenTofu takes no short ones (opentofu#2402). The versions override the bindings': they
        # are those that the catalog's facts were read from and the tests run.
        versions = pinned_versions()
        sources = {
            provider: {"source": f"hashicorp/{provider}", "version": versions[provider]}
            for provider in ENTRIES[kind].providers
        }
        self.add_override("terraform", {"required_version": REQUIRED_TERRAFORM, "required_providers": sources})
        _backend(self, site.profile.backend, site.stack_name(kind), site.name)
        # One override for all of them: each output as a construct would be one more message to Node.
        outputs = {
            name: {"value": each.value, "description": each.description}
            for name, each in sorted(outputs_of(site, kind).items())
        }
        self.add_override("output", outputs)
        self.google = GoogleProvider(self, "google", project=site.project, region=site.region)


class ClusterClientStack(SiteStack):
    """A stack that works inside the cluster: its providers are configured from data sources alone.

    So a plan needs no other stack's state, and the cluster is never in the same stack as what runs on it
    (terraform-provider-kubernetes#1391).
    """

    def __init__(self, scope: Construct, site: Site, kind: str) -> None:
        super().__init__(scope, site, kind)
        # The generated class would bring all of the cluster's structs for these three arguments: 40 ms of every synth.
        cluster = TerraformDataSource(self, "cluster", terraform_resource_type="google_container_cluster")
        for argument, value in (("name", site.cluster.name), ("location", site.region), ("project", site.project)):
            cluster.add_override(argument, value)
        attribute = "${data.google_container_cluster.cluster.%s}"
        # Ephemeral: the caller's token stands in no plan and no state, and a saved plan does not die with it after an
        # hour. The bindings know no ephemeral resources, so this is a plain override.
        self.add_override("ephemeral", {"google_client_config": {"caller": {}}})
        token = "${ephemeral.google_client_config.caller.access_token}"
        if site.profile.cluster.control_plane.dns_endpoint:
            # The DNS endpoint's certificate is signed by a public authority: no cluster certificate to pass.
            endpoint = attribute % "control_plane_endpoints_config[0].dns_endpoint_config[0].endpoint"
            certificate = None
        else:
            endpoint = attribute % "endpoint"
            certificate = "${base64decode(data.google_container_cluster.cluster.master_auth[0].cluster_ca_certificate)}"
        host = f"https://{endpoint}"
        KubernetesProvider(self, "kubernetes", host=host, token=token, cluster_ca_certificate=certificate)
        HelmProvider(
            self,
            "helm",
            kubernetes=HelmProviderKubernetes(host=host, token=token, cluster_ca_certificate=certificate),
        )


def _backend(stack: TerraformStack, spec: BackendSpec, name: str, site: str) -> None:
    if spec.gcs:
        prefix = spec.gcs.prefix or f"groundplan/{site}"
        GcsBackend(stack, bucket=spec.gcs.bucket, prefix=f"{prefix.rstrip('/')}/{name}")
    elif spec.cloud:
        CloudBackend(
            stack,
            organization=spec.cloud.organization,
            hostname=spec.cloud.hostname,
            workspaces=NamedCloudWorkspace(name, spec.cloud.project),
        )
    else:
        # Beside the output folder, where cdktf keeps local states too. Left alone, it would write an absolute path.
        LocalBackend(stack, path=f"../../../terraform.{name}.tfstate")
