"""A stand-in for `groundplan synth`: six small stacks shaped like what cdktf emits, with knobs for the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rehearsal.standin_base import (
    APIS,
    GOOGLE,
    PROJECT,
    SITE,
    Stack,
    stack,
)
from rehearsal.standin_in_cluster import network_object, platform, release, workload

__all__ = [
    "PROJECT",
    "SITE",
    "Stack",
    "cluster",
    "gpu",
    "network",
    "network_object",
    "platform",
    "release",
    "site",
    "stack",
    "storage",
    "workload",
    "write",
]


def network() -> Stack:
    services = {
        api: {"service": f"{api}.googleapis.com", "project": PROJECT, "disable_on_destroy": False} for api in APIS
    }
    return stack(
        "lab-network",
        {"google": GOOGLE},
        resource={
            "google_project_service": services,
            "google_compute_network": {
                "vpc": {
                    "name": SITE,
                    "auto_create_subnetworks": False,
                    "depends_on": ["google_project_service.compute"],
                }
            },
            "google_compute_subnetwork": {
                "primary": {
                    "name": SITE,
                    "region": "us-central1",
                    "network": "${google_compute_network.vpc.id}",
                    "ip_cidr_range": "10.0.0.0/20",
                    "private_ip_google_access": True,
                    "secondary_ip_range": [
                        {"range_name": "pods", "ip_cidr_range": "10.4.0.0/14"},
                        {"range_name": "services", "ip_cidr_range": "10.8.0.0/20"},
                    ],
                }
            },
            "google_compute_firewall": {
                "internal": {
                    "name": f"{SITE}-internal",
                    "network": "${google_compute_network.vpc.id}",
                    "direction": "INGRESS",
                    "source_ranges": ["10.0.0.0/20"],
                    "allow": [{"protocol": "tcp", "ports": ["988", "6988"]}, {"protocol": "icmp"}],
                }
            },
            "google_compute_router": {"router": {"name": SITE, "network": "${google_compute_network.vpc.id}"}},
            "google_compute_router_nat": {
                "nat": {
                    "name": SITE,
                    "router": "${google_compute_router.router.name}",
                    "region": "${google_compute_router.router.region}",
                    "nat_ip_allocate_option": "AUTO_ONLY",
                    "source_subnetwork_ip_ranges_to_nat": "ALL_SUBNETWORKS_ALL_IP_RANGES",
                }
            },
            "google_compute_global_address": {
                "services": {
                    "name": f"{SITE}-services",
                    "purpose": "VPC_PEERING",
                    "address_type": "INTERNAL",
                    "prefix_length": 20,
                    "network": "${google_compute_network.vpc.id}",
                }
            },
            "google_service_networking_connection": {
                "services": {
                    "network": "${google_compute_network.vpc.id}",
                    "service": "servicenetworking.googleapis.com",
                    "reserved_peering_ranges": ["${google_compute_global_address.services.name}"],
                    "depends_on": ["google_project_service.servicenetworking"],
                }
            },
        },
    )


def storage(capacity: int = 18000, throughput: str = "1000") -> Stack:
    return stack(
        "lab-storage",
        {"google": GOOGLE},
        resource={
            "google_lustre_instance": {
                "lustre": {
                    "instance_id": SITE,
                    "location": "us-central1-a",
                    "filesystem": "lustrefs",
                    "network": f"projects/{PROJECT}/global/networks/{SITE}",
                    "capacity_gib": str(capacity),
                    "per_unit_storage_throughput": throughput,
                    "gke_support_enabled": False,
                    "labels": {"site": SITE},
                }
            },
            "google_storage_bucket": {
                "checkpoints": {
                    "name": f"{SITE}-checkpoints",
                    "location": "US-CENTRAL1",
                    "uniform_bucket_level_access": True,
                    "lifecycle": {"prevent_destroy": True},
                }
            },
        },
        output={"mount_point": {"value": "${google_lustre_instance.lustre.mount_point}"}},
    )


def cluster(maintenance_start: str = "2026-01-01T02:00:00Z", protection: bool = True) -> Stack:
    return stack(
        "lab-cluster",
        {"google": GOOGLE},
        resource={
            "google_service_account": {
                "nodes": {"account_id": "lab-nodes", "display_name": "nodes of lab"},
                "workload": {"account_id": "lab-workload"},
            },
            "google_project_iam_member": {
                "logs": {
                    "project": PROJECT,
                    "role": "roles/logging.logWriter",
                    "member": "${google_service_account.nodes.member}",
                }
            },
            "google_container_cluster": {
                "cluster": {
                    "name": SITE,
                    "location": "us-central1",
                    "network": SITE,
                    "subnetwork": SITE,
                    "initial_node_count": 1,
                    "remove_default_node_pool": True,
                    "deletion_protection": protection,
                    "enable_multi_networking": True,
                    "datapath_provider": "ADVANCED_DATAPATH",
                    "networking_mode": "VPC_NATIVE",
                    "ip_allocation_policy": {
                        "cluster_secondary_range_name": "pods",
                        "services_secondary_range_name": "services",
                    },
                    "workload_identity_config": {"workload_pool": f"{PROJECT}.svc.id.goog"},
                    "control_plane_endpoints_config": {"dns_endpoint_config": {"allow_external_traffic": True}},
                    "addons_config": {"lustre_csi_driver_config": {"enabled": True}},
                    "maintenance_policy": {
                        "recurring_window": {
                            "start_time": maintenance_start,
                            "end_time": "2026-01-01T08:00:00Z",
                            "recurrence": "FREQ=WEEKLY;BYDAY=SA",
                        }
                    },
                }
            },
            "google_container_node_pool": {
                "cpu": {
                    "name": "cpu",
                    "cluster": "${google_container_cluster.cluster.id}",
                    "node_count": 1,
                    "node_config": {
                        "machine_type": "n2-highmem-16",
                        "service_account": "${google_service_account.nodes.email}",
                        "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
                    },
                }
            },
            "google_service_account_iam_member": {
                "identity": {
                    "service_account_id": "${google_service_account.workload.name}",
                    "role": "roles/iam.workloadIdentityUser",
                    "member": f"serviceAccount:{PROJECT}.svc.id.goog[rl/trainer]",
                    "depends_on": ["google_container_cluster.cluster"],
                }
            },
            "google_storage_bucket_iam_member": {
                "workload": {
                    "bucket": f"{SITE}-checkpoints",
                    "role": "roles/storage.objectUser",
                    "member": "${google_service_account.workload.member}",
                }
            },
            "google_secret_manager_secret_iam_member": {
                "token": {
                    "secret_id": f"projects/{PROJECT}/secrets/hub-token",
                    "role": "roles/secretmanager.secretAccessor",
                    "member": "${google_service_account.workload.member}",
                    "depends_on": ["google_project_service.secrets"],
                }
            },
            "google_project_service": {
                "secrets": {"service": "secretmanager.googleapis.com", "disable_on_destroy": False}
            },
        },
    )


def gpu(
    driver: str = "LATEST",
    zone: str = "us-central1-a",
    trigger: bool = True,
    rails: int = 8,
    first_rail: str = "192.168.1.0/24",
) -> Stack:
    pool: dict[str, Any] = {
        "name": "b200",
        "cluster": SITE,
        "location": "us-central1",
        "node_locations": [zone],
        "node_count": 2,
        "node_config": {
            "machine_type": "a4-highgpu-8g",
            "service_account": f"lab-nodes@{PROJECT}.iam.gserviceaccount.com",
            "oauth_scopes": ["https://www.googleapis.com/auth/cloud-platform"],
            "guest_accelerator": [
                {
                    "type": "nvidia-b200",
                    "count": 8,
                    "gpu_driver_installation_config": {"gpu_driver_version": driver},
                }
            ],
            "reservation_affinity": {
                "consume_reservation_type": "SPECIFIC_RESERVATION",
                "key": "compute.googleapis.com/reservation-name",
                "values": ["lab-b200"],
            },
        },
        "network_config": {
            "enable_private_nodes": True,
            "additional_node_network_configs": [
                {
                    "network": "${google_compute_network.roce.name}",
                    "subnetwork": f"${{google_compute_subnetwork.rail{i}.name}}",
                }
                for i in range(rails)
            ],
        },
    }
    if trigger:
        pool["lifecycle"] = {"replace_triggered_by": ["google_compute_network.roce.id"]}
        pool["lifecycle"]["replace_triggered_by"] += [f"google_compute_subnetwork.rail{i}.id" for i in range(rails)]
    return stack(
        "lab-gpu",
        {"google": GOOGLE},
        resource={
            "google_compute_network": {
                "roce": {
                    "name": f"{SITE}-roce",
                    "auto_create_subnetworks": False,
                    "mtu": 8896,
                    "network_profile": f"projects/{PROJECT}/global/networkProfiles/{zone}-vpc-roce",
                }
            },
            "google_compute_subnetwork": {
                f"rail{i}": {
                    "name": f"{SITE}-roce-{i}",
                    "region": "us-central1",
                    "network": "${google_compute_network.roce.id}",
                    "ip_cidr_range": f"192.168.{i + 1}.0/24" if i else first_rail,
                }
                for i in range(rails)
            },
            "google_container_node_pool": {"b200": pool},
        },
    )


def site(**changed: Stack) -> dict[str, Stack]:
    """The six stacks; any can be given in another form."""
    made = {
        "network": network(),
        "storage": storage(),
        "cluster": cluster(),
        "gpu": gpu(),
        "platform": platform(),
        "workload": workload(),
    }
    return {**made, **changed}


def write(stacks: dict[str, Stack], folder: Path) -> Path:
    """Write stacks as a synth output, with the chart that their releases use."""
    for kind, body in stacks.items():
        target = folder / "stacks" / f"{SITE}-{kind}"
        target.mkdir(parents=True)
        (target / "cdk.tf.json").write_text(json.dumps(body, indent=2))
    chart = folder / "charts" / "passthrough"
    chart.mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: passthrough\nversion: 0.1.0\n")
    (folder / "manifest.json").write_text(json.dumps({"stacks": {}, "version": "0.21.0"}))
    return folder
