"""Single values that nobody else judges: bounds, needed keys, double spellings, mappings' keys, folders, variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from findings import Finding, Severity, UserError
from groundplan.nemo_rl.config import Config
from groundplan.nemo_rl.hydra import unwritable_keys, value_text
from groundplan.site.profile import parse_profile
from groundplan.site.resolve import resolve
from workload.jobs import findings, objects, profile_data, site

SMOKE = "grpo-qwen2.5-1.5b-gsm8k-smoke"
VLLM = "policy.generation.vllm_cfg"


def of(overrides: dict[str, Any], **workload: Any) -> list[Finding]:
    return findings(site(workload={"recipe": SMOKE, "overrides": overrides} | workload))


@pytest.mark.parametrize(
    ("path", "value", "good", "words"),
    [
        ("grpo.max_num_steps", 0, 1, "is 0 and must be at least 1"),
        ("grpo.max_num_steps", -5, 1, "is -5 and must be at least 1"),
        ("policy.max_total_sequence_length", 0, 1024, "is 0 and must be at least 1"),
        ("checkpointing.save_period", 0, 1, "is 0 and must be at least 1"),
        ("grpo.num_prompts_per_step", 0, 32, "is 0 and must be at least 1"),
        ("grpo.num_generations_per_prompt", -3, 16, "is -3 and must be at least 1"),
        ("policy.train_global_batch_size", 0, 512, "is 0 and must be at least 1"),
        ("policy.dtensor_cfg.tensor_parallel_size", 0, 2, "is 0 and must be at least 1"),
        (f"{VLLM}.gpu_memory_utilization", 0, 0.31, "is 0 and must be between 0 and 1"),
        (f"{VLLM}.gpu_memory_utilization", 1, 0.95, "is 1 and must be between 0 and 1"),
    ],
)
def test_bounds(path: str, value: Any, good: Any, words: str) -> None:
    """One finding with the user's own number, none of what it would lead to; the next good value is silent."""
    (found,) = of({path: value})
    assert (found.rule, found.severity, found.path[-1]) == ("config-bounds", Severity.ERROR, path)
    assert f"`{path}` {words}" in found.message
    assert of({path: good}) == []


def test_a_share_of_nearly_all_is_warned_of() -> None:
    (found,) = of({f"{VLLM}.gpu_memory_utilization": 0.96})
    assert (found.rule, found.severity) == ("config-bounds", Severity.WARNING)


def test_a_save_period_matters_only_with_checkpoints() -> None:
    assert of({"checkpointing.save_period": 0, "checkpointing.enabled": False}) == []


def test_a_number_as_text_is_no_one() -> None:
    (found,) = of({"grpo.num_prompts_per_step": "16"})
    assert found.rule == "config-type"


def test_vllms_length() -> None:
    (found,) = of({f"{VLLM}.max_model_len": 1023})
    assert (found.rule, found.severity) == ("vllm-length", Severity.WARNING)
    assert "1023 is below policy.max_total_sequence_length 1024" in found.message
    assert of({f"{VLLM}.max_model_len": 1024}) == []


@pytest.mark.parametrize(
    "overrides",
    [
        {"~policy.model_name": None},
        {"policy": None},
        {"~policy": None},
        {"~grpo": None},
        {"policy.generation": None},
        {"~cluster": None},
        {"data": None},
        {"~logger": None},
        {"++grpo": None},
        {"policy": {"tokenizer": None}},
    ],
)
def test_needed_keys_are_refused_once(overrides: dict[str, Any]) -> None:
    (found,) = of(overrides)
    assert (found.rule, found.severity) == ("config-needed", Severity.ERROR)


@pytest.mark.parametrize("overrides", [{"~grpo.seed": None}, {"policy.scheduler": None}, {"~logger.mlflow": None}])
def test_other_keys_may_go(overrides: dict[str, Any]) -> None:
    assert of(overrides) == []


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            {"grpo.max_num_steps": 1, "grpo": {"max_num_steps": 2}},
            "as `grpo.max_num_steps` and as `grpo` > `max_num_steps`",
        ),
        (
            {"grpo.max_num_steps": 1, "++grpo.max_num_steps": 1},
            "as `grpo.max_num_steps` and as `++grpo.max_num_steps`",
        ),
        ({"grpo.seed": 1, "~grpo.seed": None}, "as `grpo.seed` and as `~grpo.seed`"),
        (
            {"policy": {"optimizer.kwargs.lr": 1e-6}, "policy.optimizer": {"kwargs": {"lr": 2e-6}}},
            "as `policy` > `optimizer.kwargs.lr` and as `policy.optimizer` > `kwargs` > `lr`",
        ),
    ],
)
def test_a_key_written_twice(overrides: dict[str, Any], words: str) -> None:
    (found,) = [f for f in of(overrides) if f.rule == "config-twice"]
    assert found.severity is Severity.ERROR and words in found.message


def test_neighbouring_keys_are_not_twice() -> None:
    assert of({"grpo.max_num_steps": 1, "grpo": {"seed": 2}, "policy.optimizer": {"kwargs": {"lr": 2e-6}}}) == []


@pytest.mark.parametrize("key", ["a b", "x:y", "1", "null", "True", "", "a=b", "é", '"'])
def test_keys_that_hydra_cannot_take(key: str) -> None:
    (found,) = of({"policy.generation.vllm_kwargs.a": [{key: 1}]})
    assert (found.rule, found.severity) == ("config-key", Severity.ERROR)
    assert f"the key `{key}`" in found.message
    assert unwritable_keys({"a": [1, {"b": {key: None}}]}) == [key]


def test_keys_that_hydra_takes() -> None:
    assert of({"policy.generation.vllm_kwargs.a": [{"a-b": 1, "_c.d": [{"e2": None}]}]}) == []
    assert value_text([{"a-b": 1, 7: "x"}]) == "[{a-b:1,7:x}]"


