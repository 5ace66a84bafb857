"""A stand-in for `groundplan synth`: six small stacks shaped like what cdktf emits, with knobs for the tests."""

from __future__ import annotations

from typing import Any

Stack = dict[str, Any]
VERSIONS = {"google": "7.45.0", "kubernetes": "2.38.0", "helm": "3.1.1"}
SITE = "lab"
PROJECT = "lab-project"
APIS = ("compute", "container", "servicenetworking", "lustre", "iam")


def stack(name: str, providers: dict[str, Any], **sections: Any) -> Stack:
    return {
        "//": {"metadata": {"backend": "local", "stackName": name, "version": "0.21.0"}, "outputs": {}},
        "terraform": {
            "required_providers": {
                each: {"source": f"hashicorp/{each}", "version": VERSIONS[each]} for each in sorted(providers)
            },
            "backend": {"local": {"path": "terraform.tfstate"}},
        },
        "provider": {each: [body] for each, body in providers.items()},
        **sections,
    }


GOOGLE = {"project": PROJECT, "region": "us-central1"}
HOST = (
    "https://${data.google_container_cluster.cluster.control_plane_endpoints_config[0].dns_endpoint_config[0].endpoint}"
)
TOKEN = "${data.google_client_config.me.access_token}"
KUBERNETES = {"host": HOST, "token": TOKEN}
HELM = {"kubernetes": {"host": HOST, "token": TOKEN}}
CLUSTER_DATA = {
    "google_client_config": {"me": {}},
    "google_container_cluster": {"cluster": {"name": SITE, "location": "us-central1"}},
}
