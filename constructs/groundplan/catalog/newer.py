"""The seam for arguments that are newer than the bindings: checked at synthesis against catalog facts.

The bindings describe google 6.50; the output pins a later release. What that release has beyond them is catalog data
(``provider_changes.yaml``: path, type, since), and :func:`set_newer` emits such an argument only where path and type
are found there. A typing mistake fails at synthesis, as a wrong argument of a generated class does.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, Protocol

from groundplan.catalog import shipped

_FLAGS = ("required", "optional", "computed", "sensitive", "write_only")
_REFERENCE = re.compile(r"\$\{|TfToken\[")


class Overridable(Protocol):
    """A cdktf stack or resource, as far as it is used here."""

    def add_override(self, path: str, value: Any) -> None: ...


class Resource(Overridable, Protocol):
    """A cdktf resource, as far as it is used here."""

    @property
    def terraform_resource_type(self) -> str: ...

    @property
    def cdktf_stack(self) -> Overridable: ...


def pinned_versions() -> Mapping[str, str]:
    """Provider -> the release that the output pins and the tests run: the one place that says so."""
    versions: Mapping[str, str] = shipped("provider_changes")["versions"]
    return versions


def set_newer(resource: Resource, path: str, value: Any) -> None:
    """Set an argument that the bindings do not have; numbers in `path` are positions in a list of blocks.

    The stack then requires the provider's release that has it, in somebody's own program too: the bindings would pin
    theirs, which refuses the argument.

    Raises ValueError when the pinned provider has no such argument beyond the bindings, or takes another type.
    """
    changes: Mapping[str, str] = shipped("provider_changes")["resources"].get(resource.terraform_resource_type, {})
    plain = re.sub(r"\.\d+(?=\.|$)", "", path)
    problem = _problem(changes, plain, value)
    if problem:
        raise ValueError(f"{resource.terraform_resource_type}: {problem}")
    resource.add_override(path, value)
    require_pinned(resource)


def require_pinned(resource: Resource) -> None:
    """The stack requires the provider's release that groundplan knows, in somebody's own program too."""
    provider = resource.terraform_resource_type.partition("_")[0]
    version = f"terraform.required_providers.{provider}.version"
    resource.cdktf_stack.add_override(version, pinned_versions()[provider])


def _problem(changes: Mapping[str, str], path: str, value: Any) -> str:
    """What is wrong with `value` at `path`; empty when nothing is."""
    line = changes.get(path)
    if line is None or line == "gone":
        near = difflib.get_close_matches(path, changes, n=1)
        known = f"google {pinned_versions()['google']} has no argument `{path}` beyond the bindings"
        return known + (f"; did you mean `{near[0]}`?" if near else " (catalog/provider_changes.yaml lists them)")
    if line.startswith("block "):
        return _block_problem(changes, path, line, value)
    words = line.split(" ")
    flags = [word for word in words if word in _FLAGS]
    if "required" not in flags and "optional" not in flags:
        return f"`{path}` is computed by the provider and cannot be set"
    kind = " ".join(words[len(flags) :])
    return "" if _fits(kind, value) else f"`{path}` is {value!r} and must be {kind}"


def _block_problem(changes: Mapping[str, str], path: str, line: str, value: Any) -> str:
    blocks = value if isinstance(value, list) else [value]
    least, _, most = line.rpartition(" ")[2].partition("-")
    if not all(isinstance(each, dict) for each in blocks):
        return f"`{path}` is a block: give a mapping, or a list of mappings"
    if len(blocks) < int(least) or (most and len(blocks) > int(most)):
        return f"`{path}` is given {len(blocks)} times, and stands {least} to {most or 'any number of'} times"
    needed = [
        each.rpartition(".")[2]
        for each, text in changes.items()
        if each.rpartition(".")[0] == path and text.startswith("required")
    ]
    for each in blocks:
        for name in needed:
            if name not in each:
                return f"`{path}` needs `{name}`"
        for name, inner in each.items():
            if problem := _problem(changes, f"{path}.{name}", inner):
                return problem
    return ""


def _fits(kind: str, value: Any) -> bool:
    if isinstance(value, str) and _REFERENCE.search(value):
        return True
    if match := re.fullmatch(r"(list|set)\((.*)\)", kind):
        return isinstance(value, list) and all(_fits(match[2], each) for each in value)
    if match := re.fullmatch(r"map\((.*)\)", kind):
        return isinstance(value, dict) and all(_fits(match[1], each) for each in value.values())
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, {"string": str, "bool": bool}.get(kind, object))
