"""groundplan as a library: the examples of docs/library.md run, and write what the command writes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from groundplan.emit.modules import load
from groundplan.emit.rehearsal import rehearse
from rehearsal.conftest import said
from sites import ROOT, run
from staged_terraform import Options

EXAMPLES = ROOT / "docs" / "examples"
PROFILE = ROOT / "profiles" / "smoke.yaml"


#: The fast imports, so that a test does not wait for all of the providers; `add_site` has them itself.
LOADED = "from groundplan.emit.modules import load; load()\n"


def example(name: str, *arguments: str | Path, first: str = "") -> None:
    program = first + (EXAMPLES / name).read_text("utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.fixture(scope="module")
def site_and_bucket(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "site"
    example("site_and_bucket.py", PROFILE, folder)
    return folder


def files(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text("utf-8") for p in folder.rglob("*") if p.is_file()}


def test_a_site_with_a_bucket_is_the_commands_output_and_the_bucket(site_and_bucket: Path, tmp_path: Path) -> None:
    assert run("synth", str(PROFILE), "-o", str(tmp_path / "plain"), "-q").returncode == 0
    ours, plain = files(site_and_bucket), files(tmp_path / "plain")
    assert ours.keys() == plain.keys()
    (storage,) = (name for name in ours if ours[name] != plain[name])
    assert "-storage/" in storage
    changed: dict[str, Any] = json.loads(ours[storage])
    bucket = changed["resource"].pop("google_storage_bucket")["reports"]
    assert changed == json.loads(plain[storage])
    assert bucket["name"] == "my-project-reports"
    assert bucket["public_access_prevention"] == "enforced"
    assert bucket["lifecycle_rule"][0]["condition"] == {"days_since_noncurrent_time": 7, "with_state": "ARCHIVED"}


def test_a_site_with_a_bucket_rehearses_clean(site_and_bucket: Path) -> None:
    if shutil.which("terraform") is None:
        pytest.skip("terraform is not on PATH")
    report = rehearse(site_and_bucket, Options())
    assert report.ok, said(report)
    assert all(stack.empty_replan for stack in report.stacks)


PARTS = """
import sys
from cdktf import App, TerraformStack
from cdktf_cdktf_provider_google.provider import GoogleProvider
from cdktf_cdktf_provider_helm.provider import HelmProvider
from cdktf_cdktf_provider_kubernetes.provider import KubernetesProvider
from groundplan.cluster.account_constructs import NodeAccount, NodeAccountProps
from groundplan.cluster.constructs import CpuPool, CpuPoolProps, PrivateCluster, PrivateClusterProps
from groundplan.storage.constructs import LustreInstance, LustreInstanceProps
from groundplan.platform.chart_constructs import GibInstaller, GibInstallerProps
from groundplan.platform.constructs import LustreVolume, LustreVolumeProps

app = App(outdir=sys.argv[1])
stack = TerraformStack(app, "own")
GoogleProvider(stack, "google", project="p")
HelmProvider(stack, "helm")
KubernetesProvider(stack, "kubernetes")
nodes = NodeAccount(stack, "nodes", NodeAccountProps(account_id="own-nodes", project="p"))
vpc = "projects/p/global/networks/n"
subnetwork = "projects/p/regions/us-central1/subnetworks/s"
cluster = PrivateClusterProps(name="c", project="p", location="us-central1", network=vpc, subnetwork=subnetwork,
                              nodes_account=nodes.email)
gke = PrivateCluster(stack, "gke", cluster, depends_on=nodes.roles)
for zone in ("us-central1-a", "us-central1-b"):
    CpuPool(stack, f"cpu-{zone[-1]}", CpuPoolProps(name=f"cpu-{zone[-1]}", project="p", cluster=gke.cluster.name,
            location="us-central1", zone=zone, nodes_account=nodes.email))
for name in ("hot", "cold"):
    lustre = LustreInstance(stack, name, LustreInstanceProps(name=name, project="p", zone="us-central1-a", network=vpc,
                            capacity_gib=18000, filesystem=name))
    LustreVolume(stack, f"{name}-pv", LustreVolumeProps(lustre=lustre.reference, volume=name, claim=name,
                 namespace="default", capacity_gib=18000, claim_gib=18000, storage_class="lustre"))
