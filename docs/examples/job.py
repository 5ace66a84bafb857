"""A Ray job of our own in a cluster that is there already, with its namespace, service account and token.

Run as ``python docs/examples/job.py OUT``.
"""

import sys
from pathlib import Path

from cdktf import App, TerraformStack
from cdktf_cdktf_provider_helm.provider import HelmProvider
from cdktf_cdktf_provider_kubernetes.provider import KubernetesProvider

from groundplan.cluster.account_constructs import WorkloadAccount
from groundplan.platform.access_constructs import (
    ApiCheck,
    Namespace,
    NamespaceProps,
    PodAccount,
    PodAccountProps,
    Secret,
    SecretProps,
)
from groundplan.workload.constructs import RayJobChart, RayJobChartProps

out = Path(sys.argv[1])
app = App(outdir=str(out))
stack = TerraformStack(app, "job")
KubernetesProvider(stack, "kubernetes", config_path="~/.kube/config")
HelmProvider(stack, "helm", kubernetes={"config_path": "~/.kube/config"})

api = ApiCheck(stack, "api", namespaces=["training"])
google = WorkloadAccount.existing(email="trainer@our-project.iam.gserviceaccount.com")
namespace = Namespace(stack, "namespace", NamespaceProps(name="training"))
account = PodAccount(
    stack,
    "account",
    PodAccountProps(name="trainer", namespace=namespace.name, email=google.email),
    depends_on=namespace.ready,
)
token = Secret(
    stack,
    "token",
    SecretProps(name="hub-token", namespace=namespace.name, variable="hub_token", description="Read token of the hub"),
    depends_on=namespace.ready,
)
container = {
    "name": "ray-head",
    "image": "rayproject/ray:2.52.0",
    "env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": token.name, "key": token.key}}}],
}
job = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "metadata": {"name": "hello-1"},
    "spec": {
        "entrypoint": "python -c 'import ray; ray.init(); print(ray.cluster_resources())'",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": {
            "headGroupSpec": {
                "rayStartParams": {},
                "template": {"spec": {"serviceAccountName": account.name, "containers": [container]}},
            }
        },
    },
}
RayJobChart(
    stack,
    "job",
    RayJobChartProps(release="hello", namespace=namespace.name, objects=[job]),
    depends_on=[*api.ready, *account.ready, *token.ready],
)
app.synth()
