"""``groundplan catalog``: the public facts that groundplan goes by."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import click

from groundplan.catalog import SECTIONS, Catalog, Provenance, load_catalog


@click.command()
@click.argument("section", required=False, type=click.Choice(list(SECTIONS)))
@click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How."
)
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Lay a catalog file of your own over the shipped ones, as `catalog:` in a profile does.",
)
def catalog(section: str | None, format_: str, files: tuple[Path, ...]) -> None:
    """Print the catalog: machine types, Lustre tiers, GKE floors, releases and recipes, with source and date.

    \b
    groundplan catalog machines
    groundplan catalog --file my-machines.yaml machines
    """
    facts = load_catalog(files)
    sections = [section] if section else list(SECTIONS)
    if format_ == "json":
        click.echo(json.dumps({name: _json_section(facts, name) for name in sections}, indent=2, default=str))
        return
    for name in sections:
        _print_section(facts, name)


def _origin(facts: Catalog, section: str, name: Any) -> Provenance:
    return facts.provenance.get((section, str(name)), Provenance("", ""))


def _plain(entry: Any) -> Any:
    """An entry as plain data, without what repeats its name, says nothing, or is said beside it."""
    if isinstance(entry, str):
        return entry
    fields = (
        dataclasses.asdict(entry) if dataclasses.is_dataclass(entry) and not isinstance(entry, type) else dict(entry)
    )
    hidden = ("name", "source", "date")
    fields = {key: _plain(value) if isinstance(value, dict) else value for key, value in fields.items()}
    return {key: value for key, value in fields.items() if key not in hidden and value not in (None, (), [], {}, "")}


def _json_section(facts: Catalog, section: str) -> dict[str, Any]:
    found = {}
    for name, entry in facts.entries(section).items():
        origin = _origin(facts, section, name)
        found[str(name)] = {"entry": _plain(entry), "source": origin.source, "date": origin.date}
    return found


def _print_section(facts: Catalog, section: str) -> None:
    """Entries grouped by where they come from, each with its fields on a line."""
    entries = facts.entries(section)
    if not entries:
        return
    click.echo(click.style(section, bold=True))
    width = max(len(str(name)) for name in entries)
    origin = None
    for name, entry in entries.items():
        if (here := _origin(facts, section, name)) != origin:
            origin = here
            click.echo(
                click.style(f"  # {origin.source or 'no source given'}, {origin.date or 'no date given'}", dim=True)
            )
        click.echo(f"  {name!s:{width}}  {_line(_plain(entry))}".rstrip())
    click.echo()


def _line(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(
            f"{key}: {_line(inner)}" if not isinstance(inner, dict) else f"{key}: {{{_line(inner)}}}"
            for key, inner in value.items()
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_line(item) for item in value) + "]"
    return str(value)
