"""Reading a YAML profile so that every value knows its line and column.

PyYAML composes a node graph with marks; this module turns it into plain values and a map from path to position. It
resolves scalars by YAML 1.2's core schema, so that ``on``, ``no`` and ``12:30`` stay the strings they look like, and
refuses what plain YAML loaders let pass silently: duplicate keys, aliases, merge keys, tags and a second document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from groundplan.findings import Finding, Location, ProfileError, ProfilePath, Severity
from groundplan.secrets import find_secrets, looks_secret, mask_secrets

#: The largest profile read, in bytes. A real one has a few kilobytes; this only stops mistakes and mischief.
MAX_BYTES = 1_000_000

#: The deepest nesting read; the deepest legal profile has about eight levels.
MAX_DEPTH = 40

_SECRET_HINT = "take it out and revoke it (it has been on disk), then give a reference under `secrets:`"

_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Source:
    """A profile's text with the position of everything in it."""

    file: str
    lines: tuple[str, ...]
    data: dict[str, Any]
    keys: dict[ProfilePath, tuple[int, int]] = field(default_factory=dict)
    values: dict[ProfilePath, tuple[int, int]] = field(default_factory=dict)

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
        """A location in this file, its line's text masked should a secret stand in it."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return Location(self.file, line, column, mask_secrets(text))


def read_source(file: Path) -> Source:
    """Read a profile file. Raises ProfileError with one finding for what stops the reading."""
    name = str(file)
    try:
        raw = file.read_bytes()
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
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ProfileError([_syntax_finding(name, lines, error)])
    except RecursionError:
        raise _unreadable(name, f"nested deeper than {MAX_DEPTH} levels", "flatten the profile")
    reader = _Reader(Source(name, lines, {}))
    data = reader.value(root, ()) if root is not None else None
    if not isinstance(data, dict):
        what = "is empty" if data is None else f"holds a {_kind(data)}, not a mapping of keys"
        reader.complain(
            root, (), "profile-syntax", f"the profile {what}", "start with `project:`, `zone:`, `reservation:`"
        )
        data = {}
    if reader.findings:
        raise ProfileError(reader.findings)
    return Source(name, lines, data, reader.source.keys, reader.source.values)


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

    def value(self, node: yaml.Node, path: ProfilePath) -> Any:
        self.source.values[path] = _position(node)
        if len(path) > MAX_DEPTH:
            self.complain(node, path, "profile-syntax", f"nested deeper than {MAX_DEPTH} levels", "flatten the profile")
            return None
        if id(node) in self._seen:  # an alias is the same node object met again
            self.complain(node, path, "profile-syntax", "aliases (*name) are not read", "write the value out")
            return None
        self._seen.add(id(node))
        if node.tag.startswith("!") or node.tag.startswith("tag:yaml.org,2002:python"):
            self.complain(
                node, path, "profile-syntax", f"the tag {node.tag} is not understood", "write the plain value"
            )
            return None
        if isinstance(node, yaml.ScalarNode):
            if looks_secret(str(node.value)):  # folded or escaped, so that the scan of the text did not see it
                # Masking would not find it in the line either, so the line is not shown.
                line, column = _position(node)
                location = Location(self.source.file, line, column)
                message, hint = "a literal secret stands in the profile", _SECRET_HINT
                self.findings.append(Finding("secret-literal", Severity.ERROR, message, hint, location=location))
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
            here = (*path, key)
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
        return int(text) if len(text) < 20 else text
    if _FLOAT.match(text):
        return float(text)
    return text


def _position(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1


def _kind(value: Any) -> str:
    return {list: "list", str: "text", bool: "yes/no value"}.get(type(value), "number")


def _syntax_finding(name: str, lines: tuple[str, ...], error: yaml.YAMLError) -> Finding:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    location = Source(name, lines, {}).at(min(line, max(len(lines), 1)), column)
    hint = "indent with spaces, not tabs" if "tab" in problem else "check the indentation and the colons near this line"
    return Finding(
        "profile-syntax", Severity.ERROR, f"not valid YAML: {mask_secrets(problem)}", hint, location=location
    )


def _unreadable(name: str, message: str, hint: str) -> ProfileError:
    return ProfileError([Finding("profile-unreadable", Severity.ERROR, message, hint, location=Location(name, 1, 1))])
