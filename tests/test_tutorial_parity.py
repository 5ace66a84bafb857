"""Every value of the tutorial's second generation (G2) that is no listed difference is in the shipped profiles' output.

The expected values stand here as literals, with the step of the tutorial they come from; docs/tutorial-parity.md lists
the deliberate differences.
"""

from __future__ import annotations

import json

import pytest
import yaml

from sites import ROOT, Synthesized, synthesized

PROFILES = {"b200": "nemo-rl-b200", "h200": "nemo-rl-h200"}


@pytest.fixture(params=sorted(PROFILES))
def tutorial(request: pytest.FixtureRequest) -> Synthesized:
    return synthesized((ROOT / "profiles" / f"{PROFILES[request.param]}.yaml").read_text("utf-8"))


def shape(tutorial: Synthesized) -> tuple[str, str, str]:
    return {
        "nemo-rl-b200": ("a4-highgpu-8g", "nvidia-b200", "tuner_config_a4.txtpb"),
        "nemo-rl-h200": ("a3-ultragpu-8g", "nvidia-h200-141gb", "tuner_config_a3u.txtpb"),
    }[tutorial.site.name]


def test_services(tutorial: Synthesized) -> None:
    """Steps 1 and 1b."""
    services = {resource["service"] for resource in tutorial.resources("google_project_service").values()}
    wanted = ("compute", "container", "storage", "lustre", "servicenetworking", "iam")
    assert services >= {f"{name}.googleapis.com" for name in wanted}
    assert all(not r["disable_on_destroy"] for r in tutorial.resources("google_project_service").values())


def test_gvnic_network(tutorial: Synthesized) -> None:
    """Steps 4 to 6; the rule's source is narrowed to the network's own range."""
    gpu = tutorial.stacks["gpu"]["resource"]
    assert gpu["google_compute_network"]["gvnic"]["auto_create_subnetworks"] is False
    subnetwork = gpu["google_compute_subnetwork"]["gvnic-subnetwork"]
    assert subnetwork["ip_cidr_range"] == "192.168.0.0/24"
    assert subnetwork["region"] == tutorial.site.region
    (firewall,) = gpu["google_compute_firewall"].values()
    assert firewall["name"] == f"{tutorial.site.name}-gvnic-internal"
    assert firewall["allow"] == [
        {"protocol": "tcp", "ports": ["0-65535"]},
        {"protocol": "udp", "ports": ["0-65535"]},
        {"protocol": "icmp"},
    ]
    assert firewall["source_ranges"] == ["192.168.0.0/24"]


def test_rdma_network(tutorial: Synthesized) -> None:
    """Steps 7 and 8: the profile of the zone (not of the region), eight subnetworks, no firewall."""
    gpu = tutorial.stacks["gpu"]["resource"]
    network = gpu["google_compute_network"]["rdma"]
    zone = tutorial.site.zone
    assert network["network_profile"] == f"projects/my-project/global/networkProfiles/{zone}-vpc-roce"
    assert network["mtu"] == 8896
    subnetworks = [gpu["google_compute_subnetwork"][f"rdma-subnetwork-{n}"] for n in range(8)]
    assert [s["ip_cidr_range"] for s in subnetworks] == [f"192.168.{n}.0/24" for n in range(1, 9)]
    assert [s["name"].rpartition("-sub-")[2] for s in subnetworks] == list("01234567")
    assert sum(k.startswith("rdma") for k in gpu["google_compute_subnetwork"]) == 8
    assert not any("rdma" in firewall["network"] for firewall in gpu["google_compute_firewall"].values())


def test_cluster(tutorial: Synthesized) -> None:
    """Step 9 and section 4."""
    cluster = tutorial.only("google_container_cluster")
    assert cluster["location"] == tutorial.site.region
    assert cluster["workload_identity_config"] == {"workload_pool": "my-project.svc.id.goog"}
    assert cluster["datapath_provider"] == "ADVANCED_DATAPATH"
    assert cluster["networking_mode"] == "VPC_NATIVE"
    assert cluster["enable_multi_networking"] is True
    assert cluster["addons_config"]["lustre_csi_driver_config"]["enabled"] is True
    assert cluster["ip_allocation_policy"]["cluster_secondary_range_name"] == "pods"
    assert cluster["ip_allocation_policy"]["services_secondary_range_name"] == "services"


def test_cpu_pool(tutorial: Synthesized) -> None:
    """Step 9: n2-highmem-80, one to five nodes a zone."""
    pool = tutorial.stacks["cluster"]["resource"]["google_container_node_pool"]["cpu-pool"]
    assert pool["node_config"]["machine_type"] == "n2-highmem-80"
    assert pool["initial_node_count"] == 1
    assert (pool["autoscaling"]["min_node_count"], pool["autoscaling"]["max_node_count"]) == (1, 5)


