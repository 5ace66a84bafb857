"""The floors of the house (docs/architecture.md): nothing imports upward, and what is not groundplan none of it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sites import ROOT

SOURCES = ROOT / "constructs"
#: Packages beside groundplan. They could be published on their own; all may speak through `findings`.
OUTSIDE = ("findings", "fast_bindings", "plan_review", "staged_terraform", "tfc_run_task")
PARTS = ("network", "storage", "cluster", "gpu", "platform", "workload")

#: Bottom to top. A module may import what stands on its own floor or below.
FLOORS = (
    "kernel",
    "catalog",
    "spec",  # of each part
    "values",  # of each part: what its section comes to, and everything else that needs no Site
    "constructs",  # of each part
    "site",
    "rules",  # of each part and of the whole site; *stack.py of each part
    "check",  # the one place that collects the rules
    "emit",  # and on_plans
    "commands",
)
#: Module -> its floor, where the folder does not tell.
PLACED = {
    "groundplan": "kernel",  # the version
    "groundplan.__main__": "commands",
    "groundplan.cli": "commands",
    "groundplan.site.check": "check",
    "groundplan.network.site_ranges": "rules",  # of all parts together
    "groundplan.site.fleet": "rules",
}

#: Modules that import something of ours inside a function -> why it cannot stand at the top.
INSIDE_FUNCTIONS = {
    "groundplan.commands.": "a command's --help, and its other ways, do not wait for what one way needs",
    "groundplan.__main__": "the program is loaded when its handlers of signals stand",
    "groundplan.cli": "the findings' colours are for those who have findings",
    "groundplan.emit.write_bootstrap": "cdktf, as for groundplan.emit.app",
    "groundplan.emit.app": "cdktf takes a second to load, and only who synthesizes needs it",
    "groundplan.emit.revisions": "a diff of two folders needs neither profiles nor cdktf",
    "groundplan.on_plans.ignores": "the rules of plans take a tenth of a second, and only an unknown slug needs them",
}

#: Modules that import others of ours by name -> why.
BY_NAME = {
    "groundplan.cli": "a command is imported when it is called, so that `check` does not wait for what `synth` needs",
    "groundplan.site.check": "the one place that collects the rules of profiles",
    "staged_terraform": "grpcio and msgpack are optional, and who only expands a fact needs neither",
    "groundplan.on_plans.assess": "the one place that collects the rules of plans",
}


@cache
def modules() -> dict[str, Path]:
    found = {}
    for package in ("groundplan", *OUTSIDE):
        for path in sorted((SOURCES / package).rglob("*.py")):
            name = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text("utf-8"))


def is_ours(name: str) -> bool:
    return name.split(".")[0] in ("groundplan", *OUTSIDE)


def imports_in(nodes: ast.AST) -> Iterator[str]:
    """Modules of ours that are imported anywhere below a node; TYPE_CHECKING is no excuse."""
    for node in ast.walk(nodes):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and is_ours(node.module or ""):
            assert node.level == 0 and node.module
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules() else node.module for name in names)


def in_functions(module: str) -> set[str]:
    """What a module imports inside its functions."""
    functions = (n for n in ast.walk(tree(module)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return {name for function in functions for name in imports_in(function)}


def floor(module: str) -> int:
    return FLOORS.index(floor_name(module))


def floor_name(module: str) -> str:
    if module in PLACED:
        return PLACED[module]
    _, folder, *rest = module.split(".")
    if folder in PARTS:
        name = rest[-1] if rest else "spec"
        if name.endswith(("stack", "rules")):
            return "rules"
        return "constructs" if name.endswith("constructs") else "spec" if name == "spec" else "values"
    if folder == "site":
        return "rules" if rest[:1] == ["rules"] else "site"
    return {"nemo_rl": "values", "on_plans": "emit"}.get(folder, folder)


def upward(module: str) -> set[str]:
    """What a module of groundplan imports from a floor above its own."""
    inner = {name for name in imports_in(tree(module)) if name.startswith("groundplan")}
    return {name for name in inner if floor(name) > floor(module)}


@pytest.mark.parametrize("module", sorted(name for name in modules() if name.startswith("groundplan")))
def test_nothing_imports_upward(module: str) -> None:
    assert upward(module) == set()


@pytest.mark.parametrize("package", OUTSIDE)
def test_what_is_not_groundplan_imports_none_of_it(package: str) -> None:
    found = {
        (module, name)
        for module in modules()
        if module.split(".")[0] == package
        for name in imports_in(tree(module))
        if name.split(".")[0] not in (package, "findings")
    }
    assert found == set()


def test_imports_inside_functions_have_a_reason() -> None:
    found = {module for module in modules() if in_functions(module)}
    without = {module for module in found if not any(module.startswith(named) for named in INSIDE_FUNCTIONS)}
    assert without == set()
    unused = {named for named in INSIDE_FUNCTIONS if not any(module.startswith(named) for module in found)}
    assert unused == set(), "the list has no entry that nothing needs"


def by_name(module: str) -> bool:
    """Whether a module imports something of ours by name: what is named is no other's package, written out."""
    for node in ast.walk(tree(module)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        argument = node.args[0]
        other = isinstance(argument, ast.Constant) and not is_ours(str(argument.value))
        if called == "import_module" and not other:
            return True
    return False


def test_only_the_collectors_and_the_commands_import_by_name() -> None:
    # fast_bindings imports the generated packages of others, whatever they are called.
    assert {module for module in modules() if not module.startswith("fast_bindings") and by_name(module)} == set(
        BY_NAME
    )


def test_no_module_imports_itself_in_a_circle() -> None:
    edges = {module: sorted({n for n in imports_in(tree(module)) if n != module}) for module in modules()}
    done: set[str] = set()

    def walk(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if module in done:
            return
        for name in edges.get(module, ()):
            if not module.startswith(f"{name}."):  # a package's own front
                walk(name, (*path, module))
        done.add(module)

    sys.setrecursionlimit(10_000)
    for module in edges:
        walk(module, ())


def test_nemo_rl_knows_nothing_of_kubernetes() -> None:
    """The judge of a configuration stands on catalog and kernel alone."""
    allowed = ("groundplan.nemo_rl", "groundplan.catalog", "groundplan.kernel", "findings")
    found = {
        (module, name)
        for module in modules()
        if module.startswith("groundplan.nemo_rl")
        for name in imports_in(tree(module))
        if not name.startswith(allowed)
    }
    assert found == set()


@pytest.mark.parametrize("module", ["groundplan.network.spec", "groundplan.gpu.constructs"])
def test_the_contract_notices(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A spec or a construct that reads the Site is caught, wherever the import hides."""
    hidden = ast.parse("def read():\n    if TYPE_CHECKING:\n        from groundplan.site.resolve import Site\n")
    monkeypatch.setattr(sys.modules[__name__], "tree", lambda _: hidden)
    assert upward(module) == {"groundplan.site.resolve"}
