"""What the workload section comes to: the configuration, the place and the name of the job."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from groundplan.catalog import Catalog
from groundplan.gpu.fabric_values import FabricValues, fabric_of
from groundplan.gpu.values import PoolValues, nodes_of
from groundplan.nemo_rl import config
from groundplan.nemo_rl.config_file import ConfigFile, read_config
from groundplan.nemo_rl.deadline import SAVE_BY, must_save_by
from groundplan.nemo_rl.releases import GRPO, Model, Recipe, Release, model_of, recipe_of, release_of
from groundplan.platform.secrets import SECRETS, secret_name
from groundplan.platform.spec import INIT_CONTAINERS, SecretReference, SecretsSpec
from groundplan.site.profile import Profile
from groundplan.storage.buckets import Volumes
from groundplan.workload import rayjob
from groundplan.workload.environment import environment_of
from groundplan.workload.script import CONFIG, FOLDER
from groundplan.workload.spec import WorkloadSpec
from groundplan.workload.values import (
    SAVE_CONSOLIDATED,
    JobValues,
    Queue,
    SecretVariable,
    Share,
    WorkerSize,
    checkpoints_of,
    data_of,
)

#: Longest name before the hyphen and the hash.
MAX_BASE_NAME = rayjob.MAX_NAME - rayjob.HASH_DIGITS - 1

#: Node labels of GKE by which Kueue places pods close to each other.
TOPOLOGY_LABELS = {
    "block": "cloud.google.com/gce-topology-block",
    "subblock": "cloud.google.com/gce-topology-subblock",
    "none": "",
}

#: A release of which no configuration keys are known: those of other algorithms are not.
_UNKNOWN = "none"

#: Stands for the name in the text that is hashed: the name cannot stand in what it is made from.
_UNNAMED = "job"


def resolve_job(
    profile: Profile,
    catalog: Catalog,
    volumes: Volumes,
    fabrics: tuple[FabricValues, ...],
    pools: tuple[PoolValues, ...],
    file: ConfigFile | None = None,
) -> JobValues | None:
    """The job; None when there is none, when the catalog knows no such recipe or release, or when the user's own
    configuration cannot be used. Raises UserError on a wrong entry of the catalog."""
    spec = profile.workload
    if spec.mode == "none":
        return None
    release = release_of(catalog, spec.release or catalog.default_release)
    if release is None or (file and file.fault):
        return None
    if spec.script:
        release = replace(release, script=spec.script)
    if release.algorithm != GRPO:
        release = replace(release, keys_of=_UNKNOWN)
    recipe = _recipe_of(file, release) if file else recipe_of(catalog, spec.recipe)
    if recipe is None:
        return None
    own, nodes = _place(spec, recipe, pools)
    job = _plan(profile, recipe, release, volumes, fabrics, own, nodes, file)
    return _named(job, f"{job.base_name[:MAX_BASE_NAME].rstrip('-')}-{rayjob.digest(job)}")


def config_file(profile: Profile, catalog: Catalog, folder: Path) -> ConfigFile | None:
    """The user's own configuration; None when the job has a recipe. `folder` is the profile's."""
    spec = profile.workload
    if spec.config is None:
        return None
    release = release_of(catalog, spec.release or catalog.default_release)
    judged = release is None or replace(release, script=spec.script or release.script).algorithm == GRPO
    return read_config(folder, spec.config, any_base=not judged)


def _recipe_of(file: ConfigFile, release: Release) -> Recipe:
    """The user's own configuration as a recipe."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", Path(file.name).stem).strip("-.") or "own"
    nodes = file.values.get("cluster.num_nodes")
    return Recipe(
        name=name,
        summary=f"{file.name}, by {release.script}",
        config=f"{FOLDER}/{CONFIG}",
        nodes=nodes if isinstance(nodes, int) and nodes > 0 else 1,
        overrides={},
        sets=file.values,
    )


def _place(spec: WorkloadSpec, recipe: Recipe, pools: tuple[PoolValues, ...]) -> tuple[tuple[PoolValues, ...], int]:
    """The job's pools and nodes: on machines of fewer GPUs than a recipe's nodes have, more of them."""
    own = choose_pools(pools, spec.nodes or recipe.nodes, spec.pool)
    return own, spec.nodes or nodes_of(recipe.nodes, own[0].gpus_per_node if own else 0)


def effective_secrets(given: SecretsSpec, model: Model) -> SecretsSpec:
    """The secrets of the profile, with the token of a gated model that the profile says nothing of.

    A profile of three lines has to run: Terraform then asks for the token. An explicit ``hugging_face: null`` stays
    none, which the rule `gated-model` refuses.
    """
    if not model.gated or "hugging_face" in given.model_fields_set:
        return given
    return given.model_copy(update={"hugging_face": SecretReference(variable=True)})


