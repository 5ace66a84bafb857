"""The scripts that run on the head, as text. They stand in a ConfigMap and hold no secret, no download of code, no pin.

A script file, and not a command line, because KubeRay in K8sJobMode pastes the entrypoint into a shell line of another
pod: anything after ``&&``, every quote and every brace is lost or read twice there (kuberay#3802, #3561).
"""

from __future__ import annotations

import shlex
from importlib import resources

from groundplan.nemo_rl.releases import WORKDIR
from groundplan.workload.values import JobValues

#: Where the ConfigMap is mounted on the head.
FOLDER = "/etc/groundplan"
TRAIN = "train.sh"
PREPARE = "prepare_gsm8k.py"
CONFIG = "config.yaml"
EXPORT = "export_model.py"
#: Standard output of the container's first process, `ray start`: what the kubelet keeps as the container's log.
CONTAINER_OUTPUT = "/proc/1/fd/1"

__all__ = ["CONFIG", "CONTAINER_OUTPUT", "EXPORT", "FOLDER", "PREPARE", "TRAIN", "program", "scripts"]


def scripts(job: JobValues) -> dict[str, str]:
    """File name -> text of every script of the head."""
    files = {TRAIN: train_script(job)}
    if job.file:
        files[CONFIG] = job.file.text
    if job.prepares_data:
        files[PREPARE] = program(PREPARE)
    if job.spec.export.enabled:
        files[EXPORT] = program(EXPORT)
    return files


def program(name: str) -> str:
    """The text of a program of this package that runs in the image, and imports nothing of groundplan."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def train_script(job: JobValues) -> str:
    """What starts the trainer: its steps stand in ``main``, whose output goes to three places at once."""
    steps = _start(job) + _once(job) + _folders(job) + _models(job) + _data(job) + _converted(job)
    steps += _trainer(job) + _published(job) + _export(job) + ["say 'done'"]
    body = "\n".join(f"  {line}" if line else "" for line in steps)
    return f"{_head(job)}\nmain() {{\n{body}\n}}\n{_TAIL}"


def _head(job: JobValues) -> str:
    return f"""\
#!/usr/bin/env bash
# {job.recipe.name} on NeMo RL {job.release.version}. Written by groundplan from the site's profile.
# What it prints goes to Ray's job log, to the container's log, and to $LOG, which stays when the pods have gone.
set -euo pipefail
JOB={shlex.quote(job.folder)}
CHECKPOINTS={shlex.quote(job.checkpoints)}
LOG="$JOB/train.log"
CONTAINER={CONTAINER_OUTPUT}

