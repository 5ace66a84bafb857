"""Rules of a job's life on the cluster: what the operator's release knows, going on from another job, suspension."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, Severity, rule
from groundplan.site.resolve import Site
from groundplan.workload.rayjob import knows

#: Feature of KubeRay (catalog/kuberay_fields) -> release from which it is there, as a user would choose it.
_DEADLINE = "pre_running_deadline"


@rule("kuberay-feature", Severity.WARNING)
def kuberay_feature(site: Site) -> Iterator[Problem]:
    """The operator's release drops what the profile asks for without a word: `preRunningDeadlineSeconds` is new in 1.6.

    Without it a Ray cluster that never gets ready holds its GPUs until `deadline_hours` have passed, `startup_minutes`
    says nothing, and checks that fail (`preflight`) are tried again without a bound.

    Source: ray-project/kuberay, helm-chart/kuberay-operator/crds at v1.5.2 and v1.6.2; ray-project/kuberay#4178.

    Mend: `platform.kuberay.version` 1.6 or newer, or leave the key out.
    """
    job = site.job
    if job is None or job.spec.mode == "cluster" or knows(job.kuberay, _DEADLINE):
        return
    newer = next((version for version in site.catalog.kuberay if knows(version, _DEADLINE)), "")
    hint = f"set `platform.kuberay.version: {newer}`" if newer else "leave it out"
    if "startup_minutes" in job.spec.model_fields_set:
        message = (
            f"workload.startup_minutes {job.spec.startup_minutes}: KubeRay {job.kuberay} has no "
            "preRunningDeadlineSeconds, and drops it"
        )
        yield Problem(("workload", "startup_minutes"), message, hint)
    if job.spec.preflight.enabled:
        message = (
            f"workload.preflight: KubeRay {job.kuberay} has no preRunningDeadlineSeconds, so that checks that fail are "
            f"tried again for {job.spec.deadline_hours} hours"
        )
        yield Problem(("workload", "preflight", "enabled"), message, hint)


@rule("resume-from")
def resume_from(site: Site) -> Iterator[Problem]:
    """A job that goes on from another one's checkpoints saves checkpoints, in the folder that groundplan chooses.

    `workload.resume_from` makes this job's folder of checkpoints lead to the other job's; with a `checkpoint_dir` of
    the user's own there are two answers to one question.

    Source: groundplan's own layout on the shared volume, docs/job.md; NVIDIA-NeMo/RL, nemo_rl/utils/checkpoint.py
    (`get_latest_checkpoint_path`).

    Mend: leave one of both out.
    """
    job = site.job
    if job is None or job.spec.resume_from is None:
        return
    path = ("workload", "resume_from")
    if not job.config.on("checkpointing.enabled"):
        message = f"workload.resume_from {job.spec.resume_from}: checkpointing is off, and none is loaded"
        yield Problem(path, message, "set `checkpointing.enabled: true`, or leave resume_from out")
    elif job.checkpoints != job.checkpoints_of(job.name):
        message = (
            f"workload.resume_from {job.spec.resume_from}: checkpointing.checkpoint_dir {job.checkpoints} names a "
            "folder of its own"
        )
        yield Problem(path, message, "leave one of both out")


@rule("job-suspend", Severity.WARNING)
def job_suspend(site: Site) -> Iterator[Problem]:
    """A suspended job loses what it has not saved, and under Kueue the field is Kueue's.

    Suspending takes all pods away; a job that goes on later starts at its last checkpoint. KubeRay does not end the
    training first, so that the steps since then are lost.

    Source: ray-project/kuberay, rayjob_controller.go (JobDeploymentStatusSuspending); Kueue documentation, "Run A
    RayJob" (the webhook sets `spec.suspend`); Kueue API, Workload `spec.active`.

    Mend: turn `checkpointing.enabled` on; under Kueue leave `suspend` out and set `spec.active: false` on its Workload.
    """
    job = site.job
    if job is None or not job.spec.suspend or job.spec.mode == "cluster":
        return
    path = ("workload", "suspend")
    if job.queue is not None:
        hint = "leave it out, and set spec.active to false on the job's Workload, as the run-book says"
        yield Problem(path, "workload.suspend: under Kueue the field is Kueue's, and this is not written", hint)
    elif not job.config.on("checkpointing.enabled"):
        message = "workload.suspend: checkpointing is off, so that the job starts over when it goes on"
        yield Problem(path, message, "set `checkpointing.enabled: true`, or leave suspend out")


@rule("no-job", Severity.WARNING)
def no_job(site: Site) -> Iterator[Problem]:
    """A platform without a job has keys of a job, of which nothing is made and nothing is judged.

    Source: groundplan's own layout, docs/building-blocks.md: with `workload.mode: none` there is no workload stack.

    Mend: leave the keys out, or use `mode: job`.
    """
    if site.has_job:
        return
    for name in sorted(site.profile.workload.model_fields_set - {"mode"}):
        message = f"workload.{name} has no effect with mode none, which makes no job"
        yield Problem(("workload", name), message, "leave it out, or set `mode: job`")
