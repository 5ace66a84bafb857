"""Rules of what lies on disks: models by path, caches off the shared volume, environments, and working offline."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity, rule
from groundplan.nemo_rl.data_rules import PLACEHOLDER
from groundplan.nemo_rl.places import place
from groundplan.nemo_rl.training import lies_under
from groundplan.site.resolve import Site
from groundplan.workload.prefetch import OFFLINE
from groundplan.workload.training_rules import training_of
from groundplan.workload.values import JobValues

#: Keys that name a model by its Hugging Face name or its folder.
_MODELS = ("policy.model_name", "policy.tokenizer.name", "env.reward_model.model_name")
#: What Hugging Face's libraries keep, each with a place of its own.
_CACHES = ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_DATASETS_CACHE", "HF_MODULES_CACHE", "TRANSFORMERS_CACHE")
#: Where the image has the environments of Ray's actors.
_ENVIRONMENTS = {"NEMO_RL_VENV_DIR": "/opt/ray_venvs", "NEMO_GYM_VENV_DIR": "/opt/gym_venvs"}
_TRUE = ("1", "ON", "YES", "TRUE")


@rule("local-model")
def local_model(site: Site) -> Iterator[Problem]:
    """A model that is named by its folder lies on the shared volume, where every node finds it.

    A relative folder is looked for in the image's sources. With an image of your own it is a warning: it may hold it.

    Source: Hugging Face documentation, "from_pretrained" (a folder is read where it is, another name is downloaded);
    NVIDIA-NeMo/RL, docker/Dockerfile (WORKDIR /opt/nemo-rl).

    Mend: copy the folder to the volume and name it from the mount on, such as /data/models/mine.
    """
    job = site.job
    if job is None:
        return
    for key in _MODELS:
        name = job.config.text(key)
        if "${" in str(job.config.values.get(key)):  # the model's, which is judged itself
            continue
        if not name.startswith(("/", ".", "~")) or job.shares(name) or name.startswith(PLACEHOLDER):
            continue
        at = place(training_of(job), key, "policy.model_name")
        if at == ("workload", "recipe"):
            continue
        message = f"`{key}` is {name}, which is not under {job.mount_path}, where the shared volume is"
        hint = f"copy it there, and set `{key}: {job.mount_path}/models/{name.rstrip('/').rpartition('/')[2]}`"
        yield Problem(at, message, hint, Severity.WARNING if job.spec.image else None)


@rule("local-caches", Severity.WARNING)
def local_caches(site: Site) -> Iterator[Problem]:
    """Caches of models and data stay on the shared volume, and environments where the image has them.

    groundplan sets HF_HOME there. A cache elsewhere is a node's own: each node downloads anew, and it goes with the
    pod. NeMo RL builds what it does not find under NEMO_RL_VENV_DIR with uv, from the network, before the training.

    Source: Hugging Face documentation, "Environment variables"; NVIDIA-NeMo/RL, nemo_rl/utils/venvs.py
    (`create_local_venv_on_each_node`) and docker/Dockerfile (/opt/ray_venvs).

    Mend: leave the variable out.
    """
    job = site.job
    if job is None:
        return
    for name, value in job.spec.environment.items():
        at: ProfilePath = ("workload", "environment", name)
        if name in _CACHES and not job.shares(value):
            message = f"workload.environment: `{name}` {value} is not under {job.mount_path}: each node downloads anew"
            yield Problem(at, message, f"leave it out: HF_HOME is {job.environment['HF_HOME']}")
        elif name in _ENVIRONMENTS and not lies_under(value, _ENVIRONMENTS[name]) and not job.spec.image:
            where = "once, on the shared volume" if job.shares(value) else "on each node"
            image = _ENVIRONMENTS[name]
            message = f"workload.environment: `{name}` {value} is not the image's {image}"
            yield Problem(at, f"{message}: environments are built {where}, from the network", "leave it out")


@rule("offline-models", Severity.WARNING)
def offline_models(site: Site) -> Iterator[Problem]:
    """Who works offline has model, tokenizer and data in the cache or on the volume beforehand.

    HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE keep from every download, HF_DATASETS_OFFLINE from those of data. The
    prefetch Job downloads all the same: it is there for that, and brings models.

    Source: Hugging Face documentation, "Environment variables" (HF_HUB_OFFLINE) and "Offline" of datasets.

    Mend: name folders and files of the volume, or bring what is missing once with `prefetch` or a job that is online.
    """
    job = site.job
    if job is None:
        return
    asked = [name for name in OFFLINE if job.environment.get(name, "").upper() in _TRUE]
    if not asked:
        return
    missing = [] if asked == ["HF_DATASETS_OFFLINE"] else _models_missing(job)
    missing += _data_missing(job)
    if missing:
        message = f"workload.environment: {asked[0]} keeps the job from downloading {', '.join(missing)}"
        hint = f"see that {job.environment['HF_HOME']} has them: an earlier job, or prefetch for models"
        yield Problem(("workload", "environment", asked[0]), message, hint)


def _models_missing(job: JobValues) -> list[str]:
    names = (job.config.text(key) for key in _MODELS)
    hub = dict.fromkeys(name for name in names if name and not name.startswith(("/", ".", "~")))
    brought = job.models if job.spec.prefetch.enabled else ()
    return [name for name in hub if name not in brought]


def _data_missing(job: JobValues) -> list[str]:
    """The data sets that are looked for on Hugging Face: all but local files."""
    if job.prepares_data:
        return ["openai/gsm8k"]
    found = []
    parts = ("data.train", "data.validation") if job.config.has("data.train") else ("data",)
    for part in parts:
        name = job.config.text(f"{part}.dataset_name")
        path = job.config.text(f"{part}.data_path") or job.config.text("data.train_data_path")
        if name and not path.startswith(("/", "${oc.env:")):
            found.append(f"data set {name}")
    return list(dict.fromkeys(found))
