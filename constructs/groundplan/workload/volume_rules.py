"""Rules of what a job writes to mounted buckets: whether GCS FUSE can do what NeMo RL asks of a file system."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, rule
from groundplan.nemo_rl.config_rules import nearest
from groundplan.site.resolve import Site
from groundplan.storage.buckets import USUAL_EPHEMERAL_GIB
from groundplan.workload.values import JobValues

#: A mend that holds a shard of most models and checkpoints, several at once.
_ENOUGH_GIB = 100


@rule("job-bucket")
def job_bucket(site: Site) -> Iterator[Problem]:
    """A job names a bucket of the site that its pods mount, and may write to it.

    Source: groundplan's own layout, docs/building-blocks.md.

    Mend: a bucket of `storage.buckets` with `mount`, and without `read_only`.
    """
    job = site.job
    if job is None:
        return
    for key, name in (("checkpoints", job.spec.checkpoints), ("data", job.spec.data)):
        if name is None:
            continue
        at: ProfilePath = ("workload", key)
        known = next((bucket for bucket in site.buckets if bucket.name == name), None)
        if known is None:
            names = [bucket.name for bucket in site.buckets]
            hint = nearest(name, names) if names else f"add `storage.buckets: [{{name: {name}, mount: /{key}}}]`"
            yield Problem(at, f"workload.{key}: {name} is none of `storage.buckets`", hint)
        elif not known.mount:
            hint = f"add `mount: /{key}` to the bucket"
            yield Problem(at, f"workload.{key}: no pod mounts the bucket {name}", hint)
        elif known.spec.read_only and (key == "checkpoints" or job.prepares_data):
            message = f"workload.{key}: the bucket {name} is mounted for reading alone"
            yield Problem(at, message, "leave `read_only` out, or name another bucket")


@rule("fuse-rename")
def fuse_rename(site: Site) -> Iterator[Problem]:
    """Checkpoints are saved to a mounted bucket that cannot rename a folder.

    NeMo RL writes a checkpoint to ``tmp_step_N`` and renames the folder to ``step_N`` when it is whole, in a thread of
    its own where it saves asynchronously. GCS FUSE refuses to rename a folder in a flat bucket (`rename-dir-limit` is
    0), and where it is told to, copies object by object: a job that dies meanwhile leaves half a checkpoint under the
    name of a whole one. A bucket with a hierarchical namespace renames a folder at once.

    Source: NVIDIA-NeMo/RL, nemo_rl/utils/checkpoint.py (`init_tmp_checkpoint`, `finalize_checkpoint`);
    googlecloudplatform/gcsfuse, `rename-dir-limit`; Cloud Storage documentation, "Rename folders".

    Mend: `hierarchical: true` on the bucket, which is the default of a mounted bucket that the site makes; or another
    place for checkpoints.
    """
    job = site.job
    if job is None or not job.config.on("checkpointing.enabled"):
        return
    bucket = job.bucket_at(job.checkpoints)
    if bucket is None or bucket.hierarchical or bucket.spec.read_only:
        return
    message = (
        f"checkpoints go to {job.checkpoints}, on the flat bucket {bucket.name}: NeMo RL renames the folder of each, "
        "which GCS FUSE refuses there"
    )
    hint = "set `hierarchical: true` on the bucket"
    if bucket.spec.exists:
        hint = "set `hierarchical: true` if the bucket has it, else use another: it cannot be turned on later"
    yield Problem(_place(job, bucket.index), message, hint)


@rule("fuse-ephemeral")
def fuse_ephemeral(site: Site) -> Iterator[Problem]:
    """The Hugging Face cache, prepared data or checkpoints lie on a mounted bucket, and its sidecar has no room.

    GCS FUSE keeps what is being written on the pod's local disk, within the sidecar's limit, which is 5 GiB where
    nothing is said: less than the files of a large model or checkpoint. A pod beyond the limit is evicted. (Newer
    releases stream what is written from end to end, and need the disk only for the rest; whether the cluster's does is
    not known here.)

    Source: GKE documentation, "Configure the Cloud Storage FUSE CSI driver sidecar container"; gcs-fuse-csi-driver,
    pkg/webhook/config.go.

    Mend: `storage.fuse.ephemeral_gib` with room for the files that a pod writes at once.
    """
    job = site.job
    if job is None or job.fuse.ephemeral_gib is not None:
        return
    written = {job.environment["HF_HOME"]: "the Hugging Face cache"}
    if job.prepares_data:
        written[job.data_folder] = "prepared data"
    if job.config.on("checkpointing.enabled"):
        written[job.checkpoints] = "checkpoints"
    for folder, what in written.items():
        bucket = job.bucket_at(folder)
        if bucket is not None:
            message = (
                f"{what} ({folder}) lie{'s' if what.endswith('cache') else ''} on the bucket {bucket.name}, and a pod "
                f"may have {USUAL_EPHEMERAL_GIB} GiB of local disk for what it writes there"
            )
            yield Problem(("storage", "fuse", "ephemeral_gib"), message, f"set `ephemeral_gib: {_ENOUGH_GIB}`, or so")
            return


@rule("fuse-preflight")
def fuse_preflight(site: Site) -> Iterator[Problem]:
    """The checks before the training meet by files on the shared volume, which a mounted bucket shows late.

    Each node writes a file again and again and looks for the others', which count as gone when theirs is 20 seconds
    old. GCS FUSE keeps what it knows of a file for a minute, so that nodes that are there would be missed.

    Source: groundplan's own node_check.py (`meet`); Cloud Storage documentation, "Cloud Storage FUSE", caching
    (`metadata-cache: ttl-secs` is 60).

    Mend: leave `preflight` out, or keep the jobs' folders on Lustre or on a claim.
    """
    job = site.job
    if job is None or not job.spec.preflight.enabled:
        return
    bucket = job.bucket_at(job.folder)
    if bucket is not None:
        message = f"workload.preflight: the nodes meet by files in {job.folder}, on the bucket {bucket.name}"
        hint = "leave it out, or keep the jobs' folders on Lustre or a claim"
        yield Problem(("workload", "preflight", "enabled"), message, hint)


def _place(job: JobValues, index: int) -> ProfilePath:
    return ("workload", "checkpoints") if job.spec.checkpoints else ("storage", "buckets", index, "hierarchical")
