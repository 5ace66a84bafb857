"""Writing NeMo RL configuration values in the exact form that Hydra takes on the command line.

NeMo RL's configuration is a Hydra struct (nemo_rl/utils/config.py): ``key=value`` must name a key that exists,
``+key=value`` one that does not, ``++key=value`` sets or adds, ``~key`` deletes. A key under a null cannot be named
without ``++``. An unquoted comma makes a sweep, which NeMo RL refuses; so everything that is no plain word is quoted.
"""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from typing import Any

#: What may stand unquoted as a string: no comma (a sweep), no parenthesis (a function), no brace, bracket, equals sign.
_PLAIN = re.compile(r"[A-Za-z_/][-A-Za-z0-9_./@:+]*")
#: The same within a list or mapping, where a colon parts key from value.
_PLAIN_NESTED = re.compile(r"[A-Za-z_/][-A-Za-z0-9_./@+]*")
#: Keys of a mapping, which stand unquoted; others are for :func:`unwritable_keys` to find.
_KEY = re.compile(r"[A-Za-z_][-A-Za-z0-9_.]*")
#: Words that Hydra reads as something else than a string.
_WORDS = {"null", "true", "false", "nan", "inf"}
#: Functions that Hydra's override grammar knows; all but the casts make sweeps.
_SWEEP = re.compile(r"\s*(choice|range|interval|glob|tag|shuffle|sort|extend_list)\s*\(")


@dataclass(frozen=True)
class Override:
    """One override of the configuration. `prefix` is ``""``, ``+``, ``++`` or ``~``; `origin` says who set it."""

    path: str
    value: Any
    prefix: str
    origin: str

    @property
    def text(self) -> str:
        """The argument as Hydra's parser reads it."""
        return f"~{self.path}" if self.prefix == "~" else f"{self.prefix}{self.path}={value_text(self.value)}"

    @property
    def argument(self) -> str:
        """The argument as a word of a shell script."""
        return shlex.quote(self.text)


def value_text(value: Any, nested: bool = False) -> str:
    """`value` in Hydra's grammar, so that it comes out as the same value: YAML text stays text, numbers numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        return ("inf" if value > 0 else "-inf") if math.isinf(value) else repr(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join(value_text(item, True) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{value_text(item, True)}" for key, item in value.items()) + "}"
    return _string(str(value), nested)


def unwritable_keys(value: Any) -> list[str]:
    """Keys of mappings within `value` that Hydra would not read back: its grammar takes no quoted key, and reads a
    number or a word such as null as that."""
    if isinstance(value, list | tuple):
        return [key for item in value for key in unwritable_keys(item)]
    if isinstance(value, dict):
        own = [str(key) for key in value if not _writable(key)]
        return own + [key for item in value.values() for key in unwritable_keys(item)]
    return []


def is_sweep(value: Any) -> bool:
    """Whether a text is one of Hydra's sweep functions, ``choice(1,2)``, which NeMo RL does not take."""
    return isinstance(value, str) and bool(_SWEEP.match(value))


def _string(text: str, nested: bool = False) -> str:
    plain = _PLAIN_NESTED if nested else _PLAIN
    if plain.fullmatch(text) and text.lower() not in _WORDS and not text.endswith(":"):
        return text
    # In quotes a backslash counts only before a quote, so those before one are doubled, and those at the end.
    escaped = re.sub(r'(\\*)"', lambda found: found.group(1) * 2 + r"\"", text)
    escaped = re.sub(r"(\\+)$", lambda found: found.group(1) * 2, escaped)
    return f'"{escaped}"'


def _writable(key: Any) -> bool:
    if isinstance(key, int) and not isinstance(key, bool):
        return True  # read back as the number it is
    return isinstance(key, str) and bool(_KEY.fullmatch(key)) and key.lower() not in _WORDS