def test_gpu_pool(tutorial: Synthesized) -> None:
    """Step 11 and section 5; two fixed nodes instead of zero to two."""
    machine, accelerator, _ = shape(tutorial)
    (pool,) = tutorial.stacks["gpu"]["resource"]["google_container_node_pool"].values()
    config = pool["node_config"]
    assert pool["location"] == tutorial.site.region
    assert pool["node_locations"] == [tutorial.site.zone]
    assert config["machine_type"] == machine
    assert config["guest_accelerator"] == [
        {
            "type": accelerator,
            "count": 8,
            "gpu_driver_installation_config": {"gpu_driver_version": "DEFAULT"},
        }
    ]
    reservation = f"my-{tutorial.site.name.removeprefix('nemo-rl-')}-reservation"
    assert config["reservation_affinity"] == {
        "consume_reservation_type": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": [f"projects/my-project/reservations/{reservation}"],
    }
    assert pool["node_count"] == 2
    assert "initial_node_count" not in pool
    assert "placement_policy" not in pool
    assert config["ephemeral_storage_local_ssd_config"] == {"local_ssd_count": 32}
    assert config["image_type"] == "COS_CONTAINERD"
    networks = pool["network_config"]["additional_node_network_configs"]
    assert networks[0] == {
        "network": "${google_compute_network.gvnic.name}",
        "subnetwork": "${google_compute_subnetwork.gvnic-subnetwork.name}",
    }
    assert networks[1:] == [
        {
            "network": "${google_compute_network.rdma.name}",
            "subnetwork": f"${{google_compute_subnetwork.rdma-subnetwork-{n}.name}}",
        }
        for n in range(8)
    ]


def test_network_objects(tutorial: Synthesized) -> None:
    """Step 11c and section 6."""
    objects = tutorial.manifests("platform", "networks").values()
    parameters = {o["metadata"]["name"]: o["spec"] for o in objects if o["kind"] == "GKENetworkParamSet"}
    networks = {o["metadata"]["name"]: o["spec"] for o in objects if o["kind"] == "Network"}
    names = ["gvnic-1", *(f"rdma-{n}" for n in range(8))]
    assert sorted(parameters) == sorted(networks) == sorted(names)
    site = tutorial.site.name
    assert parameters["gvnic-1"] == {
        "vpc": f"{site}-gvnic-net",
        "vpcSubnet": f"{site}-gvnic-sub",
        "deviceMode": "NetDevice",
    }
    assert parameters["rdma-7"] == {
        "vpc": f"{site}-rdma-net",
        "vpcSubnet": f"{site}-rdma-sub-7",
        "deviceMode": "RDMA",
    }
    assert networks["rdma-3"] == {
        "type": "Device",
        "parametersRef": {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": "rdma-3"},
    }


def test_private_service_access(tutorial: Synthesized) -> None:
    """Steps 12 and 13."""
    address = tutorial.only("google_compute_global_address")
    assert address["name"] == f"{tutorial.site.name}-lustre-range"
    assert (address["purpose"], address["prefix_length"]) == ("VPC_PEERING", 20)
    connection = tutorial.only("google_service_networking_connection")
    assert connection["service"] == "servicenetworking.googleapis.com"
    assert connection["reserved_peering_ranges"] == ["${google_compute_global_address.private-service-access.name}"]


def test_lustre(tutorial: Synthesized) -> None:
    """Steps 14 to 16."""
    lustre = tutorial.only("google_lustre_instance")
    assert lustre["per_unit_storage_throughput"] == "500"
    assert lustre["capacity_gib"] == "18000"
    assert lustre["filesystem"] == "lustrefs"
    assert lustre["location"] == tutorial.site.zone
    assert lustre["network"] == f"projects/my-project/global/networks/{tutorial.site.name}-net"
    volume = tutorial.only("kubernetes_persistent_volume_v1")["spec"][0]
    assert volume["storage_class_name"] == "lustre-rwx-500mbps-per-tib"
    assert volume["capacity"] == {"storage": "18000Gi"}
    assert volume["access_modes"] == ["ReadWriteMany"]
    assert volume["persistent_volume_reclaim_policy"] == "Retain"
    assert volume["volume_mode"] == "Filesystem"
    csi = volume["persistent_volume_source"]["csi"]
    assert csi["driver"] == "lustre.csi.storage.gke.io"
    assert csi["volume_handle"] == f"my-project/{tutorial.site.zone}/{tutorial.site.name}-lustre"
    assert csi["volume_attributes"]["filesystem"] == "lustrefs"
    assert "data.google_lustre_instance.lustre.mount_point" in csi["volume_attributes"]["ip"]
    claim = tutorial.only("kubernetes_persistent_volume_claim_v1")
    assert claim["metadata"]["name"] == "lustre-pvc"
    assert claim["spec"]["access_modes"] == ["ReadWriteMany"]
    assert claim["spec"]["resources"] == {"requests": {"storage": "18000Gi"}}
    assert claim["spec"]["storage_class_name"] == "lustre-rwx-500mbps-per-tib"


def test_gib_installer(tutorial: Synthesized) -> None:
    """Step 11b and section 7, pinned, and the same file for both accelerators."""
    (daemon_set,) = tutorial.manifests("platform", "gib").values()
    assert daemon_set["kind"] == "DaemonSet"
    assert daemon_set["metadata"]["name"] == "nccl-rdma-installer"
    assert daemon_set["metadata"]["namespace"] == "kube-system"
    pod = daemon_set["spec"]["template"]["spec"]
    assert (pod["hostNetwork"], pod["hostPID"]) == (True, True)
    assert pod["priorityClassName"] == "system-node-critical"
    image = pod["initContainers"][0]["image"]
    assert image == "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib:v1.1.2"
    required = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"][0]["matchExpressions"] == [
        {
            "key": "cloud.google.com/gke-accelerator",
            "operator": "In",
            "values": ["nvidia-b200", "nvidia-h200-141gb"],
        }
    ]
    paths = {volume["hostPath"]["path"] for volume in pod["volumes"]}
    assert paths == {"/home/kubernetes/bin/nvidia", "/home/kubernetes/bin/gib"}


