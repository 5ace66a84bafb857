"""Export the last checkpoint in Hugging Face format, and check what came out. Runs in the image, after the training.

Standalone: it is copied into the job's ConfigMap as it stands. ``export_model.py METHOD CHECKPOINTS``; METHOD is

- ``dcp``: NVIDIA's converter for DTensor;
- ``consolidated``: nothing to convert, for the trainer has written the folder (`checkpointing.save_consolidated`);
- ``megatron``: NVIDIA's converter for Megatron, in Megatron's own environment.

The converters run on a worker, which the trainer has left: it has the memory to hold a model, and a GPU, which Megatron
wants to see. The head has neither.

The result is ``step_N/hf``. It is made under another name: the converters refuse a folder that is there, and one that
is called ``hf`` is whole.
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

CONVERTERS = Path("examples/converters")
MEGATRON_PYTHON = "python-MegatronPolicyWorker"
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "tokenizer_config.json")


class Failed(Exception):
    """The export cannot be made, or is not whole."""


def last_step(checkpoints: Path) -> Path:
    """The folder of the last step that was saved: NeMo RL names it so when it is whole."""
    steps = [p for p in checkpoints.glob("step_*") if p.name[5:].isdigit()]
    if not steps:
        raise Failed(f"there is no checkpoint in {checkpoints}")
    return max(steps, key=lambda path: int(path.name[5:]))


def check(folder: Path) -> list[str]:
    """What lies in the folder, a line for each file. Raises Failed when it is no whole model."""
    if not (folder / "config.json").is_file():
        raise Failed(f"{folder} has no config.json")
    names = weights(folder)
    absent = [name for name in names if not (folder / name).is_file() or not (folder / name).stat().st_size]
    if absent or not names:
        raise Failed(f"{folder} has no weights, or not all of them: {', '.join(absent[:5])}")
    if not any((folder / name).is_file() for name in TOKENIZERS):
        raise Failed(f"{folder} has no tokenizer")
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return [f"{path.stat().st_size / 1e9:10.3f} GB  {path.name}" for path in files]


def weights(folder: Path) -> list[str]:
    """Names of the files of weights: those that an index names, or all that are there."""
    for index in sorted(folder.glob("*.index.json")):
        return sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))
    return sorted(path.name for path in (*folder.glob("*.safetensors"), *folder.glob("*.bin")))


def load_config(folder: Path) -> str:
    """Load the configuration as a user of the export will; the model's kind."""
    transformers: Any = importlib.import_module("transformers")
    return str(transformers.AutoConfig.from_pretrained(str(folder), trust_remote_code=True).model_type)


def convert(method: str, step: Path, target: Path) -> None:
    """Run the converter of the release."""
    arguments = ["--config", str(step / "config.yaml"), "--hf-ckpt-path", str(target)]
    saved = step / "policy/weights"
    if method == "dcp":
        program = [sys.executable, "-u", str(CONVERTERS / "convert_dcp_to_hf.py")]
        status = on_a_worker([*program, *arguments, "--dcp-ckpt-path", str(saved)])
    else:
        iterations = sorted(saved.glob("iter_*"))
        if not iterations:
            raise Failed(f"there is no Megatron checkpoint in {saved}")
        program = [MEGATRON_PYTHON, "-u", str(CONVERTERS / "convert_megatron_to_hf.py")]
        status = on_a_worker([*program, *arguments, "--megatron-ckpt-path", str(iterations[-1])])
    if status:
        raise Failed(f"the converter ended with status {status}")


def on_a_worker(command: list[str]) -> int:
    """Run a command where there are GPUs; its exit status. What it prints comes to this program's output, by Ray."""
    ray: Any = importlib.import_module("ray")
    ray.init(address="auto", log_to_driver=True)
    folder = str(Path.cwd())

    def run() -> int:
        return subprocess.run(command, cwd=folder, check=False).returncode

    return int(ray.get(ray.remote(num_gpus=1, max_retries=0)(run).remote()))


def export(method: str, checkpoints: Path) -> Path:
    """The folder of the export, checked."""
    step = last_step(checkpoints)
    target, partial = step / "hf", step / "hf.partial"
    if method == "consolidated":
        made = step / "policy/weights/model/consolidated"
        check(made)
        if not target.exists():
            target.symlink_to(made.relative_to(step))
    elif not target.exists():
        shutil.rmtree(partial, ignore_errors=True)
        convert(method, step, partial)
        check(partial)
        partial.rename(target)
    for line in (f"export: {target}", *check(target), f"its config loads: {load_config(target)}"):
        say(line)
    return target


def say(text: str) -> None:
    """One line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """0 when the export is there and whole."""
    try:
        export(arguments[0], Path(arguments[1]))
    except (Failed, OSError, ValueError, KeyError) as error:
        say(f"export FAILED: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
