"""The program that checks the GPUs, links, tools and folders of one machine.

It is ``gpu_health.py`` in the training image, and ``groundplan node-check`` on any machine with NVIDIA GPUs.

Standalone: it is copied into the job's ConfigMap as it stands, with ``gpu_speed.py``, which measures with torch; they
import nothing of groundplan. What to expect comes as options, since the catalog stays at home; what is not given is
shown and not judged. Each check is a line of a table and an entry of the JSON; the exit code tells the kind.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

#: Kind of a check -> exit code when it is the first kind, in this order, that has a failure.
CODES = {"tools": 2, "gpu": 10, "link": 11, "software": 12, "speed": 13, "storage": 14}

#: Least share of the published figure: a copy moves about nine tenths of the HBM bandwidth, and a product of random
#: bf16 matrices draws so much power that the clock falls (one H200, 2026: 4.3 of 4.8 TB/s, 788 of 989 TFLOP/s).
HBM_SHARE, BF16_SHARE = 0.75, 0.5

#: Reasons for low clocks that no healthy GPU shows (NVML's clocks event reasons).
_BAD_CLOCKS = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")

#: Marks among the ECC errors that ask for a repair (drivers from R570 on print them).
_REPAIRS = ("channel_repair_pending", "tpc_repair_pending", "unrepairable_memory")

_SECONDS = 30


@dataclass(frozen=True)
class Check:
    """One check of a GPU (`gpu` is its number) or of the machine (None)."""

    name: str
    kind: str
    passed: bool
    found: str
    expected: str = ""
    mend: str = ""
    gpu: int | None = None
    values: dict[str, float] = field(default_factory=dict)

    def line(self) -> str:
        """As the table shows it."""
        where = "node" if self.gpu is None else f"GPU {self.gpu}"
        wanted = f"; expected {self.expected}" if self.expected and not self.passed else ""
        mend = f"\n        {self.mend}" if self.mend and not self.passed else ""
        return f"{'ok    ' if self.passed else 'FAILED'}  {where:<6}  {self.name:<14}  {self.found}{wanted}{mend}"


_REPLACE = "drain the node and have it repaired or replaced (docs/node-check.md)"


def gpu_checks(listing: str, expected: argparse.Namespace) -> Iterator[Check]:
    """Of ``nvidia-smi -q -x``: count, driver, ECC, remapped rows, clocks. Raises ValueError when it is not its XML."""
    try:
        log = ET.fromstring(listing)
    except ET.ParseError as error:
        raise ValueError(f"nvidia-smi -q -x printed no XML: {error}") from None
    gpus = log.findall("gpu")
    names = ", ".join(sorted({_text(gpu, "product_name") for gpu in gpus}))
    wanted = expected.gpus or len(gpus)
    yield Check(
        "count", "gpu", len(gpus) == wanted > 0, f"{len(gpus)} x {names or 'no GPU'}", f"{wanted} GPUs", _REPLACE
    )
    driver = _text(log, "driver_version")
    branch = int(driver.partition(".")[0]) if driver.partition(".")[0].isdigit() else 0
    floor = f"R{expected.min_driver} or newer" if expected.min_driver else ""
    mend = "`gpu.pools[].driver: LATEST`, or a newer GKE version"
    yield Check("driver", "software", branch >= expected.min_driver, driver, floor, mend)
    for number, gpu in enumerate(gpus):
        yield _ecc(number, gpu)
        yield _rows(number, gpu)
        yield _clocks(number, gpu)


def _text(node: ET.Element, path: str) -> str:
    return (node.findtext(path) or "").strip()


def _counts(node: ET.Element | None) -> dict[str, int]:
    """The counters below an element that are numbers."""
    found = {} if node is None else {each.tag: (each.text or "").strip() for each in node.iter()}
    return {tag: int(text) for tag, text in found.items() if text.isdigit()}


def _ecc(number: int, gpu: ET.Element) -> Check:
    mode = _text(gpu, "ecc_mode/current_ecc")
    volatile = _counts(gpu.find("ecc_errors/volatile"))
    wrong = {tag: count for tag, count in volatile.items() if "uncorrectable" in tag and count}
    marks = [tag for tag in _REPAIRS if _text(gpu, f"ecc_errors/{tag}") == "Yes"]
    said = [*(f"{tag} {count}" for tag, count in wrong.items()), *marks]
    found = ", ".join(said) or f"{mode or 'N/A'}, no uncorrectable error"
    passed = not said and mode != "Disabled"
    return Check(
        "ECC", "gpu", passed, found, "Enabled, no uncorrectable error since the driver's start", _REPLACE, number
    )


def _rows(number: int, gpu: ET.Element) -> Check:
    rows = gpu.find("remapped_rows")
    said = {} if rows is None else {each.tag: (each.text or "").strip() for each in rows}
    uncorrectable = said.get("remapped_row_unc", "0")
    wrong = [word for word in ("pending", "failure") if said.get(f"remapped_row_{word}", "No") in ("Yes", "1")]
    found = f"{uncorrectable} rows remapped after uncorrectable errors" + "".join(f", {word}" for word in wrong)
    mend = "reset the GPU or reboot the node" if wrong == ["pending"] else _REPLACE
    return Check("remapped rows", "gpu", not wrong, found, "neither pending nor failure", mend, number)


def _clocks(number: int, gpu: ET.Element) -> Check:
    reasons = gpu.find("clocks_event_reasons")
    if reasons is None:  # drivers before R535
        reasons = gpu.find("clocks_throttle_reasons")
    active = [] if reasons is None else [each.tag for each in reasons if (each.text or "").strip() == "Active"]
    bad = [tag for tag in active if any(tag.endswith(reason) for reason in _BAD_CLOCKS)]
    now, most = _text(gpu, "clocks/sm_clock") or "?", _text(gpu, "max_clocks/sm_clock") or "?"
    heat = _text(gpu, "temperature/gpu_temp")
    found = f"SM {now} of {most}, {heat}" + "".join(f", {tag}" for tag in bad)
    return Check("clocks", "gpu", not bad, found, "no thermal or hardware slowdown", _REPLACE, number)


def link_checks(listing: str, gpus: int, links: int) -> Iterator[Check]:
    """Of ``nvidia-smi nvlink -s``: as many active links on each GPU as `links`; 0 shows them without judging."""
    active: dict[int, list[float]] = {}
    inactive: dict[int, int] = {}
    gpu = -1
    for line in listing.splitlines():
        if found := re.match(r"GPU (\d+):", line):
            gpu = int(found.group(1))
        elif found := re.search(r"Link \d+: ([\d.]+) GB/s", line):
            active.setdefault(gpu, []).append(float(found.group(1)))
        elif re.search(r"Link \d+: <inactive>", line):
            inactive[gpu] = inactive.get(gpu, 0) + 1
    for number in range(gpus):
        speeds = active.get(number, [])
        off = f", {inactive[number]} inactive" if inactive.get(number) else ""
        text = f"{len(speeds)} links, {sum(speeds):.0f} GB/s in all{off}" if speeds or off else "none"
        passed = not links or (len(speeds) == links and max(speeds) - min(speeds) < 0.1 * max(speeds))
        yield Check("NVLink", "link", passed, text, f"{links} links of one speed", _REPLACE, number)


def nic_checks(rdma: int, root: Path = Path("/")) -> Iterator[Check]:
    """As many RDMA devices as expected, each with an active port (sysfs: ``infiniband/*/ports/*/state``)."""
    if not rdma:
        return
    found = {}
    for device in sorted((root / "sys/class/infiniband").glob("*")):
        states = [_state(port) for port in sorted((device / "ports").glob("*/state"))]
        found[device.name] = states[0] if states else "no port"
    down = [f"{name} {state}" for name, state in found.items() if state != "ACTIVE"]
    text = f"{len(found)} RDMA devices" + (f", not active: {', '.join(down)}" if down else "")
    passed = len(found) == rdma and not down
    yield Check("RDMA", "link", passed, text, f"{rdma}, all active", "see the pod's NICs in docs/fabrics.md")


def _state(port: Path) -> str:
    """``4: ACTIVE`` -> ``ACTIVE``."""
    return port.read_text().partition(":")[2].strip() or "unknown"


def storage_checks(folder: str, scratch: str, scratch_gib: int) -> Iterator[Check]:
    """The shared folder is a mount and can be written; the scratch folder has room."""
    if folder:
        yield _writable(Path(folder))
    if scratch:
        path = next(each for each in (Path(scratch), *Path(scratch).absolute().parents) if each.exists())
        free = shutil.disk_usage(path).free >> 30
        mend = "remove what is left there, or use a node with more local SSD"
        yield Check(
            "local disk", "storage", free >= scratch_gib, f"{scratch}: {free:,} GiB free", f"{scratch_gib:,}", mend
        )


def _writable(folder: Path, mib: int = 64) -> Check:
    mount = next(each for each in (folder.absolute(), *folder.absolute().parents) if os.path.ismount(each))
    mend = "is the volume mounted, and may this user write there?"
    if mount == Path("/"):
        return Check("storage", "storage", False, f"{folder} is on the machine's own disk", "a mounted volume", mend)
    probe = folder / f".groundplan-{os.getpid()}-{os.uname().nodename}"
    block = os.urandom(1 << 20)
    start = time.monotonic()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with probe.open("wb") as file:
            for _ in range(mib):
                file.write(block)
            os.fsync(file.fileno())
        whole = probe.read_bytes() == block * mib
    except OSError as error:
        return Check("storage", "storage", False, f"{folder}: {error.strerror}", "a folder that can be written", mend)
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
    speed = mib / max(time.monotonic() - start, 1e-9)
    found = f"{folder} on {mount}: written and read, {speed:.0f} MiB/s"
    return Check("storage", "storage", whole, found, "what was read to be what was written", mend)


def speed_checks(rows: list[dict[str, Any]], expected: argparse.Namespace) -> Iterator[Check]:
    """Of what the processes that measure printed: HBM bandwidth, bf16 products, NCCL's version."""
    for row in rows:
        number = int(row["gpu"])
        if "error" in row:
            yield Check("measurement", "tools", False, str(row["error"]), "", "does torch see this GPU?", number)
            continue
        hbm, bf16 = float(row["hbm_tb_per_s"]), float(row["bf16_tflops"])
        yield _speed("HBM", hbm, expected.hbm_tb_per_s, HBM_SHARE, "TB/s", number)
        yield _speed("bf16", bf16, expected.bf16_tflops, BF16_SHARE, "TFLOP/s", number)
    versions = sorted({str(row["nccl"]) for row in rows if row.get("nccl")})
    if versions:
        passed = not expected.nccl or versions == [expected.nccl]
        mend = "the image is another release's, or a library was put over its NCCL"
        yield Check("NCCL", "software", passed, ", ".join(versions), expected.nccl, mend)


