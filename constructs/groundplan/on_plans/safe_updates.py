"""Updates of a site's resources that are safe, and why; and the types that our rules read as they are made."""

from __future__ import annotations

import ipaddress
import re

from plan_review import values
from plan_review.changed import Argument
from plan_review.model import Change
from plan_review.safe_updates import GUARD, METADATA, SAFE, Safe, added, grows, turned_off, turned_on
from plan_review.unjudged import READ

_CLUSTER, _POOL, _BUCKET = "google_container_cluster", "google_container_node_pool", "google_storage_bucket"


def _is_running(change: Change, argument: Argument) -> bool:
    """A least version that the control plane has already (or none any more): it only stands in the state."""
    runs, least = values.text(change.before, "master_version"), str(argument.new or "")
    return not least or runs == least or runs.startswith((f"{least}.", f"{least}-"))


def _names_nobody(change: Change, argument: Argument) -> bool:
    """A list of authorized networks that names nobody, where the IP endpoint is off and stays off.

    The provider plans it for ever (hashicorp/google 6.50.0 and 7.45.0, recorded second plans).
    """
    off = [
        values.flag(side, "control_plane_endpoints_config.ip_endpoints_config.enabled") is False
        for side in (change.before, change.after)
    ]
    path = "master_authorized_networks_config"
    blocks = values.blocks(change.after, path)
    named = any(each.get("cidr_blocks") or each.get("gcp_public_cidrs_access_enabled") for each in blocks)
    return all(off) and bool(blocks) and not values.blocks(change.before, path) and not named


def _widens(_: Change, argument: Argument) -> bool:
    """A range that holds the old one."""
    try:
        old, new = (ipaddress.ip_network(str(each)) for each in (argument.old, argument.new))
    except ValueError:
        return False
    return old.version == new.version and old.subnet_of(new)  # type: ignore[arg-type]


def grew(_: Change, argument: Argument) -> bool:
    """A quantity of Kubernetes that becomes greater, in one unit."""
    old, new = (re.fullmatch(r"(\d+)(\w*)", str(each)) for each in (argument.old, argument.new))
    return bool(old and new) and old[2] == new[2] and int(new[1]) > int(old[1])  # type: ignore[index]


_MORE = "more nodes may come; none that runs is touched"
_LOGS = "logs alone"
_LATER = "the next upgrades come at another time; nothing is touched now"

SAFE += [
    Safe(_CLUSTER, "min_master_version", "the control plane runs it already", _is_running),
    Safe(_CLUSTER, "master_authorized_networks_config", "names nobody, and the IP endpoint is off", _names_nobody),
    Safe(_CLUSTER, "maintenance_policy.maintenance_exclusion", GUARD, added),
    Safe(_CLUSTER, "maintenance_policy.maintenance_exclusion.end_time", "a guard that lasts longer", added),
    Safe(_CLUSTER, "maintenance_policy.recurring_window", _LATER),
    Safe(_CLUSTER, "maintenance_policy.daily_maintenance_window", _LATER),
    *(
        Safe(_CLUSTER, f"addons_config.{each}.enabled", "a driver more; nothing that runs is touched", turned_on)
        for each in ("gcs_fuse_csi_driver_config", "lustre_csi_driver_config", "parallelstore_csi_driver_config",
                     "gcp_filestore_csi_driver_config", "gce_persistent_disk_csi_driver_config")
    ),
    Safe(_POOL, "node_count", _MORE, grows),
    *(Safe(_POOL, f"autoscaling.{end}_node_count", _MORE, grows) for end in ("min", "max", "total_min", "total_max")),
    Safe(_POOL, "node_config.resource_labels", METADATA),
    Safe(_POOL, "node_config.labels", "a label more on nodes; no pod that runs moves", added),
    Safe("google_compute_subnetwork", "ip_cidr_range", "more addresses; none that is used moves", _widens),
    Safe("google_compute_subnetwork", "log_config", _LOGS),
    Safe("google_compute_subnetwork", "private_ip_google_access", "Google's APIs without the internet", turned_on),
    Safe("google_compute_firewall", "log_config", _LOGS),
    Safe("google_compute_router_nat", "log_config", _LOGS),
    Safe("google_compute_router_nat", "min_ports_per_vm", "more connections for each machine", grows),
    Safe(_BUCKET, "versioning.enabled", GUARD, turned_on),
    Safe(_BUCKET, "retention_policy.retention_period", "objects are kept longer", grows),
    Safe(_BUCKET, "soft_delete_policy.retention_duration_seconds", "deleted objects are kept longer", grows),
    Safe(_BUCKET, "lifecycle_rule.condition.days_since_noncurrent_time", "old versions are kept longer", grows),
    Safe(_BUCKET, "force_destroy", GUARD, turned_off),
    *(
        Safe(f"kubernetes_persistent_volume{end}", "spec.capacity", "a figure; the disk is what it is", grew)
        for end in ("", "_v1")
    ),
    Safe("google_project_service", "disable_on_destroy", GUARD, turned_off),
    Safe("google_monitoring_dashboard", "dashboard_json", "a picture; nothing is decided by it"),
]  # fmt: skip

_READ = """
    google_artifact_registry_repository google_compute_address google_compute_firewall
    google_compute_firewall_policy_rule google_compute_forwarding_rule google_compute_global_address
    google_compute_global_forwarding_rule google_compute_instance google_compute_instance_template
    google_compute_network google_compute_network_firewall_policy_rule
    google_compute_region_network_firewall_policy_rule google_compute_router google_compute_router_nat
    google_compute_subnetwork google_container_cluster google_container_node_pool google_lustre_instance
    google_*_iam_member google_*_iam_binding google_*_iam_policy
    google_project_service google_service_account google_service_account_key google_service_networking_connection
    google_storage_bucket google_storage_*_access_control google_storage_*_acl
    helm_release kubernetes_namespace kubernetes_namespace_v1 kubernetes_persistent_volume
    kubernetes_persistent_volume_v1 kubernetes_persistent_volume_claim kubernetes_persistent_volume_claim_v1
    kubernetes_service kubernetes_service_v1 kubernetes_service_account kubernetes_service_account_v1
    kubernetes_storage_class kubernetes_storage_class_v1 kubernetes_secret kubernetes_secret_v1
    kubernetes_config_map kubernetes_config_map_v1
    aws_security_group aws_default_security_group aws_security_group_rule aws_vpc_security_group_ingress_rule
    azurerm_network_security_rule
"""

READ.update(_READ.split())
