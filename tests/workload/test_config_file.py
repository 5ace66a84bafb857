"""A NeMo RL configuration of the user's own: composed, judged, mounted; entry scripts."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from findings import Severity
from groundplan.emit.job_origins import explain_job
from groundplan.emit.revisions import checkout
from groundplan.nemo_rl.config_file import ConfigFile, read_config
from groundplan.nemo_rl.releases import BASE_CONFIG, config_keys, flatten
from groundplan.site.check import check_file
from groundplan.site.profile import parse_profile
from groundplan.site.resolve import Site, resolve
from plan_review.reading import UnusableInput
from workload.jobs import findings, objects, profile_data
from workload.recipes import read, spelled
from workload.test_upstream_recipes import FEW

OWN = """\
defaults: ../../grpo_math_1B.yaml
policy:
  model_name: Qwen/Qwen3-0.6B
  optimizer: {kwargs: {lr: 1e-6}}
  train_micro_batch_size: 2
  logprob_batch_size: 2
cluster: {num_nodes: 2, gpus_per_node: 1}
checkpointing: {save_period: 5}
env: {math: {my_key: 1}}
"""


def written(folder: Path, text: str = OWN, name: str = "my.yaml") -> str:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, "utf-8")
    return name


def own_site(folder: Path, **workload: Any) -> Site:
    text = yaml.safe_dump(profile_data(workload={"config": "my.yaml", **workload}), sort_keys=False)
    return resolve(parse_profile(text)[0], folder)


def errors(of: Site) -> list[str]:
    return [f"{f.rule}: {f.message}" for f in findings(of) if f.severity is Severity.ERROR]


def test_the_file_is_composed_judged_and_mounted(tmp_path: Path) -> None:
    written(tmp_path)
    of = own_site(tmp_path)
    assert of.job is not None
    config = of.job.config
    assert (of.job.nodes, config.get("policy.optimizer.kwargs.lr")) == (2, 1e-6)
    assert config.get("grpo.num_prompts_per_step") == 32, "of the base"
    assert (config.get("cluster.gpus_per_node"), config.get("env.math.my_key")) == (8, 1)
    assert errors(of) == []
    scripts = objects(of)["ConfigMap"]["data"]
    mounted = yaml.safe_load(scripts["config.yaml"])
    assert mounted.pop("defaults") == f"/opt/nemo-rl/{BASE_CONFIG}"
    assert flatten(mounted)["checkpointing.save_period"] == 5
    assert "--config /etc/groundplan/config.yaml" in scripts["train.sh"]
    assert "cluster.num_nodes=2" in scripts["train.sh"]
    explained = explain_job(of)
    assert f"file my.yaml, over {BASE_CONFIG}" in explained
    assert [line.split()[-1] for line in explained.splitlines() if line.startswith("checkpointing.save_p")] == ["5"]


def test_another_file_is_another_job(tmp_path: Path) -> None:
    written(tmp_path)
    first = own_site(tmp_path).job
    written(tmp_path, OWN + "grpo: {max_num_steps: 7}\n")
    second = own_site(tmp_path).job
    assert first is not None and second is not None
    assert first.name != second.name
    assert first.base_name == second.base_name == "my"


def test_files_beside_it_are_put_together(tmp_path: Path) -> None:
    replaced = "policy: {scheduler: {_override_: true, name: x}}"
    written(tmp_path, f"defaults: base/shared.yaml\ngrpo: {{val_period: 3}}\n{replaced}\n")
    written(tmp_path, "defaults: [grpo_math_1B.yaml]\ngrpo: {val_period: 4, seed: 1}\n", "base/shared.yaml")
    file = read_config(tmp_path, "my.yaml")
    assert file.values == {"grpo.val_period": 3, "grpo.seed": 1, "policy.scheduler.name": "x"}
    assert (file.base, file.taken) == (BASE_CONFIG, ("policy.scheduler",))
    written(tmp_path, "defaults: grpo_math_1B.yaml\nenv: {_override_: true, code: {num_workers: 2}}\n")
    of = own_site(tmp_path)
    assert of.job is not None
    assert {o.text for o in of.job.overrides if o.origin == "file"} == {
        f"~{path}" for path in config_keys("v0.6.0") if path.startswith("env.")
    }
    assert [path for path in of.job.config.values if path.startswith("env.")] == ["env.code.num_workers"]


def test_a_file_that_stands_alone_needs_all_that_is_needed(tmp_path: Path) -> None:
    written(tmp_path, "policy: {model_name: Qwen/Qwen3-0.6B}\n")
    missing = {error.split("without ")[1].split("`")[1] for error in errors(own_site(tmp_path)) if "without" in error}
    assert {"grpo.num_prompts_per_step", "policy.generation.backend"} <= missing
    nested: dict[str, Any] = {}
    for path, value in config_keys("v0.7.0").items():
        here = nested
        for part in path.split(".")[:-1]:
            here = here.setdefault(part, {})
        here[path.rpartition(".")[2]] = value
    written(tmp_path, yaml.safe_dump(nested))
    assert errors(own_site(tmp_path, release="v0.7.0", nodes=1)) == []
    del nested["checkpointing"]["save_period"]
    written(tmp_path, yaml.safe_dump(nested))
    (error,) = errors(own_site(tmp_path, release="v0.7.0", nodes=1))
    assert "`checkpointing.save_period` is not set" in error


@pytest.mark.parametrize(
    ("line", "rule", "words"),
    [
        ("policy: {train_global_batch_size: 511}", "batch-size", "`policy.train_global_batch_size` 511"),
        ("policy: {precision: bf16}", "config-choice", "`policy.precision` is `bf16`"),
        ("grpo: {max_num_steps: many}", "config-type", "`grpo.max_num_steps` is `many`"),
        ("policy: {dtensor_cfg: {tensor_parallel_size: 4}}", "parallel-fit", "2 KV heads"),
        ("loss_fn: {ratio_clip_c: 1}", "loss-options", "condition H2"),
        ("policy: null", "config-needed", "policy.model_name"),
    ],
)
def test_what_is_wrong_in_the_file_is_found_at_its_key(tmp_path: Path, line: str, rule: str, words: str) -> None:
    written(tmp_path, f"defaults: grpo_math_1B.yaml\n{line}\n")
    found = [f for f in findings(own_site(tmp_path)) if f.rule == rule]
    assert found
    assert words in " ".join(f.message for f in found)
    assert {f.path for f in found} == {("workload", "config")}


def test_a_key_that_is_not_read_is_told(tmp_path: Path) -> None:
    text = "defaults: grpo_math_1B.yaml\ndata: {dataset_name: squad}\ngrpo: {max_num_step: 3, mine: 1}\n"
    written(tmp_path, text + "env: {math: {num_worker: 3}}\n")
    told = [f"{f.rule} {f.severity}: {f.message} {f.hint}" for f in findings(own_site(tmp_path))]
    assert [line.split("`")[1] for line in told if line.startswith("config-key warning")] == [
        "data.dataset_name",
        "grpo.max_num_step",
    ]
    assert "data.train.dataset_name" in told[0]
    assert "did you mean `grpo.max_num_steps`?" in told[1]


def test_an_override_goes_over_the_file_and_mends_it(tmp_path: Path) -> None:
    written(tmp_path, "defaults: grpo_math_1B.yaml\nloss_fn: {ratio_clip_c: 1}\nmine: {key: 2}\n")
    of = own_site(tmp_path, overrides={"loss_fn.ratio_clip_c": 3, "mine.key": 3})
    assert errors(of) == []
    assert of.job is not None
    assert [o.text for o in of.job.overrides if o.origin == "user"] == ["loss_fn.ratio_clip_c=3", "mine.key=3"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("- a\n", "is no mapping"),
        ("a: [\n", "is no YAML, line 2"),
        ("defaults: grpo_math_8B.yaml\n", "inherits from grpo_math_8B.yaml"),
        ("defaults: {a: 1}\n", "no list of paths"),
        ("defaults: my.yaml\n", "circle"),
        ("logger: {wandb: {key: hf_abcdefghijklmnopqrstuvwxyzABCDEFGH}}\n", "a secret"),
        ("a: " + "x" * (256 * 1024), "more than 262144 bytes"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, text: str | None, words: str) -> None:
    if text is not None:
        written(tmp_path, text)
    profile = tmp_path / "site.yaml"
    profile.write_text(yaml.safe_dump(profile_data(workload={"config": "my.yaml"})), "utf-8")
    (found,) = [f for f in check_file(profile).findings if f.severity is Severity.ERROR]
    assert (found.rule, found.where) == ("config-file", "workload.config")
    assert words in found.message
    assert found.hint
    assert found.location is not None and found.location.text.strip() == "config: my.yaml"


def nested(row: dict[str, Any]) -> dict[str, Any]:
    """A recipe as a file of its own."""
    values: dict[str, Any] = {"defaults": "grpo_math_1B.yaml"}
    for path, value in row["overrides"].items():
        here = values
        for part in path.split(".")[:-1]:
            here = here.setdefault(part, {})
        here[path.rpartition(".")[2]] = value
    return values


def test_nvidias_recipes_pass_as_files_of_ones_own(tmp_path: Path) -> None:
    for row in read(FEW):
        written(tmp_path, yaml.safe_dump(nested(row), sort_keys=False))
        gone = {"~" + key: None for key in row["removed"] if spelled(key, config_keys(row["tag"])) == key}
        nodes = max(row["nodes"], 1)
        of = own_site(tmp_path, release=row["tag"], nodes=nodes, overrides=gone, environment=row["environment"])
        assert [e for e in errors(of) if not e.startswith(("job-pool", "worker", "job-environment"))] == [], row["file"]


def script_errors(folder: Path, script: str, config: bool = True, **workload: Any) -> tuple[list[str], Site]:
    written(folder, "defaults: sft.yaml\npolicy: {model_name: Qwen/Qwen3-0.6B}\n" if "sft" in script else OWN)
    own = {"config": "my.yaml"} if config else {"config": None, "recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke"}
    of = own_site(folder, script=script, **own, **workload)
    return [f"{f.rule}: {f.message}" for f in findings(of) if f.rule != "cuda-driver"], of


def test_the_entry_script_is_one_of_the_image_or_of_the_volume(tmp_path: Path) -> None:
    told, of = script_errors(tmp_path, "examples/run_vlm_grpo.py")
    assert told == []
    assert "python -u examples/run_vlm_grpo.py" in objects(of)["ConfigMap"]["data"]["train.sh"]
    assert script_errors(tmp_path, "/opt/nemo-rl/examples/run_grpo.py")[0] == []
    assert script_errors(tmp_path, "/data/scripts/mine.py")[0] == []
    assert script_errors(tmp_path, "/home/scripts/mine.py")[0][0].startswith("entry-script: ")
    (told,) = script_errors(tmp_path, "examples/run_grpo.py", release="v0.4.0")[0]
    assert "v0.4.0 has no examples/run_grpo.py" in told
    told, _ = script_errors(tmp_path, "examples/run_sft.py", config=False)
    assert [line.split(":")[0] for line in told] == ["entry-script", "script-unjudged"]
    assert "trains by sft" in told[0]


def test_another_algorithm_is_started_and_not_judged(tmp_path: Path) -> None:
    told, of = script_errors(tmp_path, "examples/run_sft.py", overrides={"sft.max_num_steps": 3})
    assert [line.split(":")[0] for line in told] == ["script-unjudged"]
    data = objects(of)["ConfigMap"]["data"]
    assert yaml.safe_load(data["config.yaml"])["defaults"] == "/opt/nemo-rl/examples/configs/sft.yaml"
    assert "++sft.max_num_steps=3" in data["train.sh"]
    assert "++cluster.num_nodes=1" in data["train.sh"]


def test_numbers_are_read_as_omegaconf_reads_them(tmp_path: Path) -> None:
    written(tmp_path, "a: 1e-5\nb: 1.5e3\nc: .5\nd: 7\ne: yes_text\nf: '1e-5'\ng: 1:30\n")
    values = read_config(tmp_path, "my.yaml").values
    assert values | {"g": 0} == {"a": 1e-5, "b": 1500.0, "c": 0.5, "d": 7, "e": "yes_text", "f": "1e-5", "g": 0}
    assert ConfigFile("x").whole


def test_a_revision_of_the_profile_has_the_files_of_that_revision(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    profile = tmp_path / "site.yaml"
    profile.write_text(yaml.safe_dump(profile_data(workload={"config": "my.yaml"})), "utf-8")
    written(tmp_path, "defaults: [base/shared.yaml, grpo_math_1B.yaml]\ngrpo: {max_num_steps: 1}\n")
    written(tmp_path, "grpo: {val_period: 1}\n", "base/shared.yaml")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    written(tmp_path, "grpo: {val_period: 2}\n", "base/shared.yaml")
    git("commit", "-qam", "two")
    for revision, period in (("HEAD~1", 1), ("HEAD", 2)):
        folder = tmp_path / revision.replace("~", "-")
        folder.mkdir()
        checkout(profile, revision, folder)
        file = read_config(folder, "my.yaml")
        assert (file.fault, file.values["grpo.val_period"], file.base) == ("", period, BASE_CONFIG)
    profile.write_text(yaml.safe_dump(profile_data(workload={"config": "../my.yaml"})), "utf-8")
    git("commit", "-qam", "three")
    with pytest.raises(UnusableInput, match="stands outside"):
        checkout(profile, "HEAD", folder)
