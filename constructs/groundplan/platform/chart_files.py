"""The files of the pass-through chart."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

_FILES = ("Chart.yaml", "templates/manifests.yaml")


def chart_files() -> dict[str, str]:
    """Path within the chart's folder -> text."""
    folder = resources.files(__package__).joinpath("chart")
    return {name: folder.joinpath(name).read_text("utf-8") for name in _FILES}


def write_chart(folder: Path) -> None:
    """Write the chart to `folder`, which is ``OUT/stacks/STACK/chart`` for a synthesized stack."""
    for name, text in chart_files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
