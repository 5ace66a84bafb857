"""Building blocks: a platform without a job, file systems and buckets of several kinds, several jobs."""

from __future__ import annotations

from typing import Any

from rules.support import Case

SMOKE = {"workload.recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke"}
EXISTING_VPC = {"network.primary.existing": {"network": "team-vpc", "subnetwork": "gke"}}
THERE = {"mode": "existing", "name": "team-lustre"}


def buckets(*given: dict[str, Any], **storage: Any) -> dict[str, Any]:
    """Buckets beside Lustre, and other keys of `storage`."""
    named = [{"name": f"my-bucket-{n}", **each} for n, each in enumerate(given)]
    return SMOKE | {"storage.buckets": named} | {f"storage.{key}": value for key, value in storage.items()}


def alone(bucket: dict[str, Any], **storage: Any) -> dict[str, Any]:
    """A site without Lustre, whose jobs lie on a bucket."""
    return buckets(bucket, lustre="none", jobs={"bucket": "my-bucket-0"}, **storage)


ROOM = {"ephemeral_gib": 100}

ONE = {"name": "one"}
KUEUE = {"platform.kueue.enabled": True}


def jobs(*given: dict[str, Any]) -> dict[str, Any]:
    """Several small jobs of one node."""
    return SMOKE | {"workload.jobs": list(given)}


