"""The program that measures one GPU with torch, for ``gpu_health.py`` beside it; it prints one JSON object."""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

#: Side of the square matrices, and bytes that are copied: far more than the L2 holds.
_MATRIX, _COPY = 8192, 4 << 30


def measure(gpu: int) -> dict[str, Any]:
    """One GPU's HBM bandwidth by copying (bytes read and written) and bf16 products of random matrices."""
    torch: Any = importlib.import_module("torch")
    torch.cuda.set_device(gpu)
    copied = _seconds(torch, _copy(torch), 20)
    left, right = (torch.randn(_MATRIX, _MATRIX, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    multiplied = _seconds(torch, lambda: left @ right, 50)
    return {
        "gpu": gpu,
        "hbm_tb_per_s": round(2 * _COPY / copied / 1e12, 3),
        "bf16_tflops": round(2 * _MATRIX**3 / multiplied / 1e12, 1),
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
        "torch": torch.__version__,
    }


def _copy(torch: Any) -> Any:
    source = torch.empty(_COPY, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def _seconds(torch: Any, work: Any, rounds: int) -> float:
    """Mean seconds of one call, by the GPU's own events, after three that do not count."""
    for _ in range(3):
        work()
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    for _ in range(rounds):
        work()
    last.record()
    torch.cuda.synchronize()
    return float(first.elapsed_time(last)) / 1e3 / rounds


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]))) + "\n")
