"""Building blocks: what a site has, and what its run-book, outputs and commands say, follows from its profile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from findings import UserError
from groundplan.cli import cli
from groundplan.site.check import all_findings
from groundplan.site.outputs import outputs_of
from groundplan.site.profile import parse_profile
from groundplan.site.resolve import resolve
from sites import ROOT, SMALL, Synthesized, site_of, synthesized

GOLDEN = ROOT / "tests" / "golden"
TWO_NODES = SMALL + "workload: {recipe: grpo-llama3.1-8b-gsm8k, nodes: 2}\n"
NO_JOB = SMALL + "workload: {mode: none}\n"


def test_a_platform_without_a_job_ends_with_the_platform() -> None:
    made = synthesized(NO_JOB)
    assert list(made.stacks) == ["network", "storage", "cluster", "gpu", "platform"]
    assert not (made.folder / "rayjob.yaml").exists()
    runbook = (made.folder / "runbook.md").read_text("utf-8")
    assert "## A job of your own" in runbook
    assert "## Follow the job" not in runbook
    assert "step nemo-rl-workload" not in runbook
    assert "cloud.google.com/gke-nodepool: a4-highgpu-8g" in runbook
    assert "A job of your own" in str(outputs_of(made.site, "platform")["next_step"].value)


def test_the_other_stacks_are_those_of_a_site_with_a_job() -> None:
    job, none = synthesized(SMALL + "workload: {recipe: grpo-qwen2.5-1.5b-gsm8k-smoke}\n"), synthesized(NO_JOB)
    for kind in ("network", "storage", "cluster", "gpu"):
        assert none.stacks[kind] == job.stacks[kind]
    for stacks in (job.stacks, none.stacks):  # how to go on differs
        stacks["platform"]["output"].pop("next_step", None)
    assert none.stacks["platform"] == job.stacks["platform"]


@pytest.mark.parametrize("options", [(), ("--explain",), ("--resume-from", "job-1")])
def test_a_job_that_is_not_there_is_not_shown(tmp_path: Path, options: tuple[str, ...]) -> None:
    profile = tmp_path / "site.yaml"
    profile.write_text(NO_JOB)
    result = CliRunner().invoke(cli, ["rayjob", str(profile), *options])
    assert isinstance(result.exception, UserError)
    assert "has no job: `workload.mode` is none" in str(result.exception)


def test_a_site_without_a_job_has_no_job() -> None:
    site = site_of(NO_JOB)
    assert site.job is None
    assert site.job_objects == []


def golden(name: str) -> Synthesized:
    return synthesized((GOLDEN / name / "profile.yaml").read_text("utf-8"))


@pytest.mark.parametrize("name", ["bucket-only", "existing-lustre", "platform", "own-claim", "three-jobs"])
def test_a_block_is_a_profile_of_twelve_lines_without_a_finding(name: str) -> None:
    text = (GOLDEN / name / "profile.yaml").read_text("utf-8")
    assert len(text.splitlines()) <= 12
    profile, source = parse_profile(text)
    assert all_findings(resolve(profile), source) == []


@pytest.mark.parametrize("name", ["bucket-only", "own-claim"])
def test_a_site_without_lustre_speaks_of_none(name: str) -> None:
    made = golden(name)
    network = made.stacks["network"]["resource"]
    assert "google_service_networking_connection" not in network
    assert not [rule for rule in network.get("google_compute_firewall", {}) if "lustre" in rule]
    services = {each["service"] for each in network["google_project_service"].values()}
    assert not services & {"lustre.googleapis.com", "servicenetworking.googleapis.com"}
    cluster = made.only("google_container_cluster")
    assert cluster["addons_config"]["lustre_csi_driver_config"]["enabled"] is False
    assert "lustre" not in (made.folder / "runbook.md").read_text("utf-8").lower()
    assert "lustre" not in json.dumps(made.stacks["platform"]).lower()


def test_a_site_on_a_claim_stores_nothing() -> None:
    made = golden("own-claim")
    assert "storage" not in made.stacks
    assert made.site.stacks[2].needs == ("cluster",)
    (claim,) = [
        each
        for each in made.site.job_objects[-1]["spec"]["headGroupSpec"]["template"]["spec"]["volumes"]
        if "persistentVolumeClaim" in each
    ]
    assert claim == {"name": "shared", "persistentVolumeClaim": {"claimName": "team-share"}}


def test_an_existing_lustre_is_looked_at_and_mounted() -> None:
    made = golden("existing-lustre")
    assert "resource" not in made.stacks["storage"]
    data = made.stacks["storage"]["data"]["google_lustre_instance"]["lustre"]
    assert [each["condition"] for each in data["lifecycle"]["postcondition"]] == [
        '${endswith(self.network, "/networks/team-vpc")}',
        "${self.gke_support_enabled == false}",
    ]
    (volume,) = made.resources("kubernetes_persistent_volume_v1").values()
    source = volume["spec"][0]["persistent_volume_source"]["csi"]
    assert source["volume_handle"] == "my-project/us-central1-b/team-lustre"
    assert source["volume_attributes"]["filesystem"] == "${data.google_lustre_instance.lustre.filesystem}"


def pods(made: Synthesized) -> dict[str, dict[str, Any]]:
    """Pod templates by name: head, worker, prefetch."""
    *_, job = made.site.job_objects
    cluster = job["spec"].get("rayClusterSpec", job["spec"])
    found = {"head": cluster["headGroupSpec"]["template"], "worker": cluster["workerGroupSpecs"][0]["template"]}
    prefetch = [each["spec"]["template"] for each in made.site.job_objects if each["kind"] == "Job"]
    return found | ({"prefetch": prefetch[0]} if prefetch else {})


@pytest.mark.parametrize("pod", ["head", "worker", "prefetch"])
def test_each_pod_of_a_job_mounts_its_buckets(pod: str) -> None:
    template = pods(golden("mounted-buckets"))[pod]
    annotations = {k: v for k, v in template["metadata"]["annotations"].items() if k.startswith("gke-gcsfuse/")}
    assert annotations == {
        "gke-gcsfuse/volumes": "true",
        "gke-gcsfuse/cpu-limit": "8",
        "gke-gcsfuse/memory-limit": "16Gi",
        "gke-gcsfuse/ephemeral-storage-limit": "400Gi",
        "gke-gcsfuse/ephemeral-storage-request": "5Gi",
    }
    volumes = {each["name"]: each["csi"] for each in template["spec"]["volumes"] if "csi" in each}
    assert volumes["gcs-my-project-checkpoints"] == {
        "driver": "gcsfuse.csi.storage.gke.io",
        "volumeAttributes": {"bucketName": "my-project-checkpoints"},
    }
    assert volumes["gcs-other-team-corpus"] == {
        "driver": "gcsfuse.csi.storage.gke.io",
        "readOnly": True,
        "volumeAttributes": {
            "bucketName": "other_team_corpus",
            "mountOptions": "implicit-dirs",
            "fileCacheCapacity": "200Gi",
        },
    }
    mounts = {each["name"]: each for each in template["spec"]["containers"][0]["volumeMounts"]}
    assert mounts["gcs-other-team-corpus"] == {
        "name": "gcs-other-team-corpus",
        "mountPath": "/corpus",
        "readOnly": True,
    }


def test_buckets_are_made_kept_and_granted() -> None:
    made = golden("mounted-buckets")
    bucket = made.only("google_storage_bucket")
    assert bucket["hierarchical_namespace"] == {"enabled": True}
    assert bucket["versioning"] == {"enabled": False}
    assert bucket["soft_delete_policy"] == {"retention_duration_seconds": 14 * 86_400}
    assert [rule["condition"] for rule in bucket["lifecycle_rule"]] == [{"age": 365, "with_state": "LIVE"}]
    assert bucket["lifecycle"] == {"prevent_destroy": True}
    granted = {each["bucket"]: each["role"] for each in made.resources("google_storage_bucket_iam_member").values()}
    assert granted == {
        "my-project-checkpoints": "roles/storage.objectUser",
        "other_team_corpus": "roles/storage.objectViewer",
    }


def test_checkpoints_go_to_the_bucket_that_is_named() -> None:
    job = golden("mounted-buckets").site.job
    assert job
    assert job.checkpoints == f"/checkpoints/jobs/{job.name}/checkpoints"
    assert job.folder == f"/data/jobs/{job.name}"
    (script,) = [each["data"]["train.sh"] for each in golden("mounted-buckets").site.job_objects if "data" in each]
    assert f"checkpointing.checkpoint_dir={job.checkpoints}" in script


def test_several_jobs_are_releases_of_their_own() -> None:
    made = golden("three-jobs")
    releases = made.stacks["workload"]["resource"]["helm_release"]
    assert {id_: each["name"] for id_, each in releases.items()} == {
        "job-low-lr": "three-job-low-lr",
        "job-high-lr": "three-job-high-lr",
        "job-llama": "three-job-llama",
    }
    rayjobs = [each["metadata"] for each in made.site.job_objects if each["kind"] == "RayJob"]
    names = [each["name"] for each in rayjobs]
    assert [name.rpartition("-")[0] for name in names] == ["low-lr", "high-lr", "llama"]
    assert {each["labels"]["kueue.x-k8s.io/queue-name"] for each in rayjobs} == {"training"}
    assert made.stacks["workload"]["output"]["jobs"]["value"] == names
    runbook = (made.folder / "runbook.md").read_text("utf-8")
    for job in made.site.jobs:
        assert f"## Follow the job {job.spec.name}\n" in runbook
        assert f"{job.folder}/train.log" in runbook
    assert "-target" not in runbook


def test_a_job_of_several_takes_what_it_does_not_say_from_the_section() -> None:
    text = """\
