"""The ``workload`` section: which NeMo RL job runs, from which release and recipe, on how many nodes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from groundplan.kernel.fields import (
    BucketName,
    ClusterName,
    Count,
    Image,
    Matching,
    NamePrefix,
    PositiveCount,
    Quantity,
    Section,
    TagVersion,
    VariableName,
)

#: A Hugging Face repository: owner/name.
ModelName = Annotated[
    str,
    Matching(
        r"[A-Za-z0-9][-._A-Za-z0-9]*/[A-Za-z0-9][-._A-Za-z0-9]*", "a Hugging Face model such as Qwen/Qwen2.5-1.5B"
    ),
]
EntryScript = Annotated[
    str, Matching(r"/?(?:[A-Za-z0-9_][-._A-Za-z0-9]*/)*[-._A-Za-z0-9]+\.py", "a script such as examples/run_grpo.py")
]
#: The name of a RayJob: a DNS label of at most 47 characters.
RayJobName = Annotated[
    str, Matching(r"[a-z]([-a-z0-9]{0,45}[a-z0-9])?", "the name of a RayJob, as `kubectl get rayjobs` shows it")
]


class Head(Section):
    """The Ray head: CPU only, on the CPU pool; the training's driver runs in it."""

    cpu: PositiveCount | None = None
    """CPUs. Default: the recipe's (12)."""
    memory: Quantity | None = None
    """Memory, shared memory included. Default: the recipe's (96Gi)."""
    shm: Quantity = "16Gi"
    """Size of /dev/shm."""


class Worker(Section):
    """A Ray worker: one a GPU node, with all of its GPUs and NICs."""

    cpu: PositiveCount | None = None
    """CPUs. Default: the machine's, less 18 for the node's own (206 on A4 and A3 Ultra)."""
    memory: Quantity | None = None
    """Memory, shared memory included. Default: five sixths of the machine's, and at most 2400Gi."""
    shm: Quantity | None = None
    """Size of /dev/shm. Default: a quarter of the default memory, and at most 240Gi."""
    privileged: bool = False
    """Run privileged instead of with IPC_LOCK alone; RDMA needs no more than IPC_LOCK."""


class Preflight(Section):
    """Checks on every GPU node before Ray starts there: GPUs, driver, RDMA devices, Lustre, all-reduce over all
    nodes."""

    enabled: bool = False
    """Run them."""
    min_bus_gb_per_s: Annotated[int, Field(ge=0, le=2000)] | None = None
    """Least bus bandwidth of the all-reduce between nodes, in GB/s; 0 measures without judging. Default: the machine
    type's, and 0 where no figure is known."""
    timeout_minutes: Annotated[int, Field(ge=5, le=240)] = 30
    """Minutes after which waiting for the other nodes counts as failure."""


class Prefetch(Section):
    """A Job that downloads the model to Lustre before the training starts, once for all nodes."""

    enabled: bool = False
    """Run it; the training waits for it."""
    models: list[ModelName] = []
    """Further models. The recipe's own is always fetched."""
    timeout_minutes: Annotated[int, Field(ge=5, le=1440)] = 120
    """Minutes after which it counts as failed."""


class Export(Section):
    """A last step of the job: the last checkpoint in Hugging Face format, beside it on Lustre."""

    enabled: bool = False
    """Convert when the training has succeeded."""


