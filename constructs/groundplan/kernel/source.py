"""Reading a YAML profile so that every value knows its line and column.

PyYAML composes a node graph with marks; this module turns it into plain values and a map from path to position. It
resolves scalars by YAML 1.2's core schema, so that ``on``, ``no`` and ``12:30`` stay the strings they look like, and
refuses what plain YAML loaders let pass silently: duplicate keys, aliases, merge keys, tags and a second document.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from findings import UNREADABLE, Finding, Location, ProfileError, ProfilePath, Severity, dotted
from findings.redaction import find_secrets, is_secret_path, looks_secret, mask_secrets, names_secret

#: The largest profile read, in bytes. A real one has a few kilobytes; this only stops mistakes and mischief.
MAX_BYTES = 1_000_000

#: The deepest nesting read; the deepest legal profile has about eight levels.
MAX_DEPTH = 40

_SECRET_HINT = "take it out and revoke it (it has been on disk), then give a reference under `secrets:`"

#: Digits of a whole number that are read as one; more are text, and no key takes either.
_LONGEST_INT = 100

_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)

#: libyaml's loader where PyYAML has it: ten times faster than the pure one.
SAFE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Source:
    """A profile's text with the position of everything in it."""

    file: str
    lines: tuple[str, ...]
    data: dict[str, Any]
    keys: dict[ProfilePath, tuple[int, int]] = field(default_factory=dict)
    values: dict[ProfilePath, tuple[int, int]] = field(default_factory=dict)
    hidden: set[int] = field(default_factory=set)
    """Lines that are never shown: those of the section `secrets` and of keys named like a secret."""

    def locate(self, path: ProfilePath, *, key: bool = False) -> Location:
        """Where `path` stands; the nearest enclosing thing that is written down, when it is not."""
        first, second = (self.keys, self.values) if key else (self.values, self.keys)
        while path:
            position = first.get(path) or second.get(path)
            if position:
                return self.at(*position)
            path = path[:-1]
            first, second = self.keys, self.values  # something is missing in here: point at the section's own key
        return self.at(1, 1)

    def at(self, line: int, column: int) -> Location:
        """A location in this file, its line's text masked should a secret stand in it, or left out should one hide."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if line in self.hidden or names_secret(text):
            text = ""
        return Location(self.file, line, column, mask_secrets(text))


def read_source(file: Path) -> Source:
    """Read a profile file, or standard input for ``-``. Raises ProfileError with one finding for what stops it."""
    name = str(file)
    try:
        raw = sys.stdin.buffer.read() if name == "-" else file.read_bytes()
    except FileNotFoundError:
        raise _unreadable(name, "there is no such file", "give the path of a profile, e.g. profiles/nemo-rl-b200.yaml")
    except IsADirectoryError:
        raise _unreadable(name, "this is a folder, not a profile", "give the path of one YAML file")
    except OSError as error:
        raise _unreadable(name, f"cannot be read: {error.strerror}", "check the file's permissions")
    if len(raw) > MAX_BYTES:
        raise _unreadable(name, f"{len(raw)} bytes is over the limit of {MAX_BYTES}", "is this really a profile?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _unreadable(name, f"not UTF-8 text (byte {error.start})", "save the file as UTF-8")
    return parse_source(name, text)


def parse_source(name: str, text: str) -> Source:
    """Parse a profile's text. Raises ProfileError with every secret literal, or with the first syntax error."""
    lines = tuple(text.splitlines())
    secrets = find_secrets(text)
    if secrets:
        bare = Source(name, lines, {})
        raise ProfileError(
            [
                Finding(
                    "secret-literal",
                    Severity.ERROR,
                    f"a literal {what} stands in the profile",
                    _SECRET_HINT,
                    location=bare.at(line, column),
                )
                for line, column, what in secrets
            ]
        )
    try:
        root = yaml.compose(text, Loader=SAFE_LOADER)
    except yaml.YAMLError as error:
        raise ProfileError([_syntax_finding(name, lines, error)])
    except RecursionError:
        raise _unreadable(name, f"nested deeper than {MAX_DEPTH} levels", "flatten the profile")
    reader = _Reader(Source(name, lines, {}))
    if "*" in text:
        reader.refuse_aliases(text)
    data = reader.value(root, ()) if root is not None else None
    if not isinstance(data, dict):
        what = "is empty" if data is None else f"holds a {_kind(data)}, not a mapping of keys"
        reader.complain(
            root, (), "profile-syntax", f"the profile {what}", "start with `project:`, `zone:`, `reservation:`"
        )
        data = {}
    if reader.findings:
        raise ProfileError(_without_lines(reader.findings, reader.source.hidden))
    return replace(reader.source, data=data)


def _without_lines(findings: Iterable[Finding], hidden: set[int]) -> list[Finding]:
    """The findings less the text of hidden lines, which are known only when all is read."""
    return [
        replace(f, location=replace(f.location, text="")) if f.location and f.location.line in hidden else f
        for f in findings
    ]