workload:
  recipe: grpo-qwen2.5-1.5b-gsm8k-smoke
  deadline_hours: 5
  overrides: {grpo.max_num_steps: 7, grpo.seed: 1}
  environment: {TEAM: research}
  jobs:
    - {name: a}
    - {name: b, deadline_hours: 6, overrides: {grpo.seed: 2}, environment: {RUN: b}}
"""
    a, b = site_of(SMALL + text).jobs
    assert (a.spec.deadline_hours, b.spec.deadline_hours) == (5, 6)
    assert [job.config.get("grpo.seed") for job in (a, b)] == [1, 2]
    assert [job.config.get("grpo.max_num_steps") for job in (a, b)] == [7, 7]
    assert b.spec.environment == {"TEAM": "research", "RUN": "b"}


def test_one_job_of_a_list_is_the_job_that_it_is_alone() -> None:
    """But for its name, which the list gives: what runs is the same."""
    (listed,) = site_of(SMALL + "workload: {recipe: grpo-qwen2.5-1.5b-gsm8k-smoke, jobs: [{name: same}]}\n").jobs
    alone = site_of(SMALL + "workload: {recipe: grpo-qwen2.5-1.5b-gsm8k-smoke, name: same}\n").job
    assert alone
    assert (listed.name, listed.overrides) == (alone.name, alone.overrides)


def test_a_key_of_the_section_is_found_wrong_once_and_an_entrys_at_the_entry() -> None:
    text = (
        SMALL
        + """\
