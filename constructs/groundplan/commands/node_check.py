"""``groundplan node-check``: the GPUs, links, tools and folders of the machine that it runs on."""

from __future__ import annotations

import difflib
import shutil
import subprocess
import sys
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import click

from findings import UserError
from groundplan.catalog import Gpu, load_catalog
from groundplan.commands.accelerators import gpu_by_name


@click.command("node-check")
@click.option("--machine-type", default="", help="What the catalog expects of it: a4-highgpu-8g, a3-ultragpu-8g ...")
@click.option("--accelerator", default="", help="The same by the kind of GPU, as GKE names it: nvidia-h200-141gb.")
@click.option("--gpus", type=click.IntRange(0), default=None, help="GPUs there must be.  [default: the machine type's]")
@click.option("--folder", default="", help="A folder on the shared volume: it must be mounted, and is written to.")
@click.option("--scratch", default="", help="A folder on the local disk.")
@click.option("--scratch-gib", type=click.IntRange(0), default=0, help="GiB that must be free there.")
@click.option("--quick", is_flag=True, help="Measure no speed; needs no torch.")
@click.option("--python", default="", help="Interpreter that has torch.  [default: this one, else python3]")
@click.option("--json", "output", default="", metavar="FILE", help="Write the result as JSON.")
def node_check(
    machine_type: str, accelerator: str, gpus: int | None, python: str, quick: bool, **places: object
) -> None:
    """Check the GPUs of this machine, in under a minute, before anything is paid for that waits on them.

    \b
    groundplan node-check
    groundplan node-check --machine-type a3-ultragpu-8g --folder /mnt/lustre --json node.json

    Count, driver, ECC, remapped rows, clocks, NVLink, RDMA ports, HBM bandwidth, bf16 products, NCCL's version and
    storage. Without --machine-type or --accelerator speeds are shown and not judged. docs/node-check.md says what each
    check means. Exit codes: 0 all passed, 2 a tool is missing, 10 GPU, 11 link, 12 software, 13 speed, 14 storage.
    """
    gpu = _gpu(machine_type, accelerator)
    whole = gpu if machine_type else None  # the machine's own counts; a kind of GPU stands in several machines
    count = gpus if gpus is not None else (whole.count if whole else 0)
    figures: dict[str, object] = {"gpus": count, "scratch": places["scratch"], "scratch-gib": places["scratch_gib"]}
    figures |= {"folder": places["folder"], "json": places["output"], "rdma": whole.rdma_nics if whole else 0}
    if gpu:
        figures |= {"min-driver": gpu.min_driver, "hbm-tb-per-s": gpu.hbm_tb_per_s, "bf16-tflops": gpu.bf16_tflops}
    if whole:
        figures["nvlinks"] = whole.nvlinks
    command = [_interpreter(python, quick), "-u", str(resources.files("groundplan.workload").joinpath("gpu_health.py"))]
    command += [word for name, value in figures.items() if value for word in (f"--{name}", str(value))]
    sys.exit(subprocess.run([*command, *(["--quick"] if quick else [])], check=False).returncode)


def _gpu(machine_type: str, accelerator: str) -> Gpu | None:
    """The catalog's entry by either name; None when neither is given."""
    machines = load_catalog().machines
    if machine_type:
        machine = machines.get(machine_type)
        if machine is None or machine.gpu is None:
            known = [name for name, each in machines.items() if each.gpu]
            near = difflib.get_close_matches(machine_type, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise UserError(f"--machine-type {machine_type}: no GPU machine of the catalog; {hint}")
        return machine.gpu
    return gpu_by_name(accelerator) if accelerator else None


def _interpreter(given: str, quick: bool) -> str:
    """Which Python runs the program. Raises UserError when the one that was named is not there."""
    if given:
        found = shutil.which(given) or (given if Path(given).is_file() else "")
        if not found:
            raise UserError(f"--python {given}: no such interpreter")
        return found
    if quick or find_spec("torch"):
        return sys.executable
    return shutil.which("python3") or sys.executable
