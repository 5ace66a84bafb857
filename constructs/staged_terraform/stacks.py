"""A synth output as a rehearsal reads it: its stacks in order, and what they will make."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from findings import UserError
from staged_terraform.knowledge import Knowledge
from staged_terraform.schemas import PROVIDERS, TypeKey, wheel
from staged_terraform.terraform import resources, type_keys


@dataclass(frozen=True, slots=True)
class Stack:
    """One Terraform root: `name` is its folder's (``lab-network``), `kind` the last part of it."""

    name: str
    kind: str
    folder: Path
    configuration: dict[str, Any]

    @property
    def unknown_providers(self) -> list[str]:
        """Providers that have no simulation."""
        required = self.configuration.get("terraform", {}).get("required_providers", {})
        used = {str(spec.get("source", name)) for name, spec in required.items() if isinstance(spec, dict)}
        return sorted(used - {f"hashicorp/{name}" for name in PROVIDERS})


def other_versions(stack: Stack, versions: Mapping[str, str]) -> list[str]:
    """Provider versions that the stack pins and that are not simulated: `versions`, else those of the bindings.

    Terraform does not look at versions of providers that it is handed, so a rehearsal must.
    """
    found = []
    for name, spec in stack.configuration.get("terraform", {}).get("required_providers", {}).items():
        pinned = str(spec.get("version", "")) if isinstance(spec, dict) else ""
        ours = versions.get(name) or (wheel(name).provider_version if name in PROVIDERS else "")
        if _EXACT.fullmatch(pinned) and ours and pinned.lstrip("= ") != ours:
            found.append(f"{name} {pinned} is pinned, the rehearsal knows {ours}")
    return found


_EXACT = re.compile(r"=? *\d+\.\d+\.\d+")


class NoStacks(UserError):
    """The folder is no synth output."""


def read_stacks(synth_output: Path, knowledge: Knowledge) -> list[Stack]:
    """The stacks of a synth output in the order they are applied. Raises NoStacks."""
    found = []
    for file in sorted((synth_output / "stacks").glob("*/cdk.tf.json")):
        name = file.parent.name
        kind = knowledge.kind_of(name) or name
        try:
            configuration = json.loads(file.read_text("utf-8"))
        except ValueError as problem:
            raise NoStacks(f"{file}: not JSON: {problem}") from None
        found.append(Stack(name, kind, file.parent, configuration))
    if not found:
        raise NoStacks(f"{synth_output} holds no stacks/*/cdk.tf.json: is it the output folder of cdktf synth?")
    return sorted(found, key=lambda stack: knowledge.rank(stack.name))


def keys_of(stacks: Iterable[Stack]) -> set[TypeKey]:
    """The schemas that the stacks need."""
    found: set[TypeKey] = set()
    for stack in stacks:
        found |= type_keys(stack.configuration)
    return found


def names_made(stacks: Iterable[Stack]) -> set[tuple[str, str]]:
    """(type, literal name) of everything the stacks make."""
    found = set()
    for stack in stacks:
        for kind, _, body in resources(stack.configuration):
            for key in ("name", "instance_id", "account_id", "secret_id"):
                if isinstance(value := body.get(key), str) and "${" not in value:
                    found.add((kind, value))
    return found


#: What a postcondition says of its data source: an attribute that ends in a text, or is a text or a word.
_PROMISE = re.compile(r'\$\{(?:endswith\(self\.(\w+), "([^"]*)"\)|self\.(\w+) == (?:"([^"]*)"|(true|false)))\}')


def promised(stacks: Iterable[Stack]) -> dict[tuple[str, str], dict[str, Any]]:
    """(type, name) of what a data source looks for -> attributes that it must have by the source's postconditions.

    What stands outside the stacks is taken to be as they want it: whether it is, no rehearsal can know.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for stack in stacks:
        for kind, sources in stack.configuration.get("data", {}).items():
            for body in sources.values():
                name = next((body[key] for key in ("instance_id", "name") if isinstance(body.get(key), str)), None)
                for each in (body.get("lifecycle") or {}).get("postcondition", []) if name else []:
                    if match := _PROMISE.fullmatch(str(each.get("condition"))):
                        end, text, attribute, equal, word = match.groups()
                        value: Any = word == "true" if word else text if end else equal
                        found.setdefault((kind, str(name)), {})[end or attribute] = value
    return found


def projects_of(stacks: Iterable[Stack]) -> frozenset[str]:
    """The projects that the stacks' Google providers are for, as far as they are written out."""
    providers = [each for stack in stacks for each in stack.configuration.get("provider", {}).get("google", [])]
    found = (each.get("project") for each in providers if isinstance(each, dict))
    return frozenset(project for project in found if isinstance(project, str) and "${" not in project)


def protected(stack: Stack, state: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Overrides that lift protection from destroy: type -> name -> arguments. Empty when nothing is protected."""
    lifted: dict[str, dict[str, Any]] = {}
    held = {
        (each["type"], each["name"])
        for each in state.get("resources", [])
        for instance in each.get("instances", [])
        if (instance.get("attributes") or {}).get("deletion_protection") is True
    }
    for kind, name, body in resources(stack.configuration):
        override: dict[str, Any] = {}
        if (kind, name) in held:
            override["deletion_protection"] = False
        lifecycle = body.get("lifecycle") or {}
        lifecycle = lifecycle[0] if isinstance(lifecycle, list) else lifecycle
        if lifecycle.get("prevent_destroy"):
            override["lifecycle"] = {"prevent_destroy": False}
        if override:
            lifted.setdefault(kind, {})[name] = override
    return lifted