workload:
  recipe: grpo-qwen2.5-1.5b-gsm8k-smoke
  environment: {CUDA_VISIBLE_DEVICES: "0"}
  jobs:
    - {name: a, environment: {RUN: a}}
    - {name: b, overrides: {grpo.no_such_key: 1}}
"""
    )
    profile, source = parse_profile(text)
    found = all_findings(resolve(profile), source)
    assert [(each.where, each.location.line if each.location else 0) for each in found] == [
        ("workload.environment.CUDA_VISIBLE_DEVICES", 6),
        ("workload.jobs[1].overrides.grpo.no_such_key", 9),
    ]


def run_rayjob(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["rayjob", str(GOLDEN / "three-jobs" / "profile.yaml"), *arguments])


def test_one_of_several_jobs_can_be_shown() -> None:
    assert run_rayjob("--job", "llama").output.count("kind: RayJob\n") == 1
    assert run_rayjob().output.count("kind: RayJob\n") == 3
    assert run_rayjob("--explain").output.count("# Job ") == 3
    wrong = run_rayjob("--job", "lama")
    assert wrong.exit_code == 2
    assert "its jobs are low-lr, high-lr, llama" in " ".join(wrong.output.split())
    assert "say which goes on with --job" in run_rayjob("--resume-from", "llama-1").output
    resumed = run_rayjob("--job", "llama", "--resume-from", "llama-1").output
    assert "workload.resume_from: the checkpoints of llama-1" in resumed


def fabric_test(text: str) -> list[dict[str, Any]]:
    file = synthesized(text).folder / "fabric-test.yaml"
    return list(yaml.safe_load_all(file.read_text("utf-8"))) if file.exists() else []


def test_the_fabric_is_measured_by_pods_like_the_workers() -> None:
    made = synthesized(TWO_NODES)
    _, job = fabric_test(TWO_NODES)
    worker, pod = pods(made)["worker"], job["spec"]["template"]
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == 2
    assert pod["metadata"]["annotations"] == worker["metadata"]["annotations"]
    for key in ("nodeSelector", "tolerations", "serviceAccountName"):
        assert pod["spec"][key] == worker["spec"][key]
    mine, theirs = pod["spec"]["containers"][0], worker["spec"]["containers"][0]
    for key in ("image", "resources", "securityContext"):
        assert mine[key] == theirs[key]
    settings = {each["name"]: each.get("value") for each in mine["env"]}
    assert (settings["PREFLIGHT_NODES"], settings["PREFLIGHT_GPUS"], settings["PREFLIGHT_FLOOR"]) == ("2", "8", "200")
    assert not [each for each in mine["env"] if "secretKeyRef" in each.get("valueFrom", {})]
    assert "health-check" not in pod["spec"]["initContainers"][0]["command"][-1]
    runbook = (made.folder / "runbook.md").read_text("utf-8")
    assert "all-reduce over 16 GPUs" in runbook
    assert "At least 200 GB/s" in runbook


def test_the_fabric_of_claims_is_measured_with_claims_of_its_own() -> None:
    text = TWO_NODES + "gpu: {fabric: managed}\n"
    _, template, job = fabric_test(text)
    assert template["kind"] == "ResourceClaimTemplate"
    assert job["spec"]["template"]["spec"]["resourceClaims"] == [
        {"name": "rdma", "resourceClaimTemplateName": template["metadata"]["name"]}
    ]


@pytest.mark.parametrize("name", ["bucket-only", "platform", "queued"])
def test_no_test_where_it_cannot_run(name: str) -> None:
    text = (GOLDEN / name / "profile.yaml").read_text("utf-8")
    assert fabric_test(text) == []
    assert "## Measure the fabric" not in (synthesized(text).folder / "runbook.md").read_text("utf-8")
