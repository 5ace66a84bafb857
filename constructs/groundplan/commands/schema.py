"""``groundplan schema``: the profile's JSON Schema, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from findings.printing import write_text
from groundplan.commands.reference import reference_text
from groundplan.commands.schema_facts import add_facts
from groundplan.kernel.documentation import document_sections
from groundplan.site.profile import Profile


def profile_schema() -> dict[str, Any]:
    """The JSON Schema of a profile, as yaml-language-server and other editors read it."""
    document_sections()
    schema = Profile.model_json_schema(mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "groundplan profile"
    # A reservation may be written as its name alone.
    reservation = schema["$defs"]["Reservation"]
    name = {"type": "string", "pattern": reservation["properties"]["name"]["pattern"], "description": "Its name."}
    schema["$defs"]["Reservation"] = {"anyOf": [name, reservation]}
    # And Lustre as its mode alone.
    lustre = schema["$defs"]["Lustre"]
    mode = {"enum": lustre["properties"]["mode"]["enum"], "description": "Its mode."}
    schema["$defs"]["Lustre"] = {"anyOf": [mode, lustre]}
    add_facts(schema)
    return schema


def schema_text() -> str:
    """The schema as a file holds it."""
    return json.dumps(profile_schema(), indent=2, sort_keys=True, default=str) + "\n"


@click.command()
@click.option(
    "-o", "--output", "--out", "output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file."
)
@click.option("--markdown", is_flag=True, help="The profile reference for people instead (docs/profile.md).")
def schema(output: Path | None, markdown: bool) -> None:
    """Print the JSON Schema of profiles.

    Editors use it through the first line of a profile:

    \b
    # yaml-language-server: $schema=profile.schema.json
    """
    text = reference_text() if markdown else schema_text()
    if output is None:
        click.echo(text, nl=False)
    else:
        write_text(output, text)