say() {{ printf '%s groundplan: %s\\n' "$(date -u +%FT%TZ)" "$*"; }}
stop() {{ say "STOPPED: $2"; exit "$1"; }} # status, sentence
"""


#: The end of the script. `tee` outlives the signal that ends the trainer, so that the last words are kept; whatever
#: becomes of the log, the status is the training's.
_TAIL = """
mkdir -p "$JOB" || stop 1 "the shared volume does not take $JOB"
[ -w "$CONTAINER" ] || CONTAINER=/dev/null
trap : TERM
main 2>&1 | (trap '' TERM; tee -ap "$LOG" "$CONTAINER" || echo "groundplan: the log in $LOG is not whole")
"""


def _start(job: JobValues) -> list[str]:
    size = f"{job.nodes} node{'s' if job.nodes > 1 else ''} of {job.gpus} GPUs"
    return [
        "trap 'stop 143 \"by a signal: deadline, suspend, lost node or ray job stop\"' TERM",
        f"cd {WORKDIR} || stop 1 'there is no {WORKDIR}: this is no image of NeMo RL'",
        f'say "{job.name} on $HOSTNAME: {size}; this log is $LOG"',
    ]


def _once(job: JobValues) -> list[str]:
    """A Ray cluster trains once. A head that was lost comes back empty, and the job is submitted to it again whatever
    `backoffLimit` says: by the operator in HTTPMode (kuberay#4824, PR 4984), by the submitter's own attempts else."""
    if job.spec.mode == "cluster":
        return []
    return [
        "",
        "# A Ray cluster trains once: when its head was lost the job fails, and `retries` decides about a new cluster.",
        'mkdir -p "$JOB/starts"',
        'mkdir "$JOB/starts/${RAY_CLUSTER_NAME:-$HOSTNAME}" ||',
        "  stop 1 'this Ray cluster has started the job before, and has lost its head since; see workload.retries'",
    ]


def _folders(job: JobValues) -> list[str]:
    """The folders of checkpoints and logs; those of a job that goes on from another's lead there."""
    logs = _folder(job, job.config.text("logger.log_dir") or job.folder)
    lines = [""]
    if job.spec.resume_from:
        lines.append(f"mkdir -p {logs}")
        old = shlex.quote(job.checkpoints_of(job.spec.resume_from))
        lines += [
            f"# workload.resume_from: the checkpoints of {job.spec.resume_from} are this job's.",
            f"[ -n \"$(find {old}/ -maxdepth 1 -name 'step_*' -print -quit)\" ] || stop 1 'no checkpoint in {old}'",
            f'[ -e "$CHECKPOINTS" ] || ln -sT {old} "$CHECKPOINTS"',
        ]
    else:
        lines.append(f'mkdir -p "$CHECKPOINTS" {logs}')
    found = "$(find \"$CHECKPOINTS/\" -maxdepth 1 -name 'step_*' -printf '%f\\n' | sort -V | tr '\\n' ' ')"
    return [*lines, f"steps={found}", 'say "checkpoints so far: ${steps:-none}"']


def _folder(job: JobValues, path: str) -> str:
    """`path` as a word of the script, by way of $JOB where it lies there."""
    inside = path.removeprefix(f"{job.folder}/")
    return shlex.quote(path) if inside == path else f'"$JOB"/{shlex.quote(inside)}'


def _models(job: JobValues) -> list[str]:
    if not job.spec.prefetch.enabled:
        return []
    done, failed = (_folder(job, job.prefetch_mark(end)) for end in ("done", "failed"))
    prefetch = f"kubectl -n {job.namespace} logs job/{job.name}-prefetch"
    return [
        "",
        "# The prefetch Job of this run leaves one of two marks.",
        "say 'waiting for the model prefetch'",
        f"until [ -e {done} ]; do",
        f"  [ ! -e {failed} ] || stop 1 'the model prefetch failed: {prefetch}'",
        f"  [ \"$SECONDS\" -lt {job.spec.prefetch.timeout_minutes * 60} ] || stop 1 'the model prefetch took too long'",
        "  sleep 10",
        "done",
    ]


def _data(job: JobValues) -> list[str]:
    if not job.prepares_data:
        return []
    return [
        "",
        "# This release has no GSM8K of its own: make its files, with the number after #### as the answer.",
        f"say {shlex.quote(f'preparing GSM8K in {job.data_folder}')}",
        f"python -u {FOLDER}/{PREPARE} {shlex.quote(job.data_folder)} || stop 1 'GSM8K could not be prepared'",
    ]


def _converted(job: JobValues) -> list[str]:
    """NeMo RL takes a folder `iter_0000000` for a whole model, so that a killed conversion, or another job's that is
    not done, would be read as one (NVIDIA-NeMo/RL#969; nemo_rl/models/megatron/setup.py)."""
    if not job.megatron_folder:
        return []
    return [
        "",
        "# Megatron's form of the model is made in the job's folder, and moved to all jobs' when it has been used,",
        "# so that nobody ever reads half of one. To have it made anew, remove that folder.",
        f"MODEL={shlex.quote(job.megatron_folder)}",
        'export NRL_MEGATRON_CHECKPOINT_DIR="$MODEL"',
        'if [ ! -d "$MODEL" ]; then',
        '  say "converting the model; it comes to $MODEL at the end"',
        '  export NRL_MEGATRON_CHECKPOINT_DIR="$JOB/megatron"',
        '  rm -rf "$NRL_MEGATRON_CHECKPOINT_DIR"',
        "fi",
    ]


def _trainer(job: JobValues) -> list[str]:
    # python, not `uv run`: the image's environment is complete, and uv would resolve it anew from the network.
    command = [f"python -u {shlex.quote(job.release.script)}", f"--config {shlex.quote(job.recipe.config)}"]
    command += [o.argument for o in job.overrides]
    doing = f"starting {job.release.script} with {job.recipe.config} and {len(job.overrides)} overrides"
    return [
        "",
        f"say {shlex.quote(doing)}",
        "status=0",
        " \\\n    ".join([*command, "|| status=$?"]),
        '[ "$status" -eq 0 ] || stop "$status" "the trainer ended with status $status (137: killed, often for memory)"',
    ]


def _published(job: JobValues) -> list[str]:
    if not job.megatron_folder:
        return []
    return [
        'if [ ! -d "$MODEL" ] && [ -d "$JOB/megatron" ]; then',
        '  mkdir -p "$(dirname "$MODEL")" && mv -nT "$JOB/megatron" "$MODEL" && say "the converted model is in $MODEL"',
        "fi",
    ]


def _export(job: JobValues) -> list[str]:
    if not job.spec.export.enabled:
        return []
    return [
        "say 'exporting the last checkpoint in Hugging Face format'",
        f'python -u {FOLDER}/{EXPORT} {job.export_method or "dcp"} "$CHECKPOINTS" ||',
        "  stop 1 'the training is done, its export failed; a retry, or the run-book, exports again without training'",
    ]
