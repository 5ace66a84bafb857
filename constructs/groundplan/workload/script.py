"""The scripts that run on the head, as text. They stand in a ConfigMap and hold no secret, no download of code, no pin.

A script file, and not a command line, because KubeRay in K8sJobMode pastes the entrypoint into a shell line of another
pod: anything after ``&&``, every quote and every brace is lost or read twice there (kuberay#3802, #3561).
"""

from __future__ import annotations

import shlex

from groundplan.nemo_rl.releases import WORKDIR
from groundplan.workload.values import JobValues

#: Where the ConfigMap is mounted on the head.
FOLDER = "/etc/groundplan"
TRAIN = "train.sh"
PREPARE = "prepare_gsm8k.py"
CONFIG = "config.yaml"

__all__ = ["CONFIG", "FOLDER", "PREPARE", "TRAIN", "scripts"]


def scripts(job: JobValues) -> dict[str, str]:
    """File name -> text of every script of the head."""
    files = {TRAIN: train_script(job)}
    if job.file:
        files[CONFIG] = job.file.text
    if job.prepares_data:
        files[PREPARE] = _PREPARE
    return files


def train_script(job: JobValues) -> str:
    """Start the trainer with every override on a line of its own."""
    checkpoints = job.config.text("checkpointing.checkpoint_dir")
    folders = [shlex.quote(folder) for folder in (checkpoints, job.config.text("logger.log_dir")) if folder]
    lines = [
        "#!/usr/bin/env bash",
        f"# {job.recipe.name} on NeMo RL {job.release.version}. Written by groundplan from the site's profile.",
        "set -euo pipefail",
        f"cd {WORKDIR}",
    ]
    if folders:
        lines.append(f"mkdir -p {' '.join(folders)}")
    if job.spec.prefetch.enabled:
        lines += _wait_for_models(job)
    if job.prepares_data:
        lines += [
            "# This release has no GSM8K of its own: make its files, with the number after #### as the answer.",
            f"python -u {FOLDER}/{PREPARE} {shlex.quote(job.data_folder)}",
        ]
    # python, not `uv run`: the image's environment is complete, and uv would resolve it anew from the network.
    command = [f"python -u {shlex.quote(job.release.script)}", f"--config {shlex.quote(job.recipe.config)}"]
    command += [o.argument for o in job.overrides]
    lines.append(" \\\n  ".join(command))
    if job.spec.export.enabled:
        lines += _export(checkpoints)
    return "\n".join(lines) + "\n"


def _wait_for_models(job: JobValues) -> list[str]:
    done, failed = (shlex.quote(job.prefetch_mark(end)) for end in ("done", "failed"))
    limit = job.spec.prefetch.timeout_minutes * 60
    return [
        "# The prefetch Job of this run leaves one of two marks on Lustre.",
        f"until [ -e {done} ]; do",
        f"  if [ -e {failed} ]; then echo 'the model prefetch failed; see its Job' >&2; exit 1; fi",
        f"  if [ \"$SECONDS\" -gt {limit} ]; then echo 'the model prefetch took too long' >&2; exit 1; fi",
        "  sleep 10",
        "done",
    ]


def _export(checkpoints: str) -> list[str]:
    folder = shlex.quote(checkpoints)
    return [
        "# The newest checkpoint in Hugging Face format, beside it.",
        f"last=$(find {folder} -maxdepth 1 -type d -name 'step_*' | sort -t_ -k2 -V | tail -n 1)",
        "if [ -z \"$last\" ]; then echo 'no checkpoint to export' >&2; exit 1; fi",
        "python -u examples/converters/convert_dcp_to_hf.py \\",
        '  --config "$last/config.yaml" \\',
        '  --dcp-ckpt-path "$last/policy/weights" \\',
        '  --hf-ckpt-path "$last/hf"',
    ]


#: GSM8K as two JSONL files. Both are written under another name first, so that a file that is there is whole.
_PREPARE = '''\
"""Write GSM8K's train and test split as JSONL, question and answer, the answer being the number after ####."""

import json
import os
import sys

from datasets import load_dataset

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
for split in ("train", "test"):
    path = os.path.join(folder, split + ".jsonl")
    if os.path.exists(path):
        continue
    partial = path + "." + str(os.getpid())
    with open(partial, "w", encoding="utf-8") as file:
        for row in load_dataset("openai/gsm8k", "main", split=split):
            answer = row["answer"].split("####")[-1].strip().replace(",", "")
            file.write(json.dumps({"question": row["question"], "answer": answer}) + "\\n")
    os.replace(partial, path)
'''
