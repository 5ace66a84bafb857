"""What stands around the training: prefetch, prepared data, export, queue, the interactive cluster, printing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from groundplan.commands.rayjob import rayjob
from workload.jobs import objects, profile_data, queue_objects, site, train_script

SMOKE = "grpo-qwen2.5-1.5b-gsm8k-smoke"
QUEUED = {"kueue": {"enabled": True}}


def script(**workload: Any) -> str:
    text: str = objects(site(workload=workload))["ConfigMap"]["data"]["train.sh"]
    return text


def stand_in(folder: Path, body: str) -> dict[str, str]:
    """An environment whose `python` is `body`."""
    python = folder / "bin/python"
    python.parent.mkdir(exist_ok=True)
    python.write_text(f"#!/usr/bin/env bash\n{body}\n")
    python.chmod(0o755)
    sleep = folder / "bin/sleep"
    sleep.write_text("#!/usr/bin/env bash\nexit 0\n")
    sleep.chmod(0o755)
    return {"PATH": f"{python.parent}:{os.environ['PATH']}", "OUT": str(folder / "out")}


def prefetch_script(folder: Path) -> str:
    workload = {"recipe": SMOKE, "prefetch": {"enabled": True, "models": ["Qwen/Qwen3-0.6B"]}}
    of = site(workload=workload, storage={"lustre": {"mount_path": str(folder)}})
    container = objects(of)["Job"]["spec"]["template"]["spec"]["containers"][0]
    text: str = container["command"][2]
    return text


def bash(text: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", text], capture_output=True, text=True, env=environment, timeout=60, check=False
    )


def test_prefetch_marks_success(tmp_path: Path) -> None:
    done = bash(prefetch_script(tmp_path), stand_in(tmp_path, 'printf "%s\\n" "${@:3}" > "$OUT"'))
    assert done.returncode == 0
    assert (tmp_path / "out").read_text().split() == ["Qwen/Qwen2.5-1.5B", "Qwen/Qwen3-0.6B"]
    assert [path.name for path in tmp_path.glob("jobs/*/prefetch.*")] == ["prefetch.done"]


def test_prefetch_tries_again_and_marks_failure(tmp_path: Path) -> None:
    failed = bash(prefetch_script(tmp_path), stand_in(tmp_path, 'echo x >> "$OUT"; exit 1'))
    assert failed.returncode == 1
    assert (tmp_path / "out").read_text().count("x") == 4
    assert [path.name for path in tmp_path.glob("jobs/*/prefetch.*")] == ["prefetch.failed"]


@pytest.mark.parametrize(("mark", "code"), [("done", 0), ("failed", 1)])
def test_the_training_waits_for_the_prefetch(tmp_path: Path, mark: str, code: int) -> None:
    workload = {"recipe": SMOKE, "prefetch": {"enabled": True}}
    of = site(workload=workload, storage={"lustre": {"mount_path": str(tmp_path)}})
    assert of.job
    folder = Path(of.job.folder)
    folder.mkdir(parents=True)
    (folder / f"prefetch.{mark}").touch()
    text = train_script(of, tmp_path)
    done = bash(text, stand_in(tmp_path, 'touch "$OUT"'))
    assert done.returncode == code, done.stderr
    assert (tmp_path / "out").exists() == (code == 0)


def test_a_failed_training_exports_nothing(tmp_path: Path) -> None:
    of = site(
        workload={"recipe": SMOKE, "export": {"enabled": True}}, storage={"lustre": {"mount_path": str(tmp_path)}}
    )
    text = train_script(of, tmp_path)
    done = bash(text, stand_in(tmp_path, 'echo "$2" >> "$OUT"; exit 7'))
    assert done.returncode == 7
    assert (tmp_path / "out").read_text() == "examples/run_grpo.py\n"


def test_data_is_prepared_for_releases_without_gsm8k(tmp_path: Path) -> None:
    """With a stand-in of Hugging Face's library: the answer is the number alone, without commas."""
    found = objects(site(workload={"recipe": SMOKE, "release": "v0.5.0"}))["ConfigMap"]["data"]
    assert "python -u /etc/groundplan/prepare_gsm8k.py /data/datasets/gsm8k" in found["train.sh"]
    assert "prepare_gsm8k.py" not in objects(site(workload={"recipe": SMOKE}))["ConfigMap"]["data"]
    (tmp_path / "datasets.py").write_text(
        "def load_dataset(name, subset, split):\n"
        "    assert (name, subset) == ('openai/gsm8k', 'main')\n"
        "    return [{'question': 'How many ' + split + '?', 'answer': 'a <<1+1=2>> b\\n#### 1,234'}]\n"
    )
    program = tmp_path / "prepare.py"
    program.write_text(found["prepare_gsm8k.py"])
    subprocess.run([sys.executable, program, tmp_path / "gsm8k"], check=True)
    rows = [json.loads(line) for line in (tmp_path / "gsm8k/test.jsonl").read_text().splitlines()]
    assert rows == [{"question": "How many test?", "answer": "1234"}]
    assert sorted(path.name for path in (tmp_path / "gsm8k").iterdir()) == ["test.jsonl", "train.jsonl"]