def choose_pools(pools: tuple[PoolValues, ...], nodes: int, chosen: str | list[str] | None) -> tuple[PoolValues, ...]:
    """The named pools, or those of the named entries; else those of the first entry that has enough nodes, else of the
    largest. None when there are no such pools."""
    if chosen is not None:
        names = [chosen] if isinstance(chosen, str) else chosen
        return tuple(pool for name in names for pool in pools if name in (pool.name, pool.entry))
    entries = [tuple(pool for pool in pools if pool.entry == entry) for entry in dict.fromkeys(p.entry for p in pools)]
    enough = next((entry for entry in entries if most_nodes(entry) >= nodes), None)
    return enough or max(entries, key=most_nodes, default=())


def most_nodes(pools: tuple[PoolValues, ...]) -> int:
    """Of all of them."""
    return sum(pool.max_nodes for pool in pools)


def shares_of(pools: tuple[PoolValues, ...], nodes: int) -> tuple[Share, ...]:
    """A job's workers over pools: over as few of them as hold all, in their order, and as evenly as they allow."""
    used = next((n for n in range(1, len(pools) + 1) if most_nodes(pools[:n]) >= nodes), len(pools))
    left, found = nodes, []
    for n, pool in enumerate(pools[:used]):
        rest = most_nodes(pools[n + 1 : used])
        here = max(-(-left // (used - n)), left - rest)
        here = left if n + 1 == used else min(here, pool.max_nodes)
        found.append(Share(pool, here, f"-{n + 1}" if used > 1 else ""))
        left -= here
    return tuple(found)


def slug(name: str) -> str:
    """A recipe's name as the start of a Kubernetes name: ``grpo-qwen2.5-1.5b`` -> ``grpo-qwen2-5-1-5b``."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return plain if plain[:1].isalpha() else f"job-{plain}".rstrip("-")


def _plan(
    profile: Profile,
    recipe: Recipe,
    release: Release,
    volumes: Volumes,
    fabrics: tuple[FabricValues, ...],
    pools: tuple[PoolValues, ...],
    nodes: int,
    file: ConfigFile | None,
) -> JobValues:
    """The job, complete but for its name."""
    spec = profile.workload
    pool = pools[0] if pools else None
    gpus = (pool.gpus_per_node if pool else 0) or 8
    mount_path = volumes.shared.mount_path
    folder = _folder(mount_path, _UNNAMED)
    draft = config.start(release, recipe, file)
    config.set_all(draft, recipe.overrides_at(release), "recipe")
    config.set_all(draft, _dataset(recipe, release, data_of(volumes, spec.data)), "release")
    config.set_all(draft, _shape(draft, nodes, gpus), "site")
    config.set_all(draft, _logging(profile, volumes, folder, _UNNAMED), "site")
    config.set_all(draft, spec.overrides, "user")
    if spec.mode == "job" and draft.values.get("checkpointing.enabled") is True and not _asked(draft, file, SAVE_BY):
        # A constant here: the name must not change with the deadline, which is changed in place.
        draft.set(SAVE_BY, _UNNAMED, "site")
    if spec.export.enabled and _saves_shards(draft) and SAVE_CONSOLIDATED not in draft.overrides:
        draft.set(SAVE_CONSOLIDATED, True, "site")
    composed = config.Config(draft.values)
    model = model_of(composed.text("policy.model_name"))
    secrets = effective_secrets(profile.secrets, model)
    machine = pool.machine if pool else None
    fabric = fabric_of(profile.gpu, fabrics, pool, profile.zone) if pool else None
    kueue, size = profile.platform.kueue, WorkerSize.of(machine)
    return JobValues(
        name=_UNNAMED,
        base_name=spec.name or slug(recipe.name),
        site=profile.site,
        namespace=profile.platform.namespace,
        service_account=profile.platform.service_account,
        labels=_labels(profile, recipe),
        spec=spec,
        recipe=recipe,
        release=release,
        model=model,
        image=spec.image or release.image,
        kuberay=profile.platform.kuberay.version,
        operator_waits=profile.platform.kuberay.environment[INIT_CONTAINERS].lower() == "true",
        pool=pool,
        worker_groups=shares_of(pools, nodes),
        nodes=nodes,
        gpus=gpus,
        cpu_pool=profile.cluster.cpu_pool.name,
        nics=fabric.nics(*pool.own_nics) if pool and fabric else (),
        volumes=volumes,
        fuse=profile.storage.fuse,
        folder=folder,
        config=composed,
        overrides=tuple(draft.overrides.values()),
        environment=environment_of(release, machine, mount_path) | spec.environment,
        site_secrets=secrets,
        secrets=_secrets(secrets),
        image_pull_secret=secrets.image_pull or "",
        head_cpu=spec.head.cpu or recipe.head_cpu,
        head_memory=spec.head.memory or recipe.head_memory,
        worker_cpu=spec.worker.cpu or size.cpu,
        worker_memory=spec.worker.memory or f"{size.memory_gib}Gi",
        worker_shm=spec.worker.shm or f"{size.shm_gib}Gi",
        file=file,
        queue=Queue(kueue.queue, TOPOLOGY_LABELS[kueue.topology]) if kueue.enabled else None,
    )


def _asked(draft: config.Draft, file: ConfigFile | None, path: str) -> bool:
    """Whether recipe or user set the path, to null or anything."""
    return path in draft.overrides or (file is not None and path in file.values)


def _named(job: JobValues, name: str) -> JobValues:
    """The job under its name: the folder of the run, and the settings of the site's own that say either.

    What the user wrote over such a setting stays as it is.
    """
    folder = _folder(job.mount_path, name)
    settings: dict[str, Any] = {
        **_run_folders(folder, job.checkpoints_of(name)),
        "logger.wandb.name": name,
        SAVE_BY: must_save_by(job.spec.deadline_hours),
    }
    overrides = tuple(
        replace(o, value=settings[o.path]) if o.origin == "site" and o.path in settings else o for o in job.overrides
    )
    own = {o.path: o.value for o in overrides if o.origin == "site" and o.path in settings}
    composed = config.Config({path: own.get(path, value) for path, value in job.config.values.items()})
    return replace(job, name=name, folder=folder, config=composed, overrides=overrides)


def _folder(mount_path: str, name: str) -> str:
    return f"{mount_path}/jobs/{name}"


def _run_folders(folder: str, checkpoints: str) -> dict[str, object]:
    return {"checkpointing.checkpoint_dir": checkpoints, "logger.log_dir": f"{folder}/logs"}


def _dataset(recipe: Recipe, release: Release, folder: str) -> dict[str, object]:
    """GSM8K the way the release names it, with its test split for validation, which none is made of by itself."""
    if recipe.dataset != "gsm8k":
        return {}
    if release.gsm8k == "built-in":
        return {
            "data.train.dataset_name": "gsm8k",
            "data.validation.dataset_name": "gsm8k",
            "data.validation.split": "test",
        }
    return {
        "data.dataset_name": "ResponseDataset",
        "data.train_data_path": f"{folder}/train.jsonl",
        "data.val_data_path": f"{folder}/test.jsonl",
        "data.input_key": "question",
        "data.output_key": "answer",
    }


def _saves_shards(draft: config.Draft) -> bool:
    """Whether DTensor's second worker saves shards that no converter reads (NVIDIA-NeMo/RL#1535): then it has to write
    the Hugging Face folder itself."""
    values = config.Config(draft.values)
    shards = values.get("checkpointing.model_save_format") == "safetensors"
    return shards and values.get("policy.dtensor_cfg._v2") is True and not values.on("policy.megatron_cfg.enabled")


def _shape(draft: config.Draft, nodes: int, gpus: int) -> dict[str, object]:
    """The cluster as it is, so that NeMo RL asks for what Ray will have."""
    shape: dict[str, object] = {"cluster.num_nodes": nodes, "cluster.gpus_per_node": gpus}
    if draft.values.get("policy.generation.colocated.enabled") is False and nodes > 1:
        apart = "policy.generation.colocated.resources"
        shape[f"{apart}.gpus_per_node"] = gpus
        generating = draft.values.get(f"{apart}.num_nodes")
        if isinstance(generating, int) and nodes_of(generating, gpus) != generating:
            shape[f"{apart}.num_nodes"] = nodes_of(generating, gpus)
    return shape


def _logging(profile: Profile, volumes: Volumes, folder: str, name: str) -> dict[str, object]:
    """Checkpoints and logs in the run's own folders; W&B when there is a key for it."""
    settings: dict[str, object] = {
        **_run_folders(folder, checkpoints_of(volumes, profile.workload.checkpoints, name)),
        "logger.wandb_enabled": profile.secrets.wandb is not None,
    }
    if profile.secrets.wandb is not None:
        settings |= {"logger.wandb.project": profile.site, "logger.wandb.name": name}
    return settings


def _secrets(secrets: SecretsSpec) -> tuple[SecretVariable, ...]:
    references = ((kind, getattr(secrets, kind)) for kind in SECRETS)
    return tuple(
        SecretVariable(SECRETS[kind].environment, secret_name(kind, reference), reference.key)
        for kind, reference in references
        if reference is not None
    )


def _labels(profile: Profile, recipe: Recipe) -> dict[str, str]:
    """The site's labels, less what Kubernetes would not take: its values end in a letter or digit."""
    own = {key.rstrip("-_"): value.strip("-_") for key, value in profile.labels.items()}
    return {
        **own,
        "environment": profile.environment,
        "app.kubernetes.io/managed-by": "groundplan",
        "app.kubernetes.io/part-of": profile.site,
        "app.kubernetes.io/name": slug(recipe.name)[:63].rstrip("-"),
    }
