"""A real Ray takes the job through its dashboard: the entry script starts a stand-in trainer on a head of faked GPUs.

The trainer does what NeMo RL does first: it joins the cluster with its whole environment as runtime environment, and
asks for the GPUs. It leaves what it was given: arguments, its own environment, a worker's.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from groundplan.workload.script import program
from workload.jobs import objects, site, train_script

ROOT = Path(__file__).resolve().parents[2]
PYTHON = Path(os.environ.get("GROUNDPLAN_RAY_PYTHON", ROOT / ".venv-ray/bin/python"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="there is no Ray here; scripts/ray-venv installs it"),
]

TRAINER = """\
import json, os, sys
import ray

ray.init(address="auto", runtime_env={"env_vars": dict(os.environ)})

@ray.remote(num_gpus=1)
def environment():
    return dict(os.environ)

found = {
    "argv": sys.argv,
    "folder": os.getcwd(),
    "driver": dict(os.environ),
    "worker": ray.get(environment.remote()),
    "gpus": ray.cluster_resources()["GPU"],
}
with open("found.json", "w") as file:
    json.dump(found, file)
"""


TRANSFORMERS = """\
class AutoConfig:
    model_type = "qwen2"
    from_pretrained = lambda *_, **__: AutoConfig
"""
CONVERTER = """\
import json, os, pathlib, sys
target = pathlib.Path(sys.argv[sys.argv.index("--hf-ckpt-path") + 1])
target.mkdir()
for name in ("config.json", "model.safetensors", "tokenizer.json"):
    (target / name).write_text(json.dumps(os.environ["CUDA_VISIBLE_DEVICES"]))
"""


@dataclass(frozen=True)
class Head:
    """A running Ray head and the folder that stands for the image and the volumes."""

    url: str
    folder: Path

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:
            return json.load(answer)

    def wait(self) -> None:
        """Until the dashboard answers: on a busy machine it does so some time after `ray start` has ended."""
        for _ in range(90):
            with suppress(OSError):
                self.get("/api/version")
                return
            time.sleep(1)
        raise AssertionError("the dashboard does not answer")

    def accepted(self, entrypoint: str) -> str:
        """The job's id; the dashboard answers 500 until the agent that starts jobs has reported itself."""
        body = json.dumps({"entrypoint": entrypoint}).encode()
        request = urllib.request.Request(f"{self.url}/api/jobs/", body, {"Content-Type": "application/json"})
        for _ in range(10):
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return str(json.load(answer)["submission_id"])
            except urllib.error.HTTPError as error:
                if error.code != 500:
                    raise
            time.sleep(2)
        raise AssertionError("the dashboard takes no job")

    def submit(self, entrypoint: str) -> str:
        """Submit as KubeRay does in HTTPMode; return the job's last state."""
        return self.ended(self.accepted(entrypoint))

    def stop(self, job: str) -> None:
        """As `ray job stop` does."""
        request = urllib.request.Request(f"{self.url}/api/jobs/{job}/stop", b"", method="POST")
        urllib.request.urlopen(request, timeout=60).close()

    def ended(self, job: str) -> str:
        """The job's last state."""
        for _ in range(120):
            state: str = self.get(f"/api/jobs/{job}")["status"]
            if state in ("SUCCEEDED", "FAILED", "STOPPED"):
                return state
            time.sleep(0.5)
        return "TIMEOUT"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


