"""The stacks of the stand-in that work inside the cluster."""

from __future__ import annotations

import json
from typing import Any

from rehearsal.standin_base import CLUSTER_DATA, GOOGLE, HELM, KUBERNETES, PROJECT, SITE, Stack, stack


def network_object() -> dict[str, Any]:
    return {
        "apiVersion": "networking.gke.io/v1",
        "kind": "GKENetworkParamSet",
        "metadata": {"name": "rdma-0"},
        "spec": {"vpc": f"{SITE}-roce", "vpcSubnet": f"{SITE}-roce-0", "deviceMode": "RDMA"},
    }


def release(name: str, manifests: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": "rl",
        "chart": "${path.module}/../../charts/passthrough",
        "values": [json.dumps({"manifests": manifests})],
        **more,
    }


def platform() -> Stack:
    meta = {"namespace": "${kubernetes_namespace_v1.rl.metadata[0].name}"}
    return stack(
        "lab-platform",
        {"google": GOOGLE, "kubernetes": KUBERNETES, "helm": HELM},
        variable={"hub_token": {"type": "string", "ephemeral": True, "sensitive": True}},
        data={
            **CLUSTER_DATA,
            "google_lustre_instance": {"lustre": {"instance_id": SITE, "location": "us-central1-a"}},
        },
        resource={
            "kubernetes_namespace_v1": {"rl": {"metadata": {"name": "rl"}}},
            "kubernetes_service_account_v1": {"trainer": {"metadata": {"name": "trainer", **meta}}},
            "kubernetes_resource_quota_v1": {
                "quota": {"metadata": {"name": "quota", **meta}, "spec": {"hard": {"requests.nvidia.com/gpu": "16"}}}
            },
            "kubernetes_priority_class_v1": {"high": {"metadata": {"name": "high"}, "value": 1000}},
            "kubernetes_config_map_v1": {"settings": {"metadata": {"name": "settings", **meta}, "data": {"a": "1"}}},
            "kubernetes_secret_v1": {
                "hub": {
                    "metadata": {"name": "hub", **meta},
                    "data_wo": {"token": "${var.hub_token}"},
                    "data_wo_revision": 1,
                }
            },
            "kubernetes_persistent_volume_v1": {
                "lustre": {
                    "metadata": {"name": "lustre"},
                    "spec": {
                        "access_modes": ["ReadWriteMany"],
                        "capacity": {"storage": "18000Gi"},
                        "storage_class_name": "",
                        "persistent_volume_source": {
                            "csi": {
                                "driver": "lustre.csi.storage.gke.io",
                                "volume_handle": f"{PROJECT}/us-central1-a/{SITE}",
                                "volume_attributes": {
                                    "ip": '${split("@", data.google_lustre_instance.lustre.mount_point)[0]}',
                                    "filesystem": "lustrefs",
                                },
                            }
                        },
                    },
                }
            },
            "kubernetes_persistent_volume_claim_v1": {
                "lustre": {
                    "metadata": {"name": "lustre", **meta},
                    "spec": {
                        "access_modes": ["ReadWriteMany"],
                        "storage_class_name": "",
                        "volume_name": "${kubernetes_persistent_volume_v1.lustre.metadata[0].name}",
                        "resources": {"requests": {"storage": "18000Gi"}},
                    },
                }
            },
            "kubernetes_daemon_set_v1": {
                "nccl": {
                    "metadata": {"name": "nccl", "namespace": "kube-system"},
                    "spec": {
                        "selector": {"match_labels": {"app": "nccl"}},
                        "template": {
                            "metadata": {"labels": {"app": "nccl"}},
                            "spec": {"container": [{"name": "installer", "image": "installer:1"}]},
                        },
                    },
                }
            },
            "helm_release": {
                "networks": release("networks", [network_object()], depends_on=["kubernetes_namespace_v1.rl"]),
                "kuberay": {
                    "name": "kuberay-operator",
                    "namespace": "kuberay",
                    "create_namespace": True,
                    "repository": "https://ray-project.github.io/kuberay-helm",
                    "chart": "kuberay-operator",
                    "version": "1.6.1",
                },
            },
        },
    )


def workload(steps: int = 10) -> Stack:
    job = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "grpo"},
        "spec": {"entrypoint": f"run --steps {steps}"},
    }
    return stack(
        "lab-workload",
        {"google": GOOGLE, "kubernetes": KUBERNETES, "helm": HELM},
        data=CLUSTER_DATA,
        resource={
            "kubernetes_config_map_v1": {
                "script": {"metadata": {"name": "script", "namespace": "rl"}, "data": {"run.sh": "true"}}
            },
            "helm_release": {"job": release("grpo", [job], depends_on=["kubernetes_config_map_v1.script"])},
        },
    )