@pytest.mark.parametrize(
    "folder", ["/data/../tmp/x", "/data/jobs/../../x", "/database", "data/x", "", "/data2/../database", "${no.such}/c"]
)
def test_folders_that_leave_the_mount(folder: str) -> None:
    assert "shared-folders" in {f.rule for f in of({"checkpointing.checkpoint_dir": folder})}
    retried = of({"checkpointing.checkpoint_dir": folder}, retries=1)
    assert "retries-checkpoints" in {f.rule for f in retried}


@pytest.mark.parametrize(
    "folder", ["/data", "/data/x/../y", "//data//x", "/tmp/../data/x", "${logger.log_dir}/c", "${logger.log_dir}"]
)
def test_folders_on_the_mount(folder: str) -> None:
    assert of({"checkpointing.checkpoint_dir": folder}, retries=1) == []


def test_the_script_makes_the_folder_that_a_reference_names() -> None:
    overrides = {"logger.log_dir": "/data/l", "checkpointing.checkpoint_dir": "${logger.log_dir}/c"}
    script = objects(site(workload={"recipe": SMOKE, "overrides": overrides}))["ConfigMap"]["data"]["train.sh"]
    assert 'mkdir -p "$CHECKPOINTS" /data/l\n' in script and "\nCHECKPOINTS=/data/l/c\n" in script


def test_references() -> None:
    config = Config({"a": "${b}/c-${n}", "b": "/x", "n": 4, "whole": "${n}", "lost": "${z}/c", "round": "${round}/x"})
    assert [config.get(key) for key in ("a", "whole", "lost")] == ["/x/c-4", 4, "${z}/c"]
    assert isinstance(config.get("round", ""), str)


@pytest.mark.parametrize(
    ("name", "value", "severity"),
    [
        ("NCCL_NET", "Socket", Severity.WARNING),
        ("NCCL_SOCKET_IFNAME", "eth1", Severity.WARNING),
        ("NCCL_IB_TC", "1", Severity.WARNING),
        ("PYTHONPATH", "/data/code", Severity.WARNING),
        ("PATH", "/bin", Severity.ERROR),
        ("LD_PRELOAD", "/x.so", Severity.ERROR),
        ("HF_HOME", "/elsewhere", Severity.ERROR),
    ],
)
def test_variables_that_differ(name: str, value: str, severity: Severity) -> None:
    (found,) = of({}, environment={name: value})
    assert (found.rule, found.severity) == ("job-environment", severity)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_NET", "gIB"),
        ("NCCL_SOCKET_IFNAME", "eth0"),
        ("NCCL_IB_TC", "52"),
        ("HF_HOME", "/data/huggingface"),
        ("MY_PATH", "/bin"),
    ],
)
def test_variables_as_they_are_anyway(name: str, value: str) -> None:
    assert of({}, environment={name: value}) == []


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("$(HOME)/x", "$$(HOME)/x"),
        ("a b,c=$d", "a b,c=$d"),
        ("$$(A)", "$$$$(A)"),
        ("cost: 5$", "cost: 5$"),
        ("a$$b", "a$$$b"),
    ],
)
def test_the_kubelet_expands_nothing(value: str, written: str) -> None:
    cluster = objects(site(workload={"recipe": SMOKE, "environment": {"OWN": value}}))["RayJob"]["spec"]
    head = cluster["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]
    assert {"name": "OWN", "value": written} in head["env"]
    assert expanded(written) == value


def expanded(text: str) -> str:
    """What the kubelet makes of it with no variable known (k8s.io/kubernetes/third_party/forked/golang/expansion): two
    dollars are one, and ``$(NAME)`` would be looked up, which must not happen."""
    result, at = "", 0
    while at < len(text):
        if text[at] == "$" and text[at + 1 : at + 2] == "$":
            result, at = result + "$", at + 2
        elif text[at] == "$" and text[at + 1 : at + 2] == "(":
            raise AssertionError(f"{text} refers to a variable")
        else:
            result, at = result + text[at], at + 1
    return result


RECIPE = {"summary": "mine", "config": "x.yaml", "nodes": 1, "overrides": {"policy.model_name": "Qwen/Qwen3-0.6B"}}
RELEASE = {"image": "a/b:v1", "ray": "2.56.1", "cuda": "12.9", "script": "x.py; id", "gsm8k": "built-in"}


def resolved(folder: Path, catalog: dict[str, Any], **workload: Any) -> Any:
    (folder / "own.yaml").write_text(yaml.safe_dump(catalog))
    data = profile_data(workload=workload, catalog=["own.yaml"])
    return resolve(parse_profile(yaml.safe_dump(data))[0], folder)


@pytest.mark.parametrize("name", ["mine\n$(touch /tmp/x)\n#", "a b", "-x", "", "$x", "mine\n"])
def test_names_of_catalog_entries_are_plain(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="catalog entry of recipe"):
        resolved(tmp_path, {"recipes": {name: RECIPE}}, recipe=name)
    with pytest.raises(UserError, match="catalog entry of release"):
        resolved(tmp_path, {"releases": {name: RELEASE}})


def test_a_plain_name_passes_and_a_script_is_quoted(tmp_path: Path) -> None:
    catalog = {"recipes": {"Mine_2.x-y": RECIPE}, "releases": {"v9.0.0": RELEASE}}
    script = objects(resolved(tmp_path, catalog, recipe="Mine_2.x-y", release="v9.0.0"))["ConfigMap"]["data"][
        "train.sh"
    ]
    assert "# Mine_2.x-y on NeMo RL v9.0.0." in script
    assert "python -u 'x.py; id' " in script
