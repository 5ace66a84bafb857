"""How long synth takes, with and without the fast bindings, in one run on one machine.

    python benchmarks/synth.py              # everything, three times: some ten minutes, nearly all of it plain imports
    python benchmarks/synth.py --repeat 1 --no-plain
    python benchmarks/synth.py --no-pools   # start-up only

Each figure is the median of whole processes, taken in turns so that a busy machine slows both sides. Ratios, unlike
seconds, can be compared between machines.

States in the first table:

- warm: the program has run before.
- cold: first run of a user; nothing is cached, neither slim assemblies nor what jsii unpacks.
- new install: cold, and Python has no byte code yet, as after `uv pip install` or `pip install --no-compile`.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
PROFILE = ROOT / "profiles" / "nemo-rl-b200.yaml"
COMMAND = "{python} -m groundplan synth {profile} -o {out}"
POOLS = (10, 100, 500)


def profile_with_pools(count: int) -> str:
    """The shipped profile with this many GPU pools.

    All but the first have no nodes: resources are what is measured, and the address ranges would not hold the nodes.
    """
    profile = yaml.safe_load(PROFILE.read_text())
    first = profile["gpu"]["pools"][0]
    more = [{**first, "name": f"pool-{number:03}", "nodes": 0} for number in range(1, count)]
    profile["gpu"]["pools"] = [first, *more]
    return yaml.safe_dump(profile, sort_keys=False)


@dataclass(frozen=True)
class Runner:
    """Runs the command to be measured, each time with the caches of one state."""

    command: str
    scratch: Path

    def seconds(self, profile: Path, out: Path, environ: Mapping[str, str]) -> float:
        """Wall-clock time of one process, which must succeed."""
        command = [part.format(python=sys.executable, profile=profile, out=out) for part in shlex.split(self.command)]
        started = time.perf_counter()
        done = subprocess.run(command, env={**clean_environment(), **environ}, capture_output=True, text=True)
        elapsed = time.perf_counter() - started
        if done.returncode:
            raise SystemExit(f"{shlex.join(command)} failed:\n{done.stderr}")
        return elapsed

    def in_state(self, state: str, plain: bool, out: Path) -> float:
        """Time of a synth of the shipped profile, after bringing the caches into a state."""
        environ = {"GROUNDPLAN_PLAIN_IMPORTS": "1"} if plain else {}
        if state == "warm":
            return self.seconds(PROFILE, out, {**environ, "GROUNDPLAN_CACHE": str(self.scratch / "warm")})
        with tempfile.TemporaryDirectory(dir=self.scratch) as empty:
            environ |= {"GROUNDPLAN_CACHE": f"{empty}/cache", "JSII_RUNTIME_PACKAGE_CACHE_ROOT": f"{empty}/jsii"}
            if state == "new install":
                environ |= {"PYTHONPYCACHEPREFIX": f"{empty}/pyc"}
            return self.seconds(PROFILE, out, environ)


def clean_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("GROUNDPLAN_", "JSII_"))}


def resources(out: Path) -> int:
    """Managed resources in all stacks of an output folder."""
    stacks = [json.loads(file.read_text()) for file in out.rglob("cdk.tf.json")]
    return sum(len(named) for stack in stacks for named in stack.get("resource", {}).values())


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    print(f"\n{title}\n")
    for row in (head, ["-" * width for width in widths], *rows):
        print(
            f"{row[0]:{widths[0]}}",
            *(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)),
            sep="  ",
        )


def measure_start(runner: Runner, repeat: int, with_plain: bool) -> None:
    """Start-up: plain imports against ours, in each state."""
    sides = (False, True) if with_plain else (False,)
    for plain in sides:
        runner.in_state("warm", plain, runner.scratch / "out")  # to warm up
    rows = []
    for state in ("warm", "cold", "new install"):
        taken: dict[bool, list[float]] = {plain: [] for plain in sides}
        for _ in range(repeat):
            for plain in sides:
                taken[plain].append(runner.in_state(state, plain, runner.scratch / "out"))
        fast = statistics.median(taken[False])
        row = [state, f"{fast:.2f} s"]
        if with_plain:
            slow = statistics.median(taken[True])
            row += [f"{slow:.2f} s", f"{slow / fast:.1f} x"]
        rows.append(row)
    table(f"{PROFILE.name}: time of one synth", ["state", "groundplan", "plain imports", "ratio"][: len(rows[0])], rows)


def measure_pools(runner: Runner, repeat: int, counts: Sequence[int]) -> None:
    """Cost per resource, which must not grow with their number."""
    warm = {"GROUNDPLAN_CACHE": str(runner.scratch / "warm")}
    points: list[tuple[int, int, float]] = []
    for count in sorted({1, *counts}):
        profile = runner.scratch / f"pools-{count}.yaml"
        profile.write_text(profile_with_pools(count))
        out = runner.scratch / f"out-{count}"
        taken = [runner.seconds(profile, out, warm) for _ in range(repeat)]
        points.append((count, resources(out), statistics.median(taken)))
    _, fewest, shortest = points[0]
    rows = []
    for count, made, taken_time in points:
        further = f"{(taken_time - shortest) / (made - fewest) * 1000:.2f} ms" if made > fewest else "-"
        rows.append([str(count), str(made), f"{taken_time:.2f} s", further])
    table("Cost of resources, warm", ["GPU pools", "resources", "synth", "per further resource"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each figure (default: 3)")
    parser.add_argument("--no-plain", action="store_true", help="leave the plain imports out")
    parser.add_argument("--no-pools", action="store_true", help="leave the cost of resources out")
    parser.add_argument("--pools", type=int, nargs="+", default=POOLS, metavar="N", help="numbers of GPU pools")
    parser.add_argument("--command", default=COMMAND, help=f"what to measure (default: {COMMAND.replace('%', '%%')})")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="groundplan-bench-") as scratch:
        runner = Runner(options.command, Path(scratch))
        measure_start(runner, options.repeat, with_plain=not options.no_plain)
        if not options.no_pools:
            measure_pools(runner, options.repeat, options.pools)


if __name__ == "__main__":
    main()