#: The user's own overrides: one plain, one that shell, Ray and Hydra would each read in their own way.
OVERRIDES = {"grpo.max_num_steps": 3, "logger.wandb.name": "it's $HOME, {a,b} && `id`"}
#: What the trainer must see, written out by hand. The run's own folder is RUN.
ARGUMENTS = """\
--config
examples/configs/grpo_math_1B.yaml
policy.model_name=Qwen/Qwen2.5-1.5B
policy.train_global_batch_size=512
policy.train_micro_batch_size=4
policy.logprob_batch_size=4
policy.max_total_sequence_length=1024
policy.dtensor_cfg.enabled=true
policy.dtensor_cfg.tensor_parallel_size=1
policy.dtensor_cfg.context_parallel_size=1
policy.megatron_cfg.enabled=false
policy.generation.vllm_cfg.tensor_parallel_size=1
policy.generation.vllm_cfg.pipeline_parallel_size=1
policy.generation.vllm_cfg.gpu_memory_utilization=0.6
policy.generation.colocated.enabled=true
grpo.max_num_steps=3
grpo.num_prompts_per_step=32
grpo.num_generations_per_prompt=16
grpo.val_period=10
checkpointing.enabled=true
checkpointing.save_period=10
data.train.dataset_name=gsm8k
++data.validation.dataset_name=gsm8k
++data.validation.split=test
cluster.num_nodes=1
cluster.gpus_per_node=8
checkpointing.checkpoint_dir=RUN/checkpoints
logger.log_dir=RUN/logs
logger.wandb_enabled=false
logger.wandb.name="it's $HOME, {a,b} && `id`"
checkpointing.checkpoint_must_save_by="00:23:00:00"
""".splitlines()


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    folder = tmp_path_factory.mktemp("ray")
    document = objects(_site(folder))["RayJob"]
    group = document["spec"]["rayClusterSpec"]["headGroupSpec"]
    container = group["template"]["spec"]["containers"][0]
    own = {entry["name"]: entry["value"] for entry in container["env"]}
    path = f"{PYTHON.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "RAY_USAGE_STATS_ENABLED": "0", **own}
    port, dashboard = free_port(), free_port()
    ray = str(PYTHON.parent / "ray")
    # The manifest's own parameters, but for the GPUs, which the workers have, and the sizes of this machine.
    start = [ray, "start", "--head", f"--port={port}", f"--dashboard-port={dashboard}", "--dashboard-host=127.0.0.1"]
    start += ["--num-gpus=8", "--num-cpus=17", "--object-store-memory=100000000", "--disable-usage-stats"]
    start += [f"--temp-dir={folder / 't'}", "--min-worker-port=10002", "--max-worker-port=11000"]
    subprocess.run(start, env=environment, check=True, capture_output=True, timeout=90)
    try:
        found = Head(f"http://127.0.0.1:{dashboard}", folder)
        found.wait()
        yield found
    finally:
        # Ends this head alone: other Rays of the machine have another address.
        _stop(folder)


def _stop(folder: Path) -> None:
    """End the processes whose command line names this test's own folder."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in command and int(entry.name) != os.getpid():
            with suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGKILL)  # Ray's head waits for its workers at a gentler one


def _site(folder: Path) -> Any:
    workload = {"recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke", "overrides": OVERRIDES, "environment": {"OWN": "a b,c=$d"}}
    return site(workload=workload, storage={"lustre": {"mount_path": str(folder / "data")}}, secrets={})


def _unpack(folder: Path) -> str:
    """Lay the script and the image's folder into `folder`; return the entrypoint with its paths."""
    of = _site(folder)
    image = folder / "nemo-rl"
    (image / "examples").mkdir(parents=True, exist_ok=True)
    (image / "examples/run_grpo.py").write_text(TRAINER)
    train_script(of, image)
    entrypoint: str = objects(of)["RayJob"]["spec"]["entrypoint"]
    return entrypoint.replace("/etc/groundplan", str(image / "scripts"))