class _Reader:
    """Walks the node graph once, collecting values, positions and findings."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.findings: list[Finding] = []
        self._seen: set[int] = set()

    def complain(self, node: yaml.Node | None, path: ProfilePath, rule: str, message: str, hint: str) -> None:
        line, column = _position(node) if node is not None else (1, 1)
        location = self.source.at(line, column)
        self.findings.append(Finding(rule, Severity.ERROR, message, hint, path, location=location))

    def refuse_aliases(self, text: str) -> None:
        """One finding for all aliases, at the first: the node graph no longer knows where they were."""
        events = (event for event in yaml.parse(text, Loader=SAFE_LOADER) if isinstance(event, yaml.AliasEvent))
        places = [
            (event.start_mark.line, event.start_mark.column, event.anchor) for event in events if event.start_mark
        ]
        places = [place for place in places if "<<" not in self.source.lines[place[0]]]
        if not places:
            return
        line, column, name = places[0]
        more = len(places) - 1
        counted = f", nor are {more} more" if more else ""
        self.findings.append(
            Finding(
                "profile-syntax",
                Severity.ERROR,
                f"the alias *{mask_secrets(name or '')} is not read{counted}",
                "write the value out",
                location=self.source.at(line + 1, column + 1),
            )
        )

    def refuse_secret(self, node: yaml.Node) -> None:
        """A secret that is folded or escaped, so that the scan of the text did not see it.

        Masking would not find it in the line either, so the line is not shown.
        """
        line, column = _position(node)
        self.source.hidden.update(_lines(node))
        location = Location(self.source.file, line, column)
        message = "a literal secret stands in the profile"
        self.findings.append(Finding("secret-literal", Severity.ERROR, message, _SECRET_HINT, location=location))

    def value(self, node: yaml.Node, path: ProfilePath) -> Any:
        self.source.values[path] = _position(node)
        if len(path) > MAX_DEPTH:
            self.complain(node, path, "profile-syntax", f"nested deeper than {MAX_DEPTH} levels", "flatten the profile")
            return None
        if id(node) in self._seen:  # an alias is the same node object met again; refuse_aliases has said so
            return None
        self._seen.add(id(node))
        if node.tag.startswith("!") or node.tag.startswith("tag:yaml.org,2002:python"):
            message = f"the tag {mask_secrets(node.tag)} is not understood"
            self.complain(node, path, "profile-syntax", message, "write the plain value")
            return None
        if isinstance(node, yaml.ScalarNode):
            if looks_secret(str(node.value), dotted(path)):
                self.refuse_secret(node)
                return None
            return _scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
        return self._mapping(node, path)

    def _mapping(self, node: yaml.Node, path: ProfilePath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.complain(key_node, path, "profile-syntax", "a key must be a word", "quote it if it is one")
                continue
            key = str(key_node.value)
            if looks_secret(key):
                self.refuse_secret(key_node)
                continue
            here = (*path, key)
            if is_secret_path(here):
                self.source.hidden.update(_lines(key_node), _lines(value_node))
            if key == "<<":
                self.complain(key_node, here, "profile-syntax", "merge keys (<<) are not read", "write the keys out")
                continue
            if key in result:
                first = self.source.keys[here][0]
                message = f"the key {mask_secrets(key)} stands twice in one mapping, first on line {first}"
                self.complain(key_node, here, "duplicate-key", message, "keep one of the two")
                continue
            self.source.keys[here] = _position(key_node)
            result[key] = self.value(value_node, here)
        return result


def _scalar(node: yaml.ScalarNode) -> Any:
    """The value of a scalar by YAML 1.2's core schema: quoted and block scalars are always strings."""
    text = str(node.value)
    if node.style in ("'", '"', "|", ">"):
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        return int(text) if len(text) <= _LONGEST_INT else text
    if _FLOAT.match(text):
        return float(text)
    return text


def _lines(node: yaml.Node) -> range:
    """The lines that a node stands on; a block ends at the start of the line below it."""
    end = node.end_mark
    return range(node.start_mark.line + 1, end.line + (2 if end.column else 1))


def _position(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _kind(value: Any) -> str:
    return {list: "list", str: "text", bool: "yes/no value"}.get(type(value), "number")


def _syntax_finding(name: str, lines: tuple[str, ...], error: yaml.YAMLError) -> Finding:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    line = min(line, max(len(lines), 1))
    hint = "check the indentation and the colons near this line"
    if isinstance(error, yaml.reader.ReaderError):  # it knows a position in the text alone
        number, line, column = _unprintable(lines)
        problem, hint = f"the character {number} is not allowed", "remove it; the file may be damaged, or not be text"
    elif lines and _indented_by_tab(lines[line - 1]):
        hint = "indent with spaces, not tabs"
    location = Source(name, lines, {}).at(line, column)
    if _in_secrets(lines, line):
        location = replace(location, text="")
    return Finding(
        "profile-syntax", Severity.ERROR, f"not valid YAML: {mask_secrets(problem)}", hint, location=location
    )


#: What YAML takes as text: all else is refused by its reader.
_UNPRINTABLE = re.compile("[^\\x09\\x0a\\x0d\\x20-\\x7e\\x85\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def _unprintable(lines: tuple[str, ...]) -> tuple[str, int, int]:
    """The first character that YAML does not take: its number, line and column."""
    for line, text in enumerate(lines, 1):
        match = _UNPRINTABLE.search(text)
        if match:
            return f"U+{ord(match[0]):04X}", line, match.start() + 1
    return "U+0000", 1, 1


def _indented_by_tab(line: str) -> bool:
    return "\t" in line[: len(line) - len(line.lstrip(" \t"))]


def _in_secrets(lines: tuple[str, ...], line: int) -> bool:
    """Whether a line of a text that is no YAML belongs to the section `secrets`."""
    start = next((text for text in reversed(lines[:line]) if text[:1] not in ("", " ", "\t", "#", "-")), "")
    return start.lstrip("'\"").startswith("secrets")


def _unreadable(name: str, message: str, hint: str) -> ProfileError:
    return ProfileError([Finding(UNREADABLE, Severity.ERROR, message, hint, location=Location(name, 1, 1))])
