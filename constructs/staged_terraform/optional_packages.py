"""The optional packages of the rehearsal: their absence is said in one line, before anything needs them."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec

from findings import UnavailableError


class OptionalPackageMissing(UnavailableError):
    """grpcio or msgpack is not installed."""


def require_optional_packages() -> None:
    """Raise OptionalPackageMissing, with the mend, unless grpcio and msgpack are there."""
    missing = [package for module, package in (("grpc", "grpcio"), ("msgpack", "msgpack")) if find_spec(module) is None]
    if missing:
        command = f"{shlex.quote(sys.executable)} -m pip install {' '.join(missing)}"
        raise OptionalPackageMissing(f"a rehearsal needs {' and '.join(missing)}: {command}")