class JobKeys(Section):
    """The keys of a job."""

    mode: Literal["job", "cluster", "none"] = "job"
    """job: a RayJob that trains and stops. cluster: a RayCluster that stays, to log in to and start scripts on. none: a
    platform without a job; the workload stack is not made."""
    name: NamePrefix | None = None
    """Start of the RayJob's name; a hash of the job is added. Default: the recipe's name."""
    recipe: str = "grpo-gemma3-27b-gsm8k"
    """Recipe: base config, overrides and shape (`groundplan catalog recipes`)."""
    config: str | None = None
    """A NeMo RL configuration of your own instead of a recipe: a YAML file beside the profile. It may inherit
    (`defaults:`) from files beside it, and from examples/configs/grpo_math_1B.yaml of the image."""
    script: EntryScript | None = None
    """Entry script of the image (examples/run_vlm_grpo.py), or one of your own on the shared volume. Default: the
    release's for GRPO. Configurations of GRPO alone are judged."""
    release: TagVersion | None = None
    """NeMo RL release. Default: the catalog's."""
    image: Image | None = None
    """Image, for a mirror; it must hold the release. Default: the release's."""
    nodes: PositiveCount | None = None
    """GPU nodes of the job. Default: the recipe's."""
    pool: ClusterName | Annotated[list[ClusterName], Field(min_length=1)] | None = None
    """GPU pool of the job, or several of one machine type and zone. An entry with sub-blocks counts as all of its
    pools. Default: the first entry that has enough nodes."""
    overrides: dict[str, Any] = {}
    """NeMo RL configuration keys and values, nested or dotted, over the recipe's. `+key` adds one that NeMo RL
    lacks."""
    environment: dict[VariableName, str] = {}
    """Environment variables of the head and the workers alike. Never a secret."""
    run: PositiveCount = 1
    """Raise it to start the same job again."""
    resume_from: RayJobName | None = None
    """Name of an earlier RayJob of the site, which has ended: the job goes on from its checkpoints."""
    suspend: bool = False
    """Stop the job and take its pods away; false again lets it go on from its last checkpoint."""
    submission: Literal["HTTPMode", "K8sJobMode"] = "HTTPMode"
    """How KubeRay hands the job to Ray."""
    retries: Count = 0
    """How often a failed job is started anew; it resumes from its last checkpoint."""
    deadline_hours: Annotated[int, Field(ge=1, le=720)] = 24
    """Hours after which the job is stopped."""
    startup_minutes: Annotated[int, Field(ge=5, le=1440)] = 60
    """Minutes that the Ray cluster may take to become ready (KubeRay 1.6 and newer)."""
    keep_minutes: Annotated[int, Field(ge=0, le=10080)] = 10
    """Minutes that pods are kept after the job has ended, to read their logs."""
    checkpoints: BucketName | None = None
    """Bucket of the checkpoints: one of `storage.buckets` that pods mount. Default: the shared volume."""
    data: BucketName | None = None
    """Bucket of prepared data: one of `storage.buckets` that pods mount. Default: the shared volume."""
    head: Head = Head()
    """Ray head."""
    worker: Worker = Worker()
    """Ray workers."""
    preflight: Preflight = Preflight()
    """Checks before the training."""
    prefetch: Prefetch = Prefetch()
    """Model download before the training."""
    export: Export = Export()
    """Hugging Face format after the training."""


class JobEntry(JobKeys):
    """One of several jobs. Every key of `workload` may stand here too; one that does not is the section's."""

    name: NamePrefix
    """Start of the RayJob's name, and of its Helm release: no two jobs have the same."""
    mode: Literal["job", "cluster"] = "job"
    """job or cluster, as of the section."""


class WorkloadSpec(JobKeys):
    """The training job, or several."""

    jobs: list[JobEntry] = []
    """Several jobs of the site, each with a release of its own. What stands beside this list holds for all of them;
    `overrides` and `environment` of an entry are put over the section's. Default: one job, by the section's keys."""

    def of(self, entry: JobEntry) -> WorkloadSpec:
        """The section as one job's: the entry's keys over those of the section."""
        keys = {key: getattr(entry, key) for key in entry.model_fields_set}
        for key in MERGED & set(keys):
            keys[key] = {**getattr(self, key), **keys[key]}
        alone = self.model_copy(update=keys | {"jobs": []})
        alone.model_fields_set.discard("jobs")
        return alone


#: Mappings of an entry that are put over the section's, key by key.
MERGED = {"overrides", "environment"}
