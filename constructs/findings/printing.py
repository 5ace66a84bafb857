"""The last step of every report: a guard against secrets, then standard output or a file."""

from __future__ import annotations

from pathlib import Path

import click

from findings import UserError
from findings.redaction import printable_report


def print_report(report: str, command: str, output: Path | None = None) -> None:
    """Print a report, or write it to `output`; whatever still looks like a secret is masked, and that is said.

    Raises UserError when the file cannot be written.
    """
    text, masked = printable_report(report)
    if masked:
        click.echo(f"{command}: masked {masked} lines of the report that look secret", err=True)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, "utf-8", newline="\n")
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None
