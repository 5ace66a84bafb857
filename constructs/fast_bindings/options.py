"""What a program's environment says about the loading, under variables that begin with the program's name."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from fast_bindings import slim


@dataclass(frozen=True)
class Options:
    """The options of one program; `name` is ``groundplan`` for variables such as ``GROUNDPLAN_DEBUG``."""

    name: str

    def variable(self, suffix: str) -> str:
        """Name of an environment variable: ``my-site`` and ``DEBUG`` give ``MY_SITE_DEBUG``."""
        return f"{self.name.upper().replace('-', '_')}_{suffix}"

    def is_on(self, suffix: str) -> bool:
        """Whether a switch is set, and not to 0."""
        return os.environ.get(self.variable(suffix), "") not in ("", "0")

    def note(self, message: str) -> None:
        """Say on stderr why the ordinary way is taken, if the program's DEBUG switch is on."""
        if self.is_on("DEBUG"):
            sys.stderr.write(f"{self.name}: bindings: {message}\n")

    def cache_folder(self) -> Path | None:
        """The folder for slim assemblies, or ``None`` if there is no usable one. jsii is told to unpack below it too.

        Left to itself jsii uses ``~/.cache/aws``, and stops the program where that cannot be written.
        """
        folder: Path | None = None
        try:
            folder = slim.cache_folder(self.name, os.environ.get(self.variable("CACHE")))
        except (OSError, RuntimeError) as error:  # RuntimeError: nobody knows the user's home
            self.note(f"no cache: {error}")
        if not os.environ.get("JSII_RUNTIME_PACKAGE_CACHE_ROOT"):
            if folder is None:
                os.environ.setdefault("JSII_RUNTIME_PACKAGE_CACHE", "disabled")
            else:
                os.environ["JSII_RUNTIME_PACKAGE_CACHE_ROOT"] = str(folder / "jsii")
        return folder
