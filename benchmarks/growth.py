"""How the time of check and review grows with what they read, in one run on one machine.

    python benchmarks/growth.py
    python benchmarks/growth.py --repeat 1

Each figure is the median of whole processes, taken in turns so that a busy machine slows all sizes alike. What counts
is the last column: time per item beyond the smallest size, as a ratio to that of the step before. Near 1 is linear.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
PROFILE = ROOT / "profiles" / "nemo-rl-b200.yaml"


def profiles(count: int, folder: Path) -> list[str]:
    """Arguments that check this many profiles of sites in twenty projects."""
    profile = yaml.safe_load(PROFILE.read_text())
    files = [folder / f"{number:04}.yaml" for number in range(count)]
    for number, file in enumerate(files):
        file.write_text(yaml.safe_dump({**profile, "site": f"site-{number}", "project": f"project-{number % 20}"}))
    return ["check", *map(str, files)]


def plan(count: int, folder: Path) -> list[str]:
    """Arguments that review a plan which creates this many Helm releases."""
    changes = []
    for number in range(count):
        kind, name = "helm_release", f"r{number}"
        after = {"name": name, "values": ["a: [1, 2]\nb: {c: d}\n" * 5]}
        change = {"actions": ["create"], "before": None, "after": after, "after_unknown": {}}
        head = {"address": f"{kind}.{name}", "mode": "managed", "type": kind, "name": name}
        changes.append({**head, "provider_name": "registry.terraform.io/hashicorp/helm", "change": change})
    file = folder / "plan.json"
    file.write_text(json.dumps({"format_version": "1.2", "terraform_version": "1.11.0", "resource_changes": changes}))
    return ["review", str(file)]


def seconds(arguments: list[str]) -> float:
    """Wall-clock time of one process; findings (exit codes 1 and 2) are no failure of a measurement."""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "groundplan", *arguments], capture_output=True, text=True)
    elapsed = time.perf_counter() - started
    if "Traceback" in done.stderr:
        raise SystemExit(done.stderr)
    return elapsed


def measure(title: str, prepare: Callable[[int, Path], list[str]], counts: tuple[int, ...], repeat: int) -> None:
    """Print the medians of all sizes, and how the cost of one more item changes from size to size."""
    with tempfile.TemporaryDirectory(prefix="groundplan-bench-") as scratch:
        commands = {}
        for count in counts:
            folder = Path(scratch) / str(count)
            folder.mkdir()
            commands[count] = prepare(count, folder)
        taken: dict[int, list[float]] = {count: [] for count in counts}
        for _ in range(repeat):
            for count, arguments in commands.items():
                taken[count].append(seconds(arguments))
    medians = {count: statistics.median(times) for count, times in taken.items()}
    first, before = counts[0], 0.0
    print(f"\n{title}\n")
    for count, median in medians.items():
        each = (median - medians[first]) / (count - first) if count > first else 0.0
        ratio = f"{each / before:.2f} x" if before > 0 else "-"
        print(f"{count:>6}  {median:6.2f} s  {each * 1000:6.2f} ms per further item  {ratio:>8}")
        before = each


def main() -> None:
    """Measure both commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="runs of each figure (default: 3)")
    options = parser.parse_args()
    measure("check: profiles", profiles, (1, 50, 200), options.repeat)
    measure("review: resources", plan, (1, 1250, 5000), options.repeat)


if __name__ == "__main__":
    main()
