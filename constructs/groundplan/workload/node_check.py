"""The script that checks a GPU node's networks, and all nodes together, before Ray starts there.

It runs in the training image, as ``preflight.py``, after ``gpu_health.py`` has passed.

Standalone: it is copied into the job's ConfigMap as it stands, so it imports nothing of groundplan. Settings come from
variables PREFLIGHT_*. Exit code 0: all checks passed. Each line it prints is one check with what was found.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

#: Seconds between signs of life, and after which a node without one counts as gone.
BEAT, GONE = 2.0, 20.0
PORT = 29400
#: Elements of the all-reduce: 1 GiB in float32, which counts ranks exactly; bf16 stops at 256.
ELEMENTS = 1 << 28


class Failed(Exception):
    """A check that did not pass."""


def check_network(interfaces: list[str], rdma: int, root: Path = Path("/")) -> str:
    """Every interface of the pod's annotation is there, and as many RDMA devices."""
    absent = [name for name in interfaces if not (root / "sys/class/net" / name).exists()]
    if absent:
        raise Failed(f"no network interface {', '.join(absent)}")
    devices = len(list((root / "dev/infiniband").glob("uverbs*")))
    if devices < rdma:
        raise Failed(f"{devices} RDMA devices, {rdma} expected")
    return f"{len(interfaces)} networks, {devices} RDMA devices"


def check_plugin(folder: Path, tuner: str) -> str:
    """The gIB plugin has been put on the node."""
    if not list((folder / "lib64").glob("libnccl*net*.so*")):
        raise Failed(f"no NCCL network plugin in {folder}/lib64; is the gIB installer done on this node?")
    if tuner and not Path(tuner).exists():
        raise Failed(f"no tuner file {tuner}")
    return "gIB plugin and tuner file"


def meet(folder: Path, me: str, address: str, nodes: int, timeout: float) -> list[tuple[str, str]]:
    """Wait until `nodes` pods show signs of life in `folder`; return their names and addresses in one order for all.

    A file a pod, written whole and touched while it waits; a pod that has died is left out by the age of its file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mine, partial = folder / me, folder / f".{me}"
    end = time.monotonic() + timeout
    seen: list[tuple[str, str]] = []
    while time.monotonic() < end:
        partial.write_text(address)
        partial.replace(mine)
        now = mine.stat().st_mtime
        found = []
        for file in sorted(folder.iterdir()):
            try:
                if not file.name.startswith(".") and now - file.stat().st_mtime < GONE:
                    found.append((file.name, file.read_text()))
            except FileNotFoundError:
                continue
        # Twice the same, so that the others have seen it too before anyone goes on.
        if len(found) == nodes and found == seen:
            return found
        seen = found
        time.sleep(BEAT)
    raise Failed(f"{len(seen)} of {nodes} nodes showed up within {timeout:.0f} s: {', '.join(n for n, _ in seen)}")


def all_reduce(local: int, node: int, nodes: int, gpus: int, address: str, floor: float) -> None:
    """One GPU's part of the all-reduce; the first prints the bus bandwidth. Runs in a process of its own.

    Below the floor, neighbours measure in pairs, each node with the one before it and the one behind it: a node that is
    slow with both is named.
    """
    torch: Any = importlib.import_module("torch")
    dist: Any = importlib.import_module("torch.distributed")
    torch.cuda.set_device(local)
    world = nodes * gpus
    dist.init_process_group("nccl", init_method=f"tcp://{address}:{PORT}", world_size=world, rank=node * gpus + local)
    data = torch.ones(ELEMENTS, dtype=torch.float32, device="cuda")
    dist.all_reduce(data)
    if float(data[0]) != world or float(data[-1]) != world:
        raise Failed(f"all-reduce gave {float(data[0])}, {world} expected")
    bandwidth = _bandwidth(torch, dist, data, world)
    if local == 0:
        _say(
            f"all-reduce over {world} GPUs: {bandwidth:.0f} GB/s on the bus" if world > 1 else "one GPU: no all-reduce"
        )
    slow = []
    if bandwidth < floor and nodes > 2:
        pairs = neighbours(nodes)
        groups = [
            [dist.new_group([n * gpus + g for n in pair for g in range(gpus)]) for pair in turn] for turn in pairs
        ]
        found = torch.zeros(len(pairs), nodes, device="cuda")
        for turn, (members, made) in enumerate(zip(pairs, groups, strict=True)):
            for pair, group in zip(members, made, strict=True):
                if node in pair:
                    found[turn, node] = _bandwidth(torch, dist, data, len(pair) * gpus, group)
            dist.barrier()
        dist.all_reduce(found, op=dist.ReduceOp.MAX)
        slow = slow_nodes(found.tolist(), floor)
    dist.destroy_process_group()
    if bandwidth < floor:
        named = f"; slow with each neighbour: {', '.join(f'node {n}' for n in slow)}" if slow else ""
        raise Failed(f"all-reduce: {bandwidth:.0f} GB/s is below {floor:.0f} GB/s{named}")


def _bandwidth(torch: Any, dist: Any, data: Any, ranks: int, group: Any = None) -> float:
    """Bus bandwidth of all-reduces of `data` in a group, in GB/s: the slowest rank's; 0 with one rank."""
    for _ in range(4):
        dist.all_reduce(data, group=group)
    torch.cuda.synchronize()
    start = time.monotonic()
    rounds = 20
    for _ in range(rounds):
        dist.all_reduce(data, group=group)
    torch.cuda.synchronize()
    seconds: Any = torch.tensor([(time.monotonic() - start) / rounds], device="cuda")
    dist.all_reduce(seconds, op=dist.ReduceOp.MAX, group=group)
    return bus_bandwidth(ELEMENTS * 4, ranks, float(seconds[0]))


