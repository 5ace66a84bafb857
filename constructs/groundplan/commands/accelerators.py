"""A kind of GPU as people name it on the command line."""

from __future__ import annotations

from findings import UserError
from groundplan.catalog import Gpu, load_catalog


def gpu_by_name(accelerator: str) -> Gpu:
    """The catalog's entry by the accelerator's name, or by the beginning of one up to a dash: nvidia-h200.

    Raises UserError listing the known ones.
    """
    known = {machine.gpu.accelerator: machine.gpu for machine in load_catalog().machines.values() if machine.gpu}
    found = [name for name in sorted(known) if name == accelerator or name.startswith(f"{accelerator}-")]
    if not found:
        raise UserError(f"--accelerator {accelerator} is not known; known: {', '.join(sorted(known))}")
    return known[found[0]]