def test_job(tutorial: Synthesized) -> None:
    """Steps 18 to 22: two workers of eight GPUs with the RDMA annotations really on the pods, and the job's numbers."""
    _, accelerator, tuner = shape(tutorial)
    job = next(o for o in yaml.safe_load_all((tutorial.folder / "rayjob.yaml").read_text()) if o["kind"] == "RayJob")
    (group,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    assert group["replicas"] == group["minReplicas"] == group["maxReplicas"] == 2
    template = group["template"]
    annotations = template["metadata"]["annotations"]
    assert annotations["networking.gke.io/default-interface"] == "eth0"
    assert json.loads(annotations["networking.gke.io/interfaces"]) == [
        {"interfaceName": "eth0", "network": "default"},
        {"interfaceName": "eth1", "network": "gvnic-1"},
        *({"interfaceName": f"eth{n + 2}", "network": f"rdma-{n}"} for n in range(8)),
    ]
    pod = template["spec"]
    assert pod["nodeSelector"]["cloud.google.com/gke-accelerator"] == accelerator
    container = pod["containers"][0]
    assert container["resources"]["limits"]["nvidia.com/gpu"] in (8, "8")
    assert str(container["resources"]["limits"]["cpu"]) == "206"
    assert container["resources"]["limits"]["memory"] == "2400Gi"
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts >= {"/dev/shm", "/usr/local/nvidia", "/usr/local/gib", "/data"}
    shared = next(v for v in pod["volumes"] if v.get("emptyDir", {}).get("medium") == "Memory")
    assert shared["emptyDir"]["sizeLimit"] == "240Gi"
    environment = {entry["name"]: entry for entry in container["env"]}
    assert environment["NCCL_TUNER_CONFIG_PATH"]["value"] == f"/usr/local/gib/configs/{tuner}"
    assert environment["NCCL_NET"]["value"] == "gIB"
    assert environment["HF_TOKEN"]["valueFrom"]["secretKeyRef"]["name"] == "hugging-face-token"
    assert environment["WANDB_API_KEY"]["valueFrom"]["secretKeyRef"]["name"] == "wandb-api-key"
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    assert head["nodeSelector"]["cloud.google.com/gke-nodepool"] == "cpu-pool"
    assert str(head["containers"][0]["resources"]["limits"]["cpu"]) == "64"
    assert head["containers"][0]["resources"]["limits"]["memory"] == "500G"
    text = (tutorial.folder / "rayjob.yaml").read_text()
    for override in (
        "cluster.num_nodes=2",
        "cluster.gpus_per_node=8",
        "grpo.max_num_steps=10",
        "grpo.num_prompts_per_step=16",
        "grpo.num_generations_per_prompt=32",
        "policy.generation.colocated.enabled=false",
        "policy.generation.colocated.resources.num_nodes=1",
        "policy.generation.colocated.resources.gpus_per_node=8",
        "policy.generation.vllm_cfg.tensor_parallel_size=8",
        "policy.generation.vllm_cfg.gpu_memory_utilization=0.9",
        "policy.dtensor_cfg.tensor_parallel_size=8",
        "logger.tensorboard_enabled=false",
        "logger.wandb_enabled=true",
    ):
        assert override in text, override