def _speed(name: str, found: float, published: float, share: float, unit: str, gpu: int) -> Check:
    said = f"{found:,.1f} {unit}" + (f", {found / published:.0%} of the published {published:,g}" if published else "")
    least = f"at least {share:.0%}" if published else ""
    return Check(
        name, "speed", found >= share * published, said, least, _REPLACE, gpu, {"found": found, "published": published}
    )


def measured(gpus: int) -> list[dict[str, Any]]:
    """All GPUs at once, each in a process of its own, so that one that hangs is told from the others."""
    program = [sys.executable, str(Path(__file__).with_name("gpu_speed.py"))]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen([*program, str(number)], **pipes) for number in range(gpus)]
    end, rows = time.monotonic() + _SECONDS, []
    for number, process in enumerate(running):
        try:
            out, err = process.communicate(timeout=max(end - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            rows.append({"gpu": number, "error": f"no answer within {_SECONDS} s"})
            continue
        last = (err.strip().splitlines() or [f"exit code {process.returncode}"])[-1]
        rows.append({"gpu": number, "error": last[:200]} if process.returncode else json.loads(out.splitlines()[-1]))
    return rows


def _tool(*arguments: str) -> str:
    """What nvidia-smi prints; GKE has it in a folder that is not on the PATH. Raises ValueError with the reason."""
    path = f"/usr/local/nvidia/bin:{os.environ.get('PATH', '')}"
    command = ["nvidia-smi", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, env={**os.environ, "PATH": path})
    except FileNotFoundError:
        raise ValueError(
            "nvidia-smi is not here: no NVIDIA driver on this machine, or none in this container"
        ) from None
    except subprocess.TimeoutExpired:
        raise ValueError("nvidia-smi gave no answer within 20 s") from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines() or [f"exit code {done.returncode}"]
        raise ValueError(f"{' '.join(command)}: {said[-1][:200]}")
    return done.stdout


def all_checks(expected: argparse.Namespace) -> Iterator[Check]:
    """In the order in which one would look: what is there, its health, its links, its speed, its folders."""
    gpus = 0
    try:
        listing = _tool("-q", "-x")
        gpus = len(re.findall(r"<gpu id=", listing))
        yield from gpu_checks(listing, expected)
        if gpus:
            yield from link_checks(_tool("nvlink", "-s"), gpus, expected.nvlinks)
    except ValueError as error:
        yield Check("nvidia-smi", "tools", False, str(error))
    yield from nic_checks(expected.rdma)
    if gpus and not expected.quick:
        yield from speed_checks(measured(gpus), expected)
    yield from storage_checks(expected.folder, expected.scratch, expected.scratch_gib)


def exit_code(checks: list[Check]) -> int:
    """0 when all passed; else the code of the first kind, in the order of CODES, of which one failed."""
    failed = {check.kind for check in checks if not check.passed}
    return next((code for kind, code in CODES.items() if kind in failed), 0)


def options() -> argparse.ArgumentParser:
    """The program's options."""
    parser = argparse.ArgumentParser(description="Check the GPUs, links, tools and folders of this machine.")
    parser.add_argument("--gpus", type=int, default=0, help="how many there must be")
    parser.add_argument("--min-driver", type=int, default=0, help="least driver branch, such as 570")
    parser.add_argument("--nvlinks", type=int, default=0, help="active NVLinks of each GPU")
    parser.add_argument("--rdma", type=int, default=0, help="RDMA devices")
    parser.add_argument("--hbm-tb-per-s", type=float, default=0, help="published memory bandwidth of a GPU, TB/s")
    parser.add_argument("--bf16-tflops", type=float, default=0, help="published dense bf16 TFLOP/s of a GPU")
    parser.add_argument("--nccl", default="", help="NCCL's version that the image should have")
    parser.add_argument("--folder", default="", help="a folder on the shared volume, to write to")
    parser.add_argument("--scratch", default="", help="a folder on the local disk")
    parser.add_argument("--scratch-gib", type=int, default=0, help="GiB that must be free there")
    parser.add_argument("--quick", action="store_true", help="measure no speed (needs no torch)")
    parser.add_argument("--json", default="", help="write the result to this file")
    return parser


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: list[str] | None = None) -> int:
    """Print the table, write the JSON, return the exit code."""
    expected = options().parse_args(arguments)
    start, checks = time.monotonic(), []
    for check in all_checks(expected):
        checks.append(check)
        _say(check.line())
    code = exit_code(checks)
    bad = sum(not check.passed for check in checks)
    seconds = time.monotonic() - start
    _say(f"{len(checks)} checks in {seconds:.0f} s, " + (f"{bad} failed" if bad else "all passed"))
    if expected.json:
        found = {
            "passed": not code,
            "exit_code": code,
            "seconds": round(seconds, 1),
            "checks": list(map(asdict, checks)),
        }
        try:
            path = Path(expected.json)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(found, indent=2) + "\n")
        except OSError as error:
            sys.stderr.write(f"{expected.json}: {error.strerror}\n")
            return code or CODES["storage"]
    return code


if __name__ == "__main__":
    sys.exit(main())
