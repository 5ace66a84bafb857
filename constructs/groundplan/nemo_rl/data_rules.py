"""Conditions of data, tokenizer and environments."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, Severity
from groundplan.nemo_rl.conditions import Broken, Condition, Facts, broken, judged
from groundplan.nemo_rl.config import VLLM
from groundplan.nemo_rl.models import model_shape
from groundplan.nemo_rl.places import place
from groundplan.nemo_rl.releases import WORKDIR
from groundplan.nemo_rl.shape import reward_model_on
from groundplan.nemo_rl.stated import setting
from groundplan.nemo_rl.training import Training, check, lies_under

_TEMPLATE = "policy.tokenizer.chat_template_kwargs"
_REWARD, _GYM = "env.reward_model", "env.should_use_nemo_gym"
#: What NVIDIA's recipes write where a path of one's own belongs: not judged.
PLACEHOLDER = "/path/to/"
_FILES = (".jsonl", ".json", ".csv", ".parquet", ".arrow", ".txt")
_TOKENIZER, _MODEL = "policy.tokenizer.name", "policy.model_name"


def _data_file(facts: Facts) -> Broken | None:
    if not facts.since("v0.6.0"):
        key = "data.train_data_path"
        if facts.get("data.dataset_name") != "ResponseDataset" or facts.get(key) is not None:
            return None
        such = setting(key, f"{facts.training.mount_path}/datasets/train.jsonl")
        mend = f"name a file on the shared volume: set {such}, say"
        return broken(f"{key} data.dataset_name", "ResponseDataset reads this file", mend)
    for part in ("train", "validation"):
        subset = f"data.{part}.subset"
        if facts.get(subset) is not None and facts.config.text(f"data.{part}.data_path").endswith(_FILES):
            return broken(f"{subset} data.{part}.data_path", "a file has no subsets", f"set `{subset}: null`")
    return None


def _off_the_volume(facts: Facts) -> Broken | None:
    paths = ["data.train_data_path", "data.val_data_path", "data.prompt_file", "data.system_prompt_file"]
    paths += [f"data.{part}.{key}" for part in ("train", "validation") for key in ("data_path", "prompt_file")]
    paths += ["data.default.prompt_file", "data.default.system_prompt_file"]
    for path in paths:
        file = facts.config.text(path)
        if not file.startswith("/") or file.startswith(PLACEHOLDER):
            continue
        if not lies_under(file, WORKDIR) and not facts.training.shares(file):
            reason = (
                f"neither under {facts.training.mount_path}, where the shared volume is, nor in the image's {WORKDIR}"
            )
            name = file.rpartition("/")[2]
            mend = f"put it there, and set {setting(path, f'{facts.training.mount_path}/{name}')}"
            return broken(path, reason, mend)
    return None


def _shape(facts: Facts) -> Broken | None:
    """From v0.6.0 on data is a group for each split; what is read without asking is there."""
    if not facts.config.has("data.train"):
        flat = [key for key in ("data.dataset_name", "data.train_data_path") if facts.config.has(key)]
        name = facts.get(flat[0]) if flat == ["data.dataset_name"] else "OpenMathInstruct-2"
        reason = "training data stands in this group from v0.6.0 on"
        return broken(f"data.train {' '.join(flat)}", reason, f"set {setting('data.train.dataset_name', name)}")
    key = "data.use_multiple_dataloader"
    if key in facts.config.values:
        return None
    return broken(key, "it is read, and must be true or false", f"set {setting(key, False)}")


def _environment(facts: Facts) -> Broken | None:
    parts = ("data.default.", "data.train.", "data.validation.") if facts.since("v0.6.0") else ("data.",)
    for path in (f"{part}env_name" for part in parts):
        name = facts.config.text(path)
        if name and not facts.config.has(f"env.{name}") and not facts.gym:
            there = sorted(
                {key.split(".")[1] for key in facts.config.values if key.startswith("env.") and key.count(".") > 1}
            )
            usual = "math" if "math" in there or not there else there[0]
            return broken(path, f"there is no group env.{name}", f"set {setting(path, usual)}")
    return None


def _template(facts: Facts) -> Broken | None:
    value = facts.config.values.get(_TEMPLATE)
    if value is None or isinstance(value, dict):
        return None
    return broken(_TEMPLATE, "it must be null or a mapping", f"set `{_TEMPLATE}: null`")


def _workers(facts: Facts) -> Broken | None:
    for path in facts.config.values:
        parts = path.split(".")
        if len(parts) == 3 and parts[0] == "env" and parts[2] == "num_workers" and (facts.number(path) or 0) < 1:
            return broken(path, "there is no worker, and rewards divide by their number", f"set `{path}: 8`")
    return None


def _reward_model(facts: Facts) -> Broken | None:
    if not reward_model_on(facts.config):
        return None
    needs = {
        f"{_REWARD}.reward_model_cfg.enabled": True,
        f"{_REWARD}.reward_model_cfg.reward_model_type": "bradley_terry",
        f"{_REWARD}.dtensor_cfg.enabled": True,
        f"{_REWARD}.sequence_packing.enabled": False,
        f"{_REWARD}.dynamic_batching.enabled": False,
        f"{_REWARD}.dtensor_cfg.cpu_offload": False,
        f"{_REWARD}.dtensor_cfg.activation_checkpointing": False,
    }
    for key, wanted in needs.items():
        value = facts.get(key)
        if value != wanted and not (value is None and wanted is False):
            shown = str(wanted).lower() if isinstance(wanted, bool) else wanted
            return broken(f"{key} {_REWARD}.enabled", f"its environment needs {shown}", f"set `{key}: {shown}`")
    norm = f"{_REWARD}.max_grad_norm"
    if facts.get(norm) is None:
        return None
    return broken(norm, "a reward model is not trained, and must have none", f"set `{norm}: null`")


def _gym(facts: Facts) -> Broken | None:
    if not facts.gym or not facts.vllm:
        return None
    for key in (f"{VLLM}.async_engine", f"{VLLM}.expose_http_server"):
        if not facts.on(key):
            return broken(f"{key} {_GYM}", "NeMo Gym needs it true", f"set `{key}: true`")
    for key in (f"policy.generation.{name}" for name in ("stop_strings", "stop_token_ids", "top_k")):
        if facts.get(key) not in (None, []):
            return broken(f"{key} {_GYM}", "NeMo Gym takes none", f"set `{key}: null`")
    return None


DATA = (
    Condition("I3", _shape),
    Condition("I5", _data_file),
    Condition("I6", _off_the_volume, sure=False),
    Condition("I7", _environment),
    Condition("I8", _template),
    Condition("I10", _workers),
    Condition("I11", _reward_model),
    Condition("I12", _gym),
)


@check("data-options")
def data_options(training: Training) -> Iterator[Problem]:
    """Data, templates and environments are given as NeMo RL reads them.

    A file that is neither on the shared volume nor in the image is a warning: an image of one's own may hold it.

    Source: NVIDIA-NeMo/RL, at the line and the release that the finding names; conditions I3 to I12 of
    docs/nemo-rl-conditions.md.

    Mend: set the key that the finding names.
    """
    yield from judged(training, DATA)


@check("tokenizer-model")
def tokenizer_model(training: Training) -> Iterator[Problem]:
    """The tokenizer is the model's, or one of its kind.

    Token numbers of another vocabulary mean other words to the model: nothing stops, and nothing is learnt. It is an
    error when architecture and vocabulary are known to differ, and a warning when the two are of different makers.

    Source: NVIDIA-NeMo/RL, examples/configs/grpo_math_1B.yaml (`policy.tokenizer.name` refers to `policy.model_name`)
    and nemo_rl/algorithms/utils.py, get_tokenizer; sizes by config.json (catalog/models.yaml).

    Mend: set `policy.tokenizer.name` to the model's name.
    """
    name, model = training.config.text(_TOKENIZER), training.config.text(_MODEL)
    if not name or not model or name == model or "/" not in name or "/" not in model:
        return
    at, hint = place(training, _TOKENIZER, _MODEL), f"set `{_TOKENIZER}: {model}`"
    ours, its = model_shape(model), model_shape(name)
    if ours and its and ours.architecture != its.architecture and ours.vocabulary != its.vocabulary:
        sizes = f"a vocabulary of {its.vocabulary}, and {model} one of {ours.vocabulary}"
        yield Problem(at, f"`{_TOKENIZER}` is {name}, which has {sizes}", hint)
    elif (
        not (ours and its)
        and name.split("/")[0] != model.split("/")[0]
        and not name.startswith("/")
        and not model.startswith("/")
    ):
        message = f"`{_TOKENIZER}` is {name}, and `{_MODEL}` is {model} of another maker"
        yield Problem(at, message, hint, Severity.WARNING)