def test_the_readiness_probe_is_answered(head: Head) -> None:
    probe = objects(site())["RayJob"]["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    path = probe["containers"][0]["readinessProbe"]["httpGet"]["path"]
    assert "ray_version" in head.get(path)


def test_the_trainer_gets_what_was_meant(head: Head) -> None:
    of = _site(head.folder)
    assert head.submit(_unpack(head.folder)) == "SUCCEEDED"
    found = json.loads((head.folder / "nemo-rl/found.json").read_text())
    run = f"{head.folder}/data/jobs/{of.job.name}"
    assert found["argv"] == ["examples/run_grpo.py", *(line.replace("RUN", run) for line in ARGUMENTS)]
    assert Path(found["folder"]) == head.folder / "nemo-rl"
    assert (Path(run) / "checkpoints").is_dir() and (Path(run) / "logs").is_dir()
    assert found["gpus"] == 8
    for where in ("driver", "worker"):
        assert found[where]["OWN"] == "a b,c=$d"
        assert found[where]["NCCL_NET"] == "gIB"
        assert found[where]["HF_HOME"] == f"{head.folder}/data/huggingface"


def _again(head: Head, trainer: str) -> tuple[str, Path, Path]:
    """The job with another trainer, on what is a new Ray cluster to it; its entrypoint, its log and the container's."""
    entrypoint = _unpack(head.folder)
    of = _site(head.folder)
    folder = Path(of.job.folder)
    (head.folder / "nemo-rl/examples/run_grpo.py").write_text(trainer)
    for path in (folder / "train.log", head.folder / "nemo-rl/container"):
        path.write_text("")
    for started in (folder / "starts").glob("*"):
        started.rmdir()
    return entrypoint, folder / "train.log", head.folder / "nemo-rl/container"


#: Trains ten steps at most from where it stands, saves each, and says so.
STEPS = """\
import pathlib, sys, time
folder = pathlib.Path(next(a for a in sys.argv if a.startswith("checkpointing.checkpoint_dir=")).partition("=")[2])
done = max([int(p.name[5:]) for p in folder.glob("step_*")], default=0)
for step in range(done + 1, done + 11):
    print("training step", step, flush=True)
    (folder / f"step_{step}").mkdir()
    PAUSE
"""


@pytest.mark.parametrize(
    ("trainer", "state", "says"),
    [
        ("print('well')", "SUCCEEDED", "groundplan: done"),
        ("print('ill')\nraise SystemExit(3)", "FAILED", "STOPPED: the trainer ended with status 3"),
        ("import os, signal\nprint('ill', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)", "FAILED", "status 137"),
    ],
)
def test_the_log_is_in_the_file_and_in_the_containers_output(head: Head, trainer: str, state: str, says: str) -> None:
    entrypoint, *logs = _again(head, trainer)
    assert head.submit(entrypoint) == state
    for log in logs:
        assert says in log.read_text() and ("well" in log.read_text() or "ill" in log.read_text())


def test_a_stopped_job_keeps_its_log_and_goes_on_at_its_last_checkpoint(head: Head) -> None:
    entrypoint, log, container = _again(head, STEPS.replace("PAUSE", "time.sleep(1)"))
    job = head.accepted(entrypoint)
    for _ in range(60):
        if "training step 3" in log.read_text():
            break
        time.sleep(0.5)
    head.stop(job)
    assert head.ended(job) == "STOPPED"
    for kept in (log, container):
        assert "training step 3" in kept.read_text()
    last = max(int(line.split()[-1]) for line in log.read_text().splitlines() if "training step" in line)
    entrypoint, log, container = _again(head, STEPS.replace("PAUSE", ""))
    assert head.submit(entrypoint) == "SUCCEEDED"
    assert f"step_{last} " in log.read_text()
    assert f"training step {last + 1}\n" in log.read_text() and f"training step {last}\n" not in log.read_text()


def test_a_lost_head_starts_nothing(head: Head) -> None:
    """What KubeRay does in HTTPMode: it submits the same job to the head that has come back empty."""
    entrypoint, log, _ = _again(head, "print('trains')")
    assert head.submit(entrypoint) == "SUCCEEDED"
    assert head.submit(entrypoint) == "FAILED"
    assert log.read_text().count("\ntrains\n") == 1
    assert "STOPPED: this Ray cluster has started the job before" in log.read_text()


def test_the_export_runs_where_the_gpus_are(head: Head) -> None:
    """The program of the ConfigMap, with a stand-in of the converter that leaves what Ray gave it."""
    image, step = head.folder / "nemo-rl", head.folder / "data/exported/step_7"
    step.mkdir(parents=True)
    (image / "examples/converters").mkdir(parents=True, exist_ok=True)
    (image / "examples/converters/convert_dcp_to_hf.py").write_text(CONVERTER)
    (image / "scripts/transformers.py").write_text(TRANSFORMERS)
    (image / "scripts/export_model.py").write_text(program("export_model.py"))
    assert head.submit(f"cd {image} && python scripts/export_model.py dcp {step.parent}") == "SUCCEEDED"
    assert {path.name for path in (step / "hf").iterdir()} == {"config.json", "model.safetensors", "tokenizer.json"}
    assert (step / "hf/config.json").read_text() == '"0"', "Ray has given it one GPU"
