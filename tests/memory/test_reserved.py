"""What PyTorch's allocator reserves: its rules one by one, and two steps against what was measured on an H200."""

from __future__ import annotations

import pytest
from tests.memory.measured import Measured, measurements

from groundplan.nemo_rl.memory.allocator import MIB, Allocator
from groundplan.nemo_rl.memory.replay import reserved

ALL = tuple(measurements())


@pytest.mark.parametrize("measured", ALL, ids=[m.name for m in ALL])
def test_reserved_memory_is_forecast_within_fifteen_percent(measured: Measured) -> None:
    assert reserved(measured.job) == pytest.approx(measured.reserved * 1e9, rel=0.15)


def test_the_mean_error_is_within_four_percent() -> None:
    errors = [abs(reserved(m.job) / m.reserved / 1e9 - 1) for m in ALL]
    assert sum(errors) / len(errors) <= 0.04


def test_segments_are_whole_and_split() -> None:
    allocator = Allocator()
    first = allocator.take(3 * MIB)
    allocator.take(4 * MIB)
    assert allocator.reserved == 20 * MIB  # one segment for both
    allocator.take(14 * MIB - 1)
    assert allocator.reserved == 34 * MIB  # whole 2 MiB
    allocator.give(first)
    assert allocator.used == (4 + 14) * MIB


def test_small_requests_are_not_followed() -> None:
    allocator = Allocator()
    allocator.give(allocator.take(MIB))
    assert allocator.reserved == 0


def test_freed_neighbours_merge_and_segments_do_not() -> None:
    allocator = Allocator()
    blocks = [allocator.take(size * MIB) for size in (40, 40)]
    for block in blocks:
        allocator.give(block)
    allocator.take(80 * MIB)
    assert allocator.reserved == 160 * MIB
    whole = Allocator()
    whole.give(whole.take(80 * MIB))
    for block in [whole.take(40 * MIB) for _ in range(2)]:
        whole.give(block)
    whole.take(80 * MIB)
    assert whole.reserved == 80 * MIB


def test_streams_do_not_share_blocks() -> None:
    allocator = Allocator()
    allocator.give(allocator.take(40 * MIB, "gather"))
    allocator.take(40 * MIB)
    assert allocator.reserved == 80 * MIB
