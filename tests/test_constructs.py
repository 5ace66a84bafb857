"""The constructs in somebody else's cdktf program: no Site, no profile, plain cdktf."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from groundplan.emit.modules import load
from ray_objects import RAY_JOB, SCRIPTS
from sites import ROOT

#: A program of another team: a fabric and a pool in a stack of their own, beside a pool on networks that exist.
PROGRAM = ROOT / "docs" / "examples" / "fabric_and_pool.py"

Write = Callable[[Callable[[Any], object]], dict[str, Any]]


def test_a_fabric_and_a_pool_in_a_program_of_ones_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            # The fast imports, so that the test does not wait for all of the providers.
            f"from groundplan.emit.modules import load; load()\n{PROGRAM.read_text()}",
            str(tmp_path),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "stacks" / "ours" / "cdk.tf.json").read_text())["resource"]
    networks = found["google_compute_network"]
    assert networks["roce"]["network_profile"] == "projects/our-project/global/networkProfiles/us-central1-b-vpc-roce"
    assert networks["roce"]["mtu"] == 8896 and "network_profile" not in networks["second"]
    assert [each["name"] for each in found["google_compute_subnetwork"].values()].count("roce-net-sub-7") == 1
    assert len(found["google_compute_subnetwork"]) == 9
    assert set(found["google_compute_firewall"]) == {"second-internal"}, "a RoCE network takes no firewall rule"
    pools = found["google_container_node_pool"]
    nics = pools["pool-new"]["network_config"]["additional_node_network_configs"]
    assert nics[0]["network"] == "${google_compute_network.second.name}"
    assert [nic["subnetwork"] for nic in nics[1:]] == [
        f"${{google_compute_subnetwork.roce-subnetwork-{n}.name}}" for n in range(8)
    ]
    assert "google_compute_network.roce.id" in pools["pool-new"]["lifecycle"]["replace_triggered_by"]
    old = pools["pool-old"]["network_config"]["additional_node_network_configs"]
    assert old[8] == {"network": "old", "subnetwork": "old-7"}
    assert pools["pool-old"]["node_config"]["labels"] == {"team": "ours"}
    assert found["terraform_data"]["shape-new"]["triggers_replace"]["machine_type"] == "a4-highgpu-8g"


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """What a stack of one's own comes to, whose constructs a function makes."""
    load()
    from cdktf import App, TerraformStack

    def write(build: Callable[[Any], object]) -> dict[str, Any]:
        app = App(outdir=str(tmp_path), skip_validation=True)  # that each provider is configured
        build(TerraformStack(app, "own"))
        app.synth()
        text = (tmp_path / "stacks" / "own" / "cdk.tf.json").read_text("utf-8")
        # Without cdktf's own notes on each entry.
        found: dict[str, Any] = json.loads(
            text, object_hook=lambda entry: {k: v for k, v in entry.items() if k != "//"}
        )
        return found

    return write


def test_what_a_job_stands_in_is_made_before_it(written: Write, tmp_path: Path) -> None:
    def build(stack: Any) -> None:
        from groundplan.platform.access_constructs import (
            Namespace,
            NamespaceProps,
            PodAccount,
            PodAccountProps,
            Secret,
            SecretProps,
        )
        from groundplan.workload.constructs import RayJobChart, RayJobChartProps

        namespace = Namespace(stack, "rl", NamespaceProps(name="rl", labels={"team": "ours"}))
        account = PodAccount(
            stack,
            "pods",
            PodAccountProps(name="trainer", namespace="rl", email="trainer@p.iam.gserviceaccount.com"),
            depends_on=namespace.ready,
        )
        token = SecretProps(name="hub", namespace="rl", variable="hub_token", revision=2, description="Hub token")
        secret = Secret(stack, "hub", token, depends_on=namespace.ready)
        job = RayJobChartProps(release="rl-job", namespace="rl", objects=[SCRIPTS, RAY_JOB])
        chart = RayJobChart(stack, "job", job, depends_on=[*account.ready, *secret.ready])
        assert (chart.job_name, account.name, secret.name, secret.key) == ("train-1", "trainer", "hub", "token")

    found = written(build)
    assert found["variable"] == {
        "hub_token": {
            "description": "Hub token", "ephemeral": True, "nullable": False, "sensitive": True, "type": "string"
        }
    }  # fmt: skip
    resources = found["resource"]
    assert resources.pop("kubernetes_namespace_v1") == {
        "rl": {
            "metadata": {
                "labels": {"pod-security.kubernetes.io/enforce": "privileged", "team": "ours"},
                "name": "rl",
            }
        }
    }
    assert resources.pop("kubernetes_service_account_v1") == {
        "pods": {
            "depends_on": ["kubernetes_namespace_v1.rl"],
            "metadata": {
                "annotations": {"iam.gke.io/gcp-service-account": "trainer@p.iam.gserviceaccount.com"},
                "name": "trainer",
                "namespace": "rl",
            },
        }
    }
    assert resources.pop("kubernetes_secret_v1") == {
        "hub": {
            "data_wo": {"token": "${var.hub_token}"},
            "data_wo_revision": 2,
            "depends_on": ["kubernetes_namespace_v1.rl"],
            "metadata": {"name": "hub", "namespace": "rl"},
            "type": "Opaque",
        }
    }
    release = resources.pop("helm_release")["job"]
    assert release.pop("values") == ['${file("${path.module}/manifests/job.yaml")}']
    beside = tmp_path / "stacks" / "own"
    assert yaml.safe_load((beside / "manifests" / "job.yaml").read_text("utf-8")) == {
        "manifests": {"configmap-train-1": SCRIPTS, "rayjob-train-1": RAY_JOB}
    }
    assert sorted(path.name for path in (beside / "chart").rglob("*.yaml")) == ["Chart.yaml", "manifests.yaml"]
    assert release == {
        "atomic": True,
        "chart": "${path.module}/chart",
        "depends_on": ["kubernetes_service_account_v1.pods", "kubernetes_secret_v1.hub"],
        "max_history": 5,
        "name": "rl-job",
        "namespace": "rl",
        "timeout": 600,
        "wait": True,
    }
    assert resources == {}


