"""Whether an output folder holds exactly what a profile gives: for output kept under version control."""

from __future__ import annotations

import tempfile
from pathlib import Path

from groundplan.emit.app import generated_files, synthesize


def differences(profile: Path, out: Path, *, strict: bool = False) -> list[str]:
    """One line for every generated file that is missing, changed or left over; empty when there is none."""
    with tempfile.TemporaryDirectory(prefix="groundplan-") as scratch:
        fresh = Path(scratch) / "out"
        synthesize(profile, fresh, strict=strict)
        wanted, present = generated_files(fresh), generated_files(out)
        lines = []
        for file in sorted(wanted | present):
            if file not in present:
                lines.append(f"missing: {file}")
            elif file not in wanted:
                lines.append(f"left over: {file}")
            elif (fresh / file).read_bytes() != (out / file).read_bytes():
                lines.append(f"changed: {file}")
        return lines