GibInstaller(stack, "gib", GibInstallerProps(release="gib", image="mirror/gib:v1", accelerators=("nvidia-b200",)))
app.synth()
assert not [name for name in sys.modules if name.startswith('groundplan.site')], 'the parts load the site'
"""


def test_parts_stand_twice_in_a_stack_of_ones_own_without_a_site(tmp_path: Path) -> None:
    program = LOADED + PARTS
    ran = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "out"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "constructs")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    document = json.loads((tmp_path / "out/stacks/own/cdk.tf.json").read_text("utf-8"))
    # The exclusion that holds upgrades has no end, which the release of the bindings does not know.
    assert document["terraform"]["required_providers"]["google"]["version"] == "7.45.0"
    written = document["resource"]
    assert {kind: sorted(entries) for kind, entries in written.items() if "iam" not in kind} == {
        "google_container_cluster": ["gke"],
        "google_container_node_pool": ["cpu-a", "cpu-b"],
        "google_lustre_instance": ["cold", "hot"],
        "google_service_account": ["nodes"],
        "helm_release": ["gib"],
        "kubernetes_persistent_volume_claim_v1": ["cold-pv-claim", "hot-pv-claim"],
        "kubernetes_persistent_volume_v1": ["cold-pv-volume", "hot-pv-volume"],
        "terraform_data": ["cold-pv-binding", "hot-pv-binding"],
    }
    volume = written["kubernetes_persistent_volume_v1"]["hot-pv-volume"]
    assert volume["lifecycle"]["replace_triggered_by"] == ["terraform_data.hot-pv-binding.id"]
    assert written["terraform_data"]["hot-pv-binding"]["triggers_replace"] == {
        "claim": "default/hot",
        "claim_gib": 18000,
        "storage_class": "lustre",
    }
    claim = written["kubernetes_persistent_volume_claim_v1"]["hot-pv-claim"]
    assert claim["lifecycle"]["replace_triggered_by"] == ["kubernetes_persistent_volume_v1.hot-pv-volume.id"]


@pytest.mark.parametrize(
    ("field", "value", "limit"),
    [
        ("capacity", 1, "Unexpected keyword argument"),
        ("name", "Hot", "must be 1 to 63 lower-case letters"),
        ("zone", "us-central1", "must be a zone such as us-central1-b"),
        ("capacity_gib", 0, "greater than or equal to 1"),
        ("capacity_gib", True, "valid integer"),
        ("capacity_gib", "18000", "valid integer"),
        ("filesystem", "ninechars", "must be 1 to 8 letters"),
        ("network", "", "at least 1 character"),
        ("labels", ["a"], "valid dictionary"),
        ("legacy_port", "no", "valid boolean"),
    ],
)
def test_wrong_props_are_refused_by_field(field: str, value: object, limit: str) -> None:
    load()
    from groundplan.storage.constructs import LustreInstanceProps

    right: dict[str, Any] = {
        "name": "hot",
        "project": "p",
        "zone": "us-central1-a",
        "network": "n",
        "capacity_gib": 18000,
    }
    LustreInstanceProps(**right)
    with pytest.raises(ValidationError) as refused:
        LustreInstanceProps(**{**right, field: value})
    (error,) = refused.value.errors()
    assert refused.value.title == "LustreInstanceProps"
    assert (error["loc"], error["input"]) == ((field,), value)
    assert limit in error["msg"]


def test_a_job_in_a_cluster_that_is_there_already(tmp_path: Path) -> None:
    example("job.py", tmp_path, first=LOADED)
    written = json.loads((tmp_path / "stacks/job/cdk.tf.json").read_text("utf-8"))
    assert {kind: sorted(entries) for kind, entries in written["resource"].items()} == {
        "helm_release": ["job"],
        "kubernetes_namespace_v1": ["namespace"],
        "kubernetes_secret_v1": ["token"],
        "kubernetes_service_account_v1": ["account"],
    }
    assert list(written["variable"]) == ["hub_token"]
    assert written["data"]["kubernetes_namespace_v1"]["api"]["metadata"] == {"name": "kube-system"}
    assert list(written["data"]["kubernetes_secret_v1"]) == ["api-training"]
    assert "data.kubernetes_namespace_v1.api" in written["resource"]["helm_release"]["job"]["depends_on"]
    assert (tmp_path / "stacks/job/chart/Chart.yaml").is_file()


def test_what_stands_beside_a_stack_of_ones_own_is_what_a_site_has(site_and_bucket: Path, tmp_path: Path) -> None:
    example("job.py", tmp_path, first=LOADED)
    (chart,) = site_and_bucket.glob("stacks/*-platform/chart")
    assert files(tmp_path / "stacks/job/chart") == files(chart)
    manifests = yaml.safe_load((tmp_path / "stacks/job/manifests/job.yaml").read_text("utf-8"))["manifests"]
    assert manifests["rayjob-hello-1"]["spec"]["entrypoint"].startswith("python -c 'import ray;")


RELEASES = """
import sys
from cdktf import App, TerraformStack
from cdktf_cdktf_provider_helm.provider import HelmProvider
from constructs import Construct
from groundplan.platform.chart_constructs import Operator, OperatorProps

app = App(outdir=sys.argv[1])
for name in ("one", "two"):
    stack = TerraformStack(app, name)
    HelmProvider(stack, "helm")
    for team in ("red", "blue"):
        values = {"replicas": 2, "team": team, "stack": name, "shell": "${HOME} %{if}"}
        Operator(Construct(stack, team), "op", OperatorProps(name=team, namespace=team, chart="c", version="1.0.0",
                 repository="https://charts.example", values=values))
app.synth()
"""


def python(program: str, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program, out], capture_output=True, text=True, check=False)


def test_each_release_has_values_of_its_own_wherever_it_stands(tmp_path: Path) -> None:
    """The same id in two scopes of two stacks, and Terraform's markers kept as they are: no file is another's."""
    ran = python(LOADED + RELEASES, tmp_path)
    assert ran.returncode == 0, ran.stderr
    found = []
    for stack in ("one", "two"):
        folder = tmp_path / "stacks" / stack
        written = json.loads((folder / "cdk.tf.json").read_text("utf-8"))["resource"]["helm_release"]
        for address, release in written.items():
            assert release["values"] == [f'${{file("${{path.module}}/manifests/{address}.yaml")}}']
            values = yaml.safe_load((folder / "manifests" / f"{address}.yaml").read_text("utf-8"))
            assert (values["stack"], values["team"], values["shell"]) == (stack, release["name"], "${HOME} %{if}")
            found.append((stack, values["team"]))
    assert sorted(found) == [("one", "blue"), ("one", "red"), ("two", "blue"), ("two", "red")]


def test_a_reference_within_values_is_refused(tmp_path: Path) -> None:
    program = RELEASES.replace('"team": team', '"team": Fn.upper(team)').replace("import App,", "import App, Fn,")
    ran = python(LOADED + program, tmp_path)
    assert ran.returncode == 1
    assert "a value is a reference that only Terraform resolves" in ran.stderr