def test_what_is_there_already_is_not_made(written: Write) -> None:
    """Each reference has what others need of it, and only those others are made."""

    def build(stack: Any) -> None:
        from groundplan.cluster.account_constructs import NodeAccount, WorkloadAccount
        from groundplan.cluster.constructs import CpuPool, CpuPoolProps, PrivateCluster, PrivateClusterProps
        from groundplan.gpu.fabric_constructs import GvnicNetwork, RoceFabric
        from groundplan.network.constructs import PrimaryNetwork, PrivateServiceAccess
        from groundplan.platform.access_constructs import Namespace, PodAccount, Secret
        from groundplan.platform.constructs import LustreVolume
        from groundplan.storage.constructs import (
            Bucket,
            BucketAccess,
            BucketAccessProps,
            LustreInstance,
            LustreInstanceProps,
        )
        from groundplan.workload.constructs import RayJobChart, RayJobChartProps

        network = PrimaryNetwork.existing(
            network_path="projects/p/global/networks/n", subnetwork_path="projects/p/regions/r/subnetworks/s"
        )
        nodes = NodeAccount.existing(email="nodes@p.iam.gserviceaccount.com")
        props = PrivateClusterProps(
            name="c",
            project="p",
            location="us-central1",
            network=network.network_path,
            subnetwork=network.subnetwork_path,
            pods_range=network.pods_range,
            services_range=network.services_range,
            nodes_account=nodes.email,
        )
        PrivateCluster(stack, "gke", props, depends_on=nodes.roles)
        there = PrivateCluster.existing(name="d", project="p", location="us-central1")
        pool = CpuPoolProps(
            name="cpu",
            project=there.project,
            cluster=there.name,
            location=there.location,
            zone="us-central1-a",
            nodes_account=nodes.email,
        )
        CpuPool(stack, "cpu", pool)
        bucket, pods = Bucket.existing(name="data"), WorkloadAccount.existing(email="pods@p.iam.gserviceaccount.com")
        BucketAccess(stack, "access", BucketAccessProps(bucket=bucket.name, member=pods.member))
        lustre = LustreInstanceProps(
            name="l", project="p", zone="us-central1-a", network=network.network_path, capacity_gib=18000
        )
        LustreInstance(stack, "lustre", lustre, depends_on=PrivateServiceAccess.existing().ready)
        old = LustreInstance.existing(name="old", project="p", zone="us-central1-a", filesystem="old")
        assert old.reference.volume_handle == "p/us-central1-a/old"
        assert RoceFabric.existing(network="n", subnetworks=["s"]).attached.pairs == (("n", "s"),)
        assert GvnicNetwork.existing(network="n", subnetwork="s").attached.replaced_with == ()
        assert (bucket.url, nodes.member) == ("gs://data", "serviceAccount:nodes@p.iam.gserviceaccount.com")
        namespace, secret = Namespace.existing(name="default"), Secret.existing(name="hub", key="key")
        account, volume = PodAccount.existing(name="default"), LustreVolume.existing(claim="models")
        job = RayJobChartProps(release="rl-job", namespace=namespace.name, objects=[RAY_JOB])
        after = [*namespace.ready, *account.ready, *secret.ready, *volume.ready]
        RayJobChart(stack, "job", job, depends_on=after)
        assert (account.name, secret.name, secret.key, volume.name) == ("default", "hub", "key", "models")

    found = written(build)
    assert "variable" not in found and "data" not in found
    resources = found["resource"]
    assert {kind: sorted(each) for kind, each in resources.items()} == {
        "google_container_cluster": ["gke"],
        "google_container_node_pool": ["cpu"],
        "google_lustre_instance": ["lustre"],
        "google_storage_bucket_iam_member": ["access"],
        "helm_release": ["job"],
    }
    made = {kind: next(iter(each.values())) for kind, each in resources.items()}
    assert not [kind for kind, each in made.items() if "depends_on" in each]
    gke = made["google_container_cluster"]
    assert gke["network"] == "projects/p/global/networks/n"
    assert gke["subnetwork"] == "projects/p/regions/r/subnetworks/s"
    assert gke["ip_allocation_policy"]["cluster_secondary_range_name"] == "pods"
    assert gke["node_config"]["service_account"] == "nodes@p.iam.gserviceaccount.com"
    pool = made["google_container_node_pool"]
    assert (pool["cluster"], pool["project"], pool["location"]) == ("d", "p", "us-central1")
    assert made["google_storage_bucket_iam_member"] == {
        "bucket": "data",
        "member": "serviceAccount:pods@p.iam.gserviceaccount.com",
        "role": "roles/storage.objectUser",
    }


