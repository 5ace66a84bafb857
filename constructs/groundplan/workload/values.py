"""The JobValues: every derived value of the job, computed once; rules and manifests read it."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from groundplan.catalog import Machine
from groundplan.gpu.fabric_values import Nic
from groundplan.gpu.transports import Transport, transport_of
from groundplan.gpu.values import PoolValues
from groundplan.nemo_rl.config import Config
from groundplan.nemo_rl.config_file import ConfigFile
from groundplan.nemo_rl.hydra import Override
from groundplan.nemo_rl.releases import Model, Recipe, Release
from groundplan.nemo_rl.training import lies_under
from groundplan.platform.spec import SecretsSpec
from groundplan.storage.buckets import BucketValues, Volumes
from groundplan.storage.spec import Fuse
from groundplan.workload.spec import WorkloadSpec

#: The key by which DTensor v2 writes a Hugging Face folder into each checkpoint.
SAVE_CONSOLIDATED = "checkpointing.save_consolidated"


@dataclass(frozen=True)
class SecretVariable:
    """An environment variable whose value a pod takes from a Kubernetes Secret."""

    variable: str
    secret: str
    key: str


@dataclass(frozen=True)
class WorkerSize:
    """What a worker asks for where the profile says nothing: CPUs, memory and shared memory in GiB."""

    cpu: int
    memory_gib: int
    shm_gib: int

    @classmethod
    def of(cls, machine: Machine | None) -> WorkerSize:
        """Of one worker a node. The CPUs left over are GKE's, its DaemonSets' and a pod's beside the worker; of the
        memory, a sixth."""
        if machine is None:
            return cls(*_LARGEST)
        memory = min(_LARGEST[1], machine.memory_gib * 5 // 6 // _GRAIN * _GRAIN)
        return cls(max(machine.vcpus - _SPARE_CPUS, 1), max(memory, 1), max(min(_LARGEST[2], memory // 4), 1))


#: On A4 and A3 Ultra, as Google's NeMo RL sample has them.
_LARGEST = (206, 2400, 240)
_SPARE_CPUS, _GRAIN = 18, 50


@dataclass(frozen=True)
class Queue:
    """The Kueue queue that admits the job. `topology` is a node label level, or empty."""

    name: str
    topology: str


@dataclass(frozen=True)
class Share:
    """The workers of a job in one pool. `end` tells the shares of a job apart; empty when there is one."""

    pool: PoolValues
    nodes: int
    end: str


@dataclass(frozen=True)
class JobValues:
    """A job with everything that follows from the profile.

    `base_name` is the name before the hash; `name` is the RayJob's (at most 47). `folder` on the shared volume is the
    run's own, so that a changed job never resumes from another one's checkpoints. CPUs and GPUs are whole numbers;
    `environment` is shared by head and workers, for the driver's variables overwrite the workers'
    (nemo_rl/distributed).
    """

    name: str
    base_name: str
    site: str
    namespace: str
    service_account: str
    labels: dict[str, str]
    spec: WorkloadSpec
    recipe: Recipe
    release: Release
    model: Model
    image: str
    kuberay: str
    operator_waits: bool
    """Whether the operator puts its own init container into the workers' pods."""
    pool: PoolValues | None
    """The pool, or the first of several alike."""
    worker_groups: tuple[Share, ...]
    """Its workers, pool by pool; none without a pool."""
    nodes: int
    gpus: int
    cpu_pool: str
    nics: tuple[Nic, ...]
    volumes: Volumes
    """The shared volume and the buckets that its pods mount."""
    fuse: Fuse
    folder: str
    config: Config
    overrides: tuple[Override, ...]
    environment: dict[str, str]
    site_secrets: SecretsSpec
    """References to the tokens: the profile's, with the one that a gated model needs."""
    secrets: tuple[SecretVariable, ...]
    image_pull_secret: str
    head_cpu: int
    head_memory: str
    worker_cpu: int
    worker_memory: str
    worker_shm: str
    file: ConfigFile | None = None
    """The user's own configuration; None when the job has a recipe."""
    queue: Queue | None = None

    @property
    def mount_path(self) -> str:
        """Where its pods have the shared volume."""
        return self.volumes.shared.mount_path

    @property
    def least_nodes(self) -> int:
        """Nodes that its pools always have."""
        return sum(share.pool.min_nodes for share in self.worker_groups)

    @property
    def transport(self) -> Transport:
        """How NCCL's traffic leaves its GPU nodes."""
        return transport_of(self.pool.machine if self.pool else None)

    def prefetch_mark(self, end: str) -> str:
        """Path of the mark that the prefetch Job leaves for the training: ``done`` or ``failed``."""
        return f"{self.folder}/prefetch.{end}"

    @property
    def models(self) -> tuple[str, ...]:
        """Hugging Face models that a prefetch brings, without repeats; one by its folder is there already."""
        named = (self.model.name, *self.spec.prefetch.models)
        return tuple(dict.fromkeys(name for name in named if name and not name.startswith(("/", ".", "~"))))

    def folder_of(self, name: str) -> str:
        """The folder of the job called `name`, this one's or another's, on the shared file system."""
        return f"{self.mount_path}/jobs/{name}"

    def checkpoints_of(self, name: str) -> str:
        """Where groundplan puts the checkpoints of the job called `name`."""
        return checkpoints_of(self.volumes, self.spec.checkpoints, name)

    @property
    def log(self) -> str:
        """File of the log that the train script keeps."""
        return f"{self.folder}/train.log"

    @property
    def checkpoints(self) -> str:
        """Folder of the checkpoints."""
        return self.config.text("checkpointing.checkpoint_dir") or self.checkpoints_of(self.name)

    @property
    def megatron_folder(self) -> str:
        """Where the model in Megatron's format stands for all jobs: by release, model and what is changed in its
        configuration; empty when Megatron does not train."""
        if not self.config.on("policy.megatron_cfg.enabled"):
            return ""
        changes = {k: v for k, v in self.config.values.items() if k.startswith("policy.hf_config_overrides") and v}
        end = f"-{hashlib.sha256(json.dumps(changes, sort_keys=True).encode()).hexdigest()[:8]}" if changes else ""
        model = re.sub(r"[^A-Za-z0-9._-]+", "--", self.model.name.strip("/"))
        return f"{self.mount_path}/megatron/{self.release.version}/{model}{end}"

    @property
    def export_method(self) -> str:
        """How a checkpoint of this job becomes a Hugging Face folder (export_model.py); empty when nothing can.

        Source: NVIDIA-NeMo/RL, nemo_rl/utils/native_checkpoint.py and docs/design-docs/checkpointing.md.
        """
        if self.config.on("policy.megatron_cfg.enabled"):
            return "" if self.config.on("policy.megatron_cfg.peft.enabled") else "megatron"
        if self.config.on("policy.dtensor_cfg.lora_cfg.enabled"):
            return ""
        saved = self.config.get("checkpointing.model_save_format")
        if self.config.get("policy.dtensor_cfg._v2") is not True or saved is None:
            return "dcp"
        if saved == "safetensors":
            return "consolidated" if self.config.on(SAVE_CONSOLIDATED) else ""
        return "dcp" if self.release.since("v0.6.0") else ""

    def shares(self, folder: str) -> bool:
        """Whether `folder` lies on a file system that all pods share."""
        return any(lies_under(folder, mount) for mount in self.mounts)

    @property
    def mounts(self) -> tuple[str, ...]:
        """Where its pods have file systems that all share: the shared volume's first."""
        return tuple(dict.fromkeys((self.mount_path, *(bucket.mount for bucket in self.volumes.mounted))))

    def bucket_at(self, folder: str) -> BucketValues | None:
        """The bucket that `folder` lies on; None for another file system."""
        return next((bucket for bucket in self.volumes.mounted if lies_under(folder, bucket.mount)), None)

    @property
    def prepares_data(self) -> bool:
        """Whether the release has no GSM8K of its own, so that files are made before the training."""
        return self.recipe.dataset == "gsm8k" and self.release.gsm8k == "jsonl"

    @property
    def data_folder(self) -> str:
        """Where prepared data stands, for all jobs."""
        return data_of(self.volumes, self.spec.data)


def checkpoints_of(volumes: Volumes, bucket: str | None, name: str) -> str:
    """The folder of checkpoints of the job called `name`: in the bucket that is named, else on the shared volume."""
    found = volumes.bucket(bucket)
    return f"{found.mount if found else volumes.shared.mount_path}/jobs/{name}/checkpoints"


def data_of(volumes: Volumes, bucket: str | None) -> str:
    """The folder of GSM8K's files: in the bucket that is named, else on the shared volume."""
    found = volumes.bucket(bucket)
    return f"{found.mount if found else volumes.shared.mount_path}/datasets/gsm8k"