CASES = [
    Case(
        "jobs-names",
        KUEUE | jobs(ONE, ONE | {"run": 2}),
        KUEUE | jobs(ONE, {"name": "two"}),
        "workload.jobs[1].name",
        ("two jobs are called one",),
    ),
    Case(
        "jobs-names",
        {"site": "s" * 20} | jobs({"name": "n" * 29}),
        {"site": "s" * 20} | jobs({"name": "n" * 28}),
        "workload.jobs[0].name",
        ("has 54 characters", "1 shorter"),
    ),
    Case(
        "jobs-capacity",
        jobs(ONE, {"name": "two", "nodes": 2}),
        jobs(ONE, {"name": "two", "nodes": 1}),
        "workload.jobs",
        ("one and two want 3 nodes of GPU pool a4-highgpu-8g", "which has 2", "platform.kueue.enabled: true"),
    ),
    Case(
        "jobs-capacity",
        jobs(ONE, {"name": "two", "nodes": 2}),
        KUEUE | jobs(ONE, {"name": "two", "nodes": 2}),
        "workload.jobs",
    ),
    Case(
        "jobs-capacity",
        jobs(ONE, {"name": "two", "nodes": 2}),
        jobs(ONE | {"suspend": True}, {"name": "two", "nodes": 2}),
        "workload.jobs",
    ),
    Case(
        "unknown-recipe",
        jobs(ONE, {"name": "two", "recipe": "grpo-nothing"}),
        jobs(ONE, {"name": "two", "recipe": "grpo-qwen2.5-1.5b-gsm8k-smoke"}),
        "workload.jobs[1].recipe",
        ("grpo-nothing",),
    ),
    Case(
        "no-job",
        {"workload": {"mode": "none", "nodes": 2}},
        {"workload": {"mode": "none"}},
        "workload.nodes",
        ("no effect", "mode: job"),
        "warning",
    ),
    Case(
        "lustre-mode",
        EXISTING_VPC | {"storage.lustre": THERE | {"capacity_gib": 36000}},
        EXISTING_VPC | {"storage.lustre": THERE},
        "storage.lustre.capacity_gib",
        ("no effect with mode existing",),
        "warning",
    ),
    Case(
        "lustre-mode",
        {"storage.lustre": {"project": "other-project"}},
        {"storage.lustre": {"name": "lab-lustre"}},
        "storage.lustre.project",
        ("site's project", "mode: existing"),
        "warning",
    ),
    Case(
        "lustre-mode",
        {"storage.lustre": {"mode": "none", "mount_path": "/lustre"}, "storage.jobs": {"claim": "team-share"}},
        {"storage.lustre": "none", "storage.jobs": {"claim": "team-share", "mount_path": "/lustre"}},
        "storage.lustre.mount_path",
        ("no effect with mode none",),
        "warning",
    ),
    Case(
        "lustre-existing",
        EXISTING_VPC | {"storage.lustre": "existing"},
        EXISTING_VPC | {"storage.lustre": THERE},
        "storage.lustre",
        ("nothing says which instance", "gcloud lustre instances list"),
    ),
    Case(
        "lustre-existing",
        {"storage.lustre": THERE},
        EXISTING_VPC | {"storage.lustre": THERE},
        "storage.lustre.mode",
        ("team-lustre", "network.primary.existing"),
    ),
    Case(
        "lustre-zone",
        EXISTING_VPC | {"storage.lustre": THERE | {"zone": "us-central1-a"}},
        EXISTING_VPC | {"storage.lustre": THERE | {"zone": "us-central1-b"}},
        "storage.lustre.zone",
        ("team-lustre stands in us-central1-a", "the GPU nodes in us-central1-b"),
    ),
    Case(
        "lustre-zone",
        EXISTING_VPC | {"storage.lustre": THERE | {"zone": "us-east4-b"}},
        EXISTING_VPC | {"storage.lustre": THERE},
        "storage.lustre.zone",
        ("region us-central1", "use an instance of us-central1-b"),
    ),
    Case(
        "jobs-folder",
        {"storage.lustre": "none"},
        {"storage.lustre": "none", "workload": {"mode": "none"}},
        "storage.lustre",
        ("nothing else holds the job's folders", "storage.jobs"),
    ),
    Case(
        "jobs-folder",
        {"storage.jobs": {"claim": "team-share"}},
        {"storage.jobs": {"claim": "team-share"}, "storage.lustre": "none"},
        "storage.jobs",
        ("two places",),
    ),
    Case(
        "jobs-folder",
        {
            "storage.jobs": {"bucket": "my-bucket-1"},
            "storage.lustre": "none",
            "storage.buckets": [{"name": "my-bucket-0"}],
        },
        {
            "storage.jobs": {"bucket": "my-bucket-0"},
            "storage.lustre": "none",
            "storage.buckets": [{"name": "my-bucket-0"}],
        },
        "storage.jobs.bucket",
        ("none of `storage.buckets`", "did you mean `my-bucket-0`"),
    ),
    Case("jobs-folder", alone({"read_only": True}), alone({}), "storage.jobs.bucket", ("reading alone",)),
    Case(
        "jobs-folder",
        alone({"mount": "/jobs"}),
        alone({"mount": "/data"}),
        "storage.jobs.mount_path",
        ("is mounted at /data", "/jobs"),
    ),
    Case(
        "lustre-mount-path", buckets({"mount": "/opt/nemo-rl/x"}), buckets({"mount": "/x"}), "storage.buckets[0].mount"
    ),
    Case(
        "lustre-mount-path",
        {"storage.lustre": "none", "storage.jobs": {"claim": "a", "mount_path": "/tmp/x"}},
        {"storage.lustre": "none", "storage.jobs": {"claim": "a", "mount_path": "/x"}},
        "storage.jobs.mount_path",
        ("would hide /tmp",),
    ),
    Case(
        "mount-twice",
        buckets({"mount": "/data/corpus"}),
        buckets({"mount": "/data-corpus"}),
        "storage.buckets[0].mount",
        ("`storage.lustre.mount_path` /data",),
    ),
    Case(
        "mount-twice",
        buckets({"mount": "/corpus"}, {"mount": "/corpus"}),
        buckets({"mount": "/corpus"}, {"mount": "/corpora"}),
        "storage.buckets[1].mount",
        ("lie in one another",),
    ),
    Case(
        "bucket-folders",
        buckets({"mount": "/corpus", "versioning": True}),
        buckets({"mount": "/corpus", "versioning": True, "read_only": True}),
        "storage.buckets[0].versioning",
        ("keeps no old versions", "hierarchical: false"),
    ),
    Case(
        "bucket-soft-delete",
        buckets({"soft_delete_days": 3}),
        buckets({"soft_delete_days": 0}, {"soft_delete_days": 7}),
        "storage.buckets[0].soft_delete_days",
        ("for 3 days", "the least is 7"),
    ),
    Case(
        "bucket-exists",
        buckets({"exists": True, "retention_days": 3}),
        buckets({"retention_days": 3}, {"exists": True, "mount": "/corpus", "read_only": True}),
        "storage.buckets[0].retention_days",
        ("no effect", "there already"),
        "warning",
    ),
    Case(
        "fuse-driver",
        buckets({"mount": "/corpus"}) | {"cluster.addons.gcs_fuse": False},
        buckets({}) | {"cluster.addons.gcs_fuse": False},
        "cluster.addons.gcs_fuse",
        ("my-bucket-0",),
    ),
    Case(
        "fuse-cache",
        buckets({"mount": "/a", "cache_gib": 60}, {"mount": "/b", "cache_gib": 60}, fuse=ROOM),
        buckets({"mount": "/a", "cache_gib": 60}, fuse=ROOM),
        "storage.buckets[0].cache_gib",
        ("120 together", "100 GiB", "ephemeral_gib: 240"),
    ),
    Case(
        "fuse-cache",
        buckets({"mount": "/a", "cache_gib": 5}),
        buckets({"mount": "/a", "cache_gib": 4}),
        "storage",
        ("5",),
    ),
    Case(
        "job-bucket",
        buckets({"mount": "/ckpt"}, fuse=ROOM) | {"workload.checkpoints": "my-bucket-9"},
        buckets({"mount": "/ckpt"}, fuse=ROOM) | {"workload.checkpoints": "my-bucket-0"},
        "workload.checkpoints",
        ("none of `storage.buckets`", "my-bucket-0"),
    ),
    Case(
        "job-bucket",
        buckets({}) | {"workload.data": "my-bucket-0"},
        buckets({"mount": "/corpus"}) | {"workload.data": "my-bucket-0"},
        "workload.data",
        ("no pod mounts", "mount: /data"),
    ),
    Case(
        "job-bucket",
        buckets({"mount": "/ckpt", "read_only": True}) | {"workload.checkpoints": "my-bucket-0"},
        buckets({"mount": "/corpus", "read_only": True}) | {"workload.data": "my-bucket-0"},
        "workload.checkpoints",
        ("reading alone",),
    ),
    Case(
        "fuse-rename",
        buckets({"mount": "/ckpt", "hierarchical": False}, fuse=ROOM) | {"workload.checkpoints": "my-bucket-0"},
        buckets({"mount": "/ckpt"}, fuse=ROOM) | {"workload.checkpoints": "my-bucket-0"},
        "workload.checkpoints",
        ("flat bucket my-bucket-0", "renames the folder", "hierarchical: true"),
    ),
    Case(
        "fuse-rename",
        alone({"exists": True}, fuse=ROOM),
        alone({"exists": True, "hierarchical": True}, fuse=ROOM),
        "storage.buckets[0].hierarchical",
        ("it cannot be turned on later",),
    ),
    Case(
        "fuse-rename",
        alone({"hierarchical": False}, fuse=ROOM),
        alone({"hierarchical": False}, fuse=ROOM) | {"workload.overrides": {"checkpointing.enabled": False}},
        "storage.buckets[0].hierarchical",
        ("refuses",),
    ),
    Case(
        "fuse-preflight",
        alone({}, fuse=ROOM) | {"workload.preflight": {"enabled": True}},
        buckets({"mount": "/corpus"}) | {"workload.preflight": {"enabled": True}},
        "workload.preflight",
        ("on the bucket my-bucket-0",),
    ),
    Case(
        "fuse-ephemeral",
        alone({}),
        alone({}, fuse=ROOM),
        "storage.fuse.ephemeral_gib",
        ("the Hugging Face cache (/data/huggingface) lies on the bucket my-bucket-0", "5 GiB"),
    ),
    Case(
        "fuse-ephemeral",
        buckets({"mount": "/corpus"}) | {"workload.data": "my-bucket-0", "workload.release": "v0.5.0"},
        buckets({"mount": "/corpus"}) | {"workload.data": "my-bucket-0", "workload.release": "v0.6.0"},
        "storage.fuse.ephemeral_gib",
        ("prepared data (/corpus/datasets/gsm8k)",),
    ),
    Case(
        "fuse-ephemeral",
        buckets({"mount": "/ckpt"}) | {"workload.checkpoints": "my-bucket-0"},
        buckets({"mount": "/ckpt"}),
        "storage.fuse.ephemeral_gib",
        ("checkpoints (/ckpt/jobs/",),
    ),
]
