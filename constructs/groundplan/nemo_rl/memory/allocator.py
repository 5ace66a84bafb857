"""PyTorch's caching allocator, as far as sizes go: what it reserves for a sequence of allocations.

Each stream has its own pool of blocks. A request takes the smallest free block that holds it, split where more than
1 MiB would be left; without one, a new segment is reserved: 20 MiB for less than 10 MiB, else whole 2 MiB. Freed
neighbours in a segment merge; segments never do, so what several phases need in other sizes adds up.
Source: pytorch v2.11, c10/cuda/CUDACachingAllocator.cpp (defaults; expandable segments off).
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

MIB = 1 << 20
ROUND, SMALL, LARGE, MEDIUM_SEGMENT, SEGMENT = 512, MIB, 10 * MIB, 20 * MIB, 2 * MIB


@dataclass(eq=False)
class Block:
    """A piece of a segment, linked to its neighbours; `size` in bytes."""

    size: int
    stream: str
    free: bool = False
    before: Block | None = None
    after: Block | None = None


class Allocator:
    """Reserved bytes and the most that were in use. Requests of up to 1 MiB are not followed."""

    def __init__(self) -> None:
        self.reserved = 0
        self.used = 0
        self.peak = 0
        self._pools: dict[str, list[tuple[int, int, Block]]] = {}
        self._serial = 0

    def take(self, size: float, stream: str = "compute") -> Block | None:
        """A block of at least `size` bytes; None for a small request."""
        wanted = -(-int(size) // ROUND) * ROUND
        if wanted <= SMALL:
            return None
        pool = self._pools.setdefault(stream, [])
        at = bisect.bisect_left(pool, (wanted, -1))
        if at < len(pool):
            block = pool.pop(at)[2]
            block.free = False
        else:
            whole = MEDIUM_SEGMENT if wanted < LARGE else -(-wanted // SEGMENT) * SEGMENT
            self.reserved += whole
            block = Block(whole, stream)
        if block.size - wanted > SMALL:
            rest = Block(block.size - wanted, stream, before=block, after=block.after)
            if block.after:
                block.after.before = rest
            block.after, block.size = rest, wanted
            self._put(rest)
        self.used += block.size
        self.peak = max(self.peak, self.used)
        return block

    def give(self, block: Block | None) -> None:
        """Free a block; it merges with free neighbours."""
        if block is None:
            return
        self.used -= block.size
        if block.before and block.before.free:
            block.before.size += block.size
            before, after = block.before, block.after
            self._remove(before, before.size - block.size)
            before.after = after
            if after:
                after.before = before
            block = before
        if block.after and block.after.free:
            after = block.after
            self._remove(after, after.size)
            block.size += after.size
            block.after = after.after
            if block.after:
                block.after.before = block
        self._put(block)

    def _put(self, block: Block) -> None:
        block.free = True
        self._serial += 1
        bisect.insort(self._pools.setdefault(block.stream, []), (block.size, self._serial, block))

    def _remove(self, block: Block, size: int) -> None:
        pool = self._pools[block.stream]
        at = bisect.bisect_left(pool, (size, -1))
        while pool[at][2] is not block:
            at += 1
        pool.pop(at)