def neighbours(nodes: int) -> list[list[tuple[int, int]]]:
    """Two or three rounds of pairs, no node twice in one: each node meets the next of a ring."""
    ring = [(n, (n + 1) % nodes) for n in range(nodes)]
    rounds = [ring[0 : nodes - 1 : 2], ring[1:nodes:2]]
    return [*rounds, [ring[-1]]] if nodes % 2 else rounds


def slow_nodes(found: list[list[float]], floor: float) -> list[int]:
    """Nodes below the floor with every neighbour.

    `found` has a row for each round: each node's GB/s, and 0 where it had no pair.
    """
    by_node = [[speed for speed in node if speed] for node in zip(*found, strict=True)]
    return [n for n, speeds in enumerate(by_node) if speeds and max(speeds) < floor]


def bus_bandwidth(size: int, ranks: int, seconds: float) -> float:
    """GB/s as nccl-tests counts them: 2 (n - 1) / n of the bytes pass each link."""
    return 2 * (ranks - 1) / ranks * size / seconds / 1e9


def main() -> int:
    """Run all checks; 1 when one fails."""
    get = os.environ.__getitem__
    nodes, gpus = int(get("PREFLIGHT_NODES")), int(get("PREFLIGHT_GPUS"))
    folder = Path(get("PREFLIGHT_FOLDER"))
    interfaces = [name for name in get("PREFLIGHT_INTERFACES").split(",") if name]
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(int(get("PREFLIGHT_LIMIT")))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _say(check_network(interfaces, int(get("PREFLIGHT_RDMA"))))
        if get("PREFLIGHT_PLUGIN"):
            _say(check_plugin(Path(get("PREFLIGHT_PLUGIN")), os.environ.get("NCCL_TUNER_CONFIG_PATH", "")))
        if (folder / "passed").exists():
            _say("the nodes of this cluster have passed the all-reduce before")
            return 0
        members = meet(folder / "members", get("POD_NAME"), get("POD_IP"), nodes, float(get("PREFLIGHT_TIMEOUT")))
        _together(members, gpus, float(get("PREFLIGHT_FLOOR")))
        names = "\n".join(name for name, _ in members)
        (folder / "passed").write_text(f"{hashlib.sha256(names.encode()).hexdigest()}\n{names}\n")
    except (Failed, OSError, ValueError) as error:
        sys.stderr.write(f"FAILED {error}\n")
        return 1
    finally:
        signal.alarm(0)
    return 0


def _too_long(*_: object) -> None:
    raise Failed(f"the checks took more than {os.environ['PREFLIGHT_LIMIT']} s; the last that passed is above")


def _together(members: list[tuple[str, str]], gpus: int, floor: float) -> None:
    processes: Any = importlib.import_module("torch.multiprocessing")
    node = [name for name, _ in members].index(os.environ["POD_NAME"])
    arguments = (node, len(members), gpus, members[0][1], floor)
    try:
        processes.spawn(all_reduce, args=arguments, nprocs=gpus, daemon=True)
    except Exception as error:  # torch wraps whatever a process raised
        said = str(error).strip().splitlines()[-1]
        for n, (name, _) in enumerate(members):
            said = re.sub(rf"\bnode {n}\b", f"node of {name}", said)
        raise Failed(said) from None


def _say(text: str) -> None:
    sys.stdout.write(f"ok    {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
