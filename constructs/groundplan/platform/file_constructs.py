"""The files that a release needs beside its stack's cdk.tf.json: its values, and the pass-through chart.

They are written when the construct is made, into the output folder of the app that it stands in: a program of
somebody's own needs no further step. Paths in Terraform begin with ``${path.module}``, so the stack's folder may stand
anywhere, in Terraform Cloud too.
"""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from cdktf import App, TerraformStack
from constructs import Construct

from groundplan.kernel import stack_files

#: Folder of the pass-through chart, for Terraform.
CHART = f"${{path.module}}/{stack_files.CHART}"

_FILES = ("Chart.yaml", "templates/manifests.yaml")

#: A reference of cdktf, which is resolved in cdk.tf.json alone.
_TOKEN = re.compile(r"TfToken\[|\$\{TFTOKEN|Token\[TOKEN\.")


def stack_folder(scope: Construct) -> Path:
    """Where the app of `scope` writes its stack."""
    return Path(App.of(scope).outdir) / "stacks" / TerraformStack.of(scope).node.id


def write_chart(folder: Path) -> None:
    """Put the pass-through chart into a stack's folder."""
    chart = resources.files(__package__).joinpath("chart")
    for name in _FILES:
        _write(folder / stack_files.CHART / name, chart.joinpath(name).read_text("utf-8"))


def write_values(folder: Path, name: str, text: str) -> str:
    """Put the values of the release `name` into a stack's folder; the Terraform expression that reads them.

    A file, not a text in cdk.tf.json: there it would be one line, in which no reviewer sees what changes.

    Raises ValueError when the text holds a reference that only Terraform can resolve: ``file`` would not.
    """
    if _TOKEN.search(text):
        raise ValueError(
            f"{name}: a value is a reference that only Terraform resolves, and its values are a file that Terraform"
            " takes as it is; write what is known at synthesis, or use `set` of the cdktf resource (`.release`)"
        )
    file = f"{stack_files.MANIFESTS}/{name}.yaml"
    _write(folder / file, text)
    return f'${{file("${{path.module}}/{file}")}}'


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="\n")