def test_the_queue_covers_what_the_job_asks() -> None:
    of = site("h200", nodes=2, platform=QUEUED)
    queue = queue_objects(of)
    (group,) = queue["cluster-queue"]["spec"]["resourceGroups"]
    asked: set[str] = set()
    cluster = objects(of)["RayJob"]["spec"]["rayClusterSpec"]
    for part in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        for container in part["template"]["spec"]["containers"]:
            asked |= container["resources"]["requests"].keys()
    assert asked == set(group["coveredResources"]) == {"cpu", "memory", "nvidia.com/gpu"}
    quotas = {
        flavor["name"]: {r["name"]: r["nominalQuota"] for r in flavor["resources"]} for flavor in group["flavors"]
    }
    assert quotas["nemo-rl-a3-ultragpu-8g"]["nvidia.com/gpu"] == "16"
    assert quotas["nemo-rl-cpu"]["nvidia.com/gpu"] == "0"
    flavors = {o["metadata"]["name"] for o in queue.values() if o["kind"] == "ResourceFlavor"}
    assert flavors == quotas.keys()


def test_the_job_goes_through_the_queue() -> None:
    of = site(platform=QUEUED)
    job = objects(of)["RayJob"]
    local = queue_objects(of)["local-queue"]
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == local["metadata"]["name"]
    assert local["metadata"]["namespace"] == job["metadata"]["namespace"]
    assert "suspend" not in job["spec"]
    worker = job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["metadata"]["annotations"]
    level = worker["kueue.x-k8s.io/podset-preferred-topology"]
    levels = [entry["nodeLabel"] for entry in queue_objects(of)["topology"]["spec"]["levels"]]
    assert level == "cloud.google.com/gce-topology-block" and level in levels
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["metadata"]["annotations"]
    assert not [key for key in head if key.startswith("kueue")]


def test_without_a_queue_there_is_no_trace_of_one() -> None:
    assert site().queue is None
    assert "kueue" not in str(site().job_objects)


def test_the_interactive_cluster_has_the_same_pods() -> None:
    job = objects(site())["RayJob"]["spec"]["rayClusterSpec"]
    cluster = objects(site(workload={"mode": "cluster"}))["RayCluster"]["spec"]
    text = json.dumps(cluster).replace(
        objects(site(workload={"mode": "cluster"}))["RayCluster"]["metadata"]["name"], "N"
    )
    assert json.loads(text) == json.loads(json.dumps(job).replace(objects(site())["RayJob"]["metadata"]["name"], "N"))


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    file = tmp_path / "site.yaml"
    workload = {"recipe": SMOKE, "overrides": {"grpo.max_num_steps": 3}, "environment": {"A": "1"}}
    file.write_text(yaml.safe_dump(profile_data(workload=workload)))
    return file


def test_rayjob_prints_what_is_applied(profile: Path) -> None:
    result = CliRunner().invoke(rayjob, [str(profile)])
    assert result.exit_code == 0, result.output
    printed = list(yaml.safe_load_all(result.output))
    workload = {"recipe": SMOKE, "overrides": {"grpo.max_num_steps": 3}, "environment": {"A": "1"}}
    assert printed == site(workload=workload).job_objects
    assert "# The workers: as many as nodes" in result.output


def test_rayjob_goes_on_from_another_job(profile: Path) -> None:
    result = CliRunner().invoke(rayjob, [str(profile), "--resume-from", "old-job"])
    assert result.exit_code == 0, result.output
    workload = {"recipe": SMOKE, "overrides": {"grpo.max_num_steps": 3}, "environment": {"A": "1"}}
    assert list(yaml.safe_load_all(result.output)) == site(workload=workload | {"resume_from": "old-job"}).job_objects
    assert CliRunner().invoke(rayjob, [str(profile), "--resume-from", "/data/old job"]).exit_code == 2


