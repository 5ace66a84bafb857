"""The package's public surface: every name is there, and groundplan uses nothing else of it."""

from __future__ import annotations

import ast
from pathlib import Path

import staged_terraform

GROUNDPLAN = Path(staged_terraform.__file__).parents[1] / "groundplan"


def test_every_public_name_is_there_and_typed() -> None:
    source = ast.parse(Path(staged_terraform.__file__).read_text("utf-8"))
    typed = {
        alias.name: (node.module or "").rpartition(".")[2]
        for block in source.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == staged_terraform._HOMES
    assert sorted(staged_terraform.__all__) == sorted(typed)
    for name in staged_terraform.__all__:
        assert getattr(staged_terraform, name) is not None


def test_groundplan_uses_only_the_public_surface() -> None:
    inner = {
        f"{path.relative_to(GROUNDPLAN)}: {node.module}"
        for path in GROUNDPLAN.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("staged_terraform.")
    }
    assert inner == set()
