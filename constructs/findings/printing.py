"""The last step of every report: a guard against secrets, then standard output or a file."""

from __future__ import annotations

from pathlib import Path

import click

from findings import UnavailableError
from findings.redaction import printable_report


def print_report(report: str, command: str, output: Path | None = None) -> None:
    """Print a report, or write it to `output`; whatever still looks like a secret is masked, and that is said.

    Raises UnavailableError when the file cannot be written.
    """
    text, masked = printable_report(report)
    if masked:
        click.echo(f"{command}: masked {masked} lines of the report that look secret", err=True)
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text)


def write_text(file: Path, text: str) -> None:
    """Write a file, wholly or not at all (a pipe or device is written as it is). Raises UnavailableError."""
    partial = file.with_name(f".{file.name}.partial")
    try:
        if file.exists() and not file.is_file():
            file.write_text(text, "utf-8", newline="\n")
            return
        try:
            partial.write_text(text, "utf-8", newline="\n")
            partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise UnavailableError(f"cannot write {file}: {error.strerror}") from None