def test_a_suspended_job_keeps_its_name() -> None:
    """It is suspended in place: a new name would be a new job."""
    going, stopped = (objects(site(workload={"recipe": SMOKE, "suspend": value})) for value in (False, True))
    assert stopped["RayJob"]["spec"].pop("suspend") is True
    assert stopped == going
    queued = objects(site(workload={"recipe": SMOKE, "suspend": True}, platform=QUEUED))["RayJob"]
    assert "suspend" not in queued["spec"]


def test_explain_names_origins(profile: Path) -> None:
    result = CliRunner().invoke(rayjob, [str(profile), "--explain"])
    assert result.exit_code == 0, result.output
    rows = {line.split()[0]: line for line in result.output.splitlines() if line and not line.startswith("#")}
    for name, origin in {
        "grpo.max_num_steps": "user",
        "grpo.val_period": f"recipe {SMOKE}",
        "cluster.num_nodes": "site",
        "NCCL_TUNER_CONFIG_PATH": "machine a4-highgpu-8g",
        "rayVersion": "release v0.6.0",
        "A": "user",
    }.items():
        assert origin in rows[name], rows[name]


def test_explain_forecasts_memory(profile: Path) -> None:
    """As comments, so that what reads the table is not disturbed; each part, and what was not measured."""
    output = CliRunner().invoke(rayjob, [str(profile), "--explain"]).output
    words = ("weights", "optimizer", "needed, of 180: fits", "not measured: CUDA and NCCL", "a checkpoint, counted:")
    for word in words:
        assert any(line.startswith("# ") and word in line for line in output.splitlines()), word


def test_rayjob_writes_a_file_whole(profile: Path, tmp_path: Path) -> None:
    target = tmp_path / "job.yaml"
    result = CliRunner().invoke(rayjob, [str(profile), "--output", str(target)])
    assert result.exit_code == 0, result.output
    assert len(list(yaml.safe_load_all(target.read_text()))) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.yaml", "site.yaml"]


def test_a_catalog_of_ones_own(tmp_path: Path) -> None:
    """The next release and another recipe are data: no line of code."""
    from groundplan.site.profile import parse_profile
    from groundplan.site.resolve import resolve

    own = {
        "releases": {
            "v0.8.0": {
                "image": "nvcr.io/nvidia/nemo-rl:v0.8.0",
                "ray": "2.56.1",
                "cuda": "12.9",
                "script": "examples/run_grpo.py",
                "gsm8k": "built-in",
                "keys_of": "v0.7.0",
            }
        },
        "recipes": {
            "mine": {
                "summary": "mine",
                "config": "examples/configs/grpo_math_1B.yaml",
                "nodes": 1,
                "overrides": {"policy": {"model_name": "Qwen/Qwen3-0.6B"}},
            }
        },
    }
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(own))
    data = profile_data(workload={"recipe": "mine", "release": "v0.8.0"}, catalog=["own.yaml"])
    of = resolve(parse_profile(yaml.safe_dump(data))[0], tmp_path)
    found = objects(of)
    assert found["RayJob"]["spec"]["rayClusterSpec"]["rayVersion"] == "2.56.1"
    assert "policy.model_name=Qwen/Qwen3-0.6B" in found["ConfigMap"]["data"]["train.sh"]


@pytest.mark.parametrize(
    ("section", "entry", "words"),
    [
        ("recipes", {"nodes": "two"}, "`nodes` must be a whole number"),
        ("recipes", {"override": {}}, "unknown field `override`"),
        ("recipes", {"config": None}, "`config` must be text"),
        ("releases", {"cuda": 12.9}, "`cuda` must be text, in quotes"),
        ("releases", {}, "`image` is missing"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, section: str, entry: dict[str, Any], words: str) -> None:
    from findings import UserError
    from groundplan.site.profile import parse_profile
    from groundplan.site.resolve import resolve

    name = {"recipes": "mine", "releases": "v0.8.0"}[section]
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({section: {name: entry}}))
    data = profile_data(workload={section[:-1]: name}, catalog=["own.yaml"])
    with pytest.raises(UserError, match=words):
        resolve(parse_profile(yaml.safe_dump(data))[0], tmp_path)


def test_keys_are_those_of_the_tags() -> None:
    """Counts of leaves, counted on NVIDIA's files at the tags."""
    from groundplan.nemo_rl.releases import config_keys

    counts = {release: len(config_keys(release)) for release in ("v0.4.0", "v0.5.0", "v0.6.0", "v0.7.0")}
    assert counts == {"v0.4.0": 183, "v0.5.0": 203, "v0.6.0": 253, "v0.7.0": 289}
