"""Folders that are made for a work that may come to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Make a folder and those above it; in the end those that were made, and got nothing in them, are gone again."""
    absent = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        with suppress(OSError):  # not empty
            for each in absent:
                each.rmdir()
