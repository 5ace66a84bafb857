"""Which modules load cdktf: the registry holds them all, and nothing else starts Node."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import groundplan
from fast_bindings import registry
from groundplan.emit import modules, write_bootstrap

SOURCES = Path(groundplan.__file__).parent

#: A site's modules, and those of the bootstrap stack besides.
ALL = {name: (*found, *write_bootstrap.MODULES.get(name, ())) for name, found in modules.MODULES.items()}


# The registry and the layers


def imported(path: Path) -> Iterator[str]:
    """Every module that a source file imports, anywhere in it, as a dotted name."""
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            name = statement.module or ""
            if "." in name:
                yield name
            else:  # `from package import submodule`
                yield from (f"{name}.{alias.name}" for alias in statement.names)


def loads_cdktf(path: Path) -> bool:
    return any(name.split(".")[0].startswith(("cdktf", "constructs", "jsii")) for name in imported(path))


def test_registry_is_sorted_and_exists() -> None:
    for provider, names in (*modules.MODULES.items(), *write_bootstrap.MODULES.items()):
        assert list(names) == sorted(set(names))
        assert set(names) <= set(registry.submodules(registry.PYTHON_PREFIX + provider))


def test_registry_holds_every_module_that_is_imported() -> None:
    used = {
        name.removeprefix(registry.PYTHON_PREFIX)
        for path in SOURCES.rglob("*.py")
        for name in imported(path)
        if name.startswith(registry.PYTHON_PREFIX)
    }
    assert used <= {f"{provider}.{name}" for provider, names in ALL.items() for name in names}


def test_only_stacks_constructs_and_emit_load_cdktf() -> None:
    cdktf = ("stack.py", "constructs.py")
    others = [p for p in SOURCES.rglob("*.py") if not p.name.endswith(cdktf) and SOURCES / "emit" not in p.parents]
    assert [str(path.relative_to(SOURCES)) for path in others if loads_cdktf(path)] == []


def test_nothing_else_starts_node() -> None:
    """Importing the command line and all but stacks, constructs and emit leaves cdktf and jsii alone."""
    names = ["fast_bindings"]
    for path in SOURCES.rglob("*.py"):
        parts = path.relative_to(SOURCES.parent).with_suffix("").parts
        if not parts[-1].endswith(("stack", "constructs", "__main__")) and parts[1] != "emit":
            names.append(".".join(parts).removesuffix(".__init__"))
    program = f"import importlib, sys\nfor name in {sorted(names)}: importlib.import_module(name)\n"
    program += "print(sorted({'cdktf', 'jsii', 'constructs'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[]\n", "")
