"""Reports that are served: files in a folder, under names that nobody can guess, for a time."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path

_NAME = re.compile(r"[A-Za-z0-9_-]{43}\.(?:html|json)")

_DAY = 86_400


class Pages:
    """A folder of reports; the oldest go when there are more than `most`, or when they are `days` old."""

    def __init__(self, folder: Path, days: int = 30, most: int = 2_000) -> None:
        self.folder = folder
        self._days, self._most = days, most
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def add(self, pages: Mapping[str, str]) -> str:
        """Keep the pages of one result; returns the name of the first. Raises OSError."""
        self._tidy()
        stem = secrets.token_urlsafe(32)
        for ending, text in pages.items():
            partial = self.folder / f".{stem}.partial"
            partial.touch(mode=0o600)
            partial.write_text(text, "utf-8", newline="\n")
            partial.replace(self.folder / f"{stem}{ending}")
        return stem + next(iter(pages))

    def find(self, name: str) -> Path | None:
        """The file of a name; None when there is none."""
        if not _NAME.fullmatch(name):
            return None
        file = self.folder / name
        return file if file.is_file() and not file.is_symlink() else None

    def _tidy(self) -> None:
        files = sorted(
            (file for file in self.folder.iterdir() if _NAME.fullmatch(file.name)),
            key=lambda file: file.stat().st_mtime,
            reverse=True,
        )
        oldest = time.time() - self._days * _DAY
        for position, file in enumerate(files):
            if position >= self._most or file.stat().st_mtime < oldest:
                file.unlink(missing_ok=True)
