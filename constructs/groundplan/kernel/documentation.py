"""The docstrings below the fields of a profile's sections, as their descriptions.

pydantic can read them itself (``use_attribute_docstrings``), but does so whenever the classes are made, which costs
every `check` 30 ms; only the JSON Schema and the reference need them.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from groundplan.kernel.fields import Section


@functools.cache
def document_sections() -> None:
    """Give every field of every section its docstring as description, and rebuild the sections with them."""
    sections = list(_sections(Section))  # in order of definition: what a section holds stands before it
    for section in sections:
        for base in reversed(section.__mro__):
            texts = _docstrings(base.__module__).get(base.__name__, {}) if issubclass(base, Section) else {}
            for name, text in texts.items():
                section.model_fields[name].description = text
    for section in sections:
        section.model_rebuild(force=True)


def _sections(base: type[Section]) -> Iterator[type[Section]]:
    for section in base.__subclasses__():
        yield section
        yield from _sections(section)


@functools.cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """Class -> field -> the string that stands below the field."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return {}
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    return {node.name: _of_fields(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _of_fields(node: ast.ClassDef) -> dict[str, str]:
    found = {}
    for field, below in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
            and isinstance(below.value.value, str)
        ):
            found[field.target.id] = " ".join(below.value.value.split())
    return found