def test_what_is_made_is_referred_to_alike(written: Write) -> None:
    """The same attributes, as references: what uses them waits."""

    def build(stack: Any) -> None:
        from groundplan.cluster.account_constructs import (
            NodeAccount,
            NodeAccountProps,
            WorkloadAccount,
            WorkloadAccountProps,
        )
        from groundplan.cluster.constructs import CpuPool, CpuPoolProps, PrivateCluster, PrivateClusterProps
        from groundplan.network.constructs import (
            PrimaryNetwork,
            PrimaryNetworkProps,
            PrivateServiceAccess,
            PrivateServiceAccessProps,
        )
        from groundplan.storage.constructs import (
            Bucket,
            BucketAccess,
            BucketAccessProps,
            BucketProps,
            LustreInstance,
            LustreInstanceProps,
        )

        network = PrimaryNetwork(
            stack,
            "net",
            PrimaryNetworkProps(
                project="p",
                region="us-central1",
                network="n",
                subnetwork="s",
                nodes="10.0.0.0/20",
                pods="10.4.0.0/14",
                services="10.8.0.0/20",
            ),
        )
        psa = PrivateServiceAccessProps(project="p", network=network.network_path, name="psa", address="10.9.0.0")
        access = PrivateServiceAccess(stack, "psa", psa)
        lustre = LustreInstanceProps(
            name="l", project="p", zone="us-central1-a", network=network.network_path, capacity_gib=18000
        )
        LustreInstance(stack, "lustre", lustre, depends_on=access.ready)
        nodes = NodeAccount(stack, "nodes", NodeAccountProps(account_id="own-nodes", project="p"))
        props = PrivateClusterProps(
            name="c",
            project="p",
            location="us-central1",
            network=network.network_path,
            subnetwork=network.subnetwork_path,
            pods_range=network.pods_range,
            services_range=network.services_range,
            nodes_account=nodes.email,
        )
        gke = PrivateCluster(stack, "gke", props, depends_on=nodes.roles)
        pool = CpuPoolProps(
            name="cpu",
            project=gke.project,
            cluster=gke.name,
            location=gke.location,
            zone="us-central1-a",
            nodes_account=nodes.email,
        )
        CpuPool(stack, "cpu", pool)
        pods = WorkloadAccount(
            stack,
            "pods",
            WorkloadAccountProps(
                account_id="own-pods", project="p", workload_pool="p.svc.id.goog", namespace="rl", service_account="rl"
            ),
            cluster=gke.cluster,
        )
        bucket = Bucket(stack, "data", BucketProps(name="data", project="p", location="us-central1"))
        BucketAccess(stack, "access", BucketAccessProps(bucket=bucket.name, member=pods.member))

    found = written(build)["resource"]
    assert found["google_storage_bucket_iam_member"]["access"] == {
        "bucket": "${google_storage_bucket.data.name}",
        "member": "${google_service_account.pods.member}",
        "role": "roles/storage.objectUser",
    }
    gke = found["google_container_cluster"]["gke"]
    assert gke["network"] == "${google_compute_network.net.id}"
    assert gke["subnetwork"] == "${google_compute_subnetwork.net-nodes.id}"
    assert "google_project_iam_member.nodes-logging-logWriter" in gke["depends_on"]
    assert found["google_container_node_pool"]["cpu"]["cluster"] == "${google_container_cluster.gke.name}"
    lustre = found["google_lustre_instance"]["lustre"]
    assert lustre["depends_on"] == ["google_service_networking_connection.psa-connection"]
    assert found["google_service_account_iam_member"]["pods-identity"]["member"] == (
        "serviceAccount:p.svc.id.goog[rl/rl]"
    )
