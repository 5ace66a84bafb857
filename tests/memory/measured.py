"""The measurements of measurements.csv as jobs."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from groundplan.nemo_rl.memory.job import Job
from groundplan.nemo_rl.models import model_shape

FILE = Path(__file__).with_name("measurements.csv")


@dataclass(frozen=True)
class Measured:
    """One measurement; sizes in GB."""

    name: str
    first: bool
    job: Job
    states: float
    step: float
    reserved: float


def measurements() -> Iterator[Measured]:
    """All of the file, in order."""
    lines = [line for line in FILE.read_text("utf-8").splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines):
        options = {key: int(value) for key, value in (word.split("=") for word in row["options"].split())}
        model = model_shape(row["model"])
        assert model is not None
        model = replace(model, **{key: options.pop(key) for key in ("vocabulary", "window") if key in options})
        options.pop("packed", None)  # packed sequences are one of the same length
        sequence_parallel = bool(options.pop("sequence_parallel", 0))
        sizes = {key: int(row[key]) for key in ("gpus", "tp", "micro_batch", "sequence")}
        job = Job(
            model=model,
            checkpointing=row["checkpointing"] == "1",
            sequence_parallel=sequence_parallel,
            **sizes,
            **options,
        )
        size = f"{row['gpus']} GPUs, TP {row['tp']}, {row['micro_batch']} x {row['sequence']}"
        kept = "checkpointed" if job.checkpointing else "kept"
        name = " ".join(f"{row['model']} {size} {kept} {row['options']}".split())
        figures = (float(row[key]) for key in ("states", "step", "reserved"))
        yield Measured(name, row["set"] == "first", job, *figures)
