"""Two synth outputs as plans: what applying the new one over the old one would do, stack by stack."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from plan_review.configurations import KnownTypes, compare, identifying
from plan_review.model import Action, Change, Plan
from plan_review.reading import UnusableInput, versioned_charts

_FILE = "cdk.tf.json"

#: A text that Terraform reads from a file beside the configuration.
_FILE_READ = re.compile(r'\$\{file\("\$\{path\.module\}/([^"$%\\]+)"\)\}')

#: Folders beside it whose files belong to it.
_BESIDE = ("chart", "manifests")


def compare_folders(
    old: Path,
    new: Path,
    names: tuple[str, str] = ("", ""),
    *,
    known: KnownTypes = identifying,
    order: Callable[[str], Any] = str,
) -> list[Plan]:
    """Compare two synth outputs. Raises UnusableInput.

    `names` stand in the report for the two folders; `known` are the facts of the providers; `order` sorts stacks.
    """
    before, after = _stacks(old), _stacks(new)
    shown = names[1] or str(new)
    plans = []
    for stack in sorted({*before, *after}, key=order):
        plans.append(_compare(stack, before.get(stack), after.get(stack), shown, known))
    return plans


def _stacks(folder: Path) -> dict[str, Path]:
    """Stack name -> its folder."""
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise UnusableInput(f"{folder} {what}; give the output folders of two `groundplan synth`")
    found = {file.parent.name: file.parent for file in sorted((folder / "stacks").glob(f"*/{_FILE}"))}
    if not found and (folder / _FILE).is_file():
        found = {folder.resolve().name: folder}
    if not found:
        raise UnusableInput(f"{folder} holds no stacks/*/{_FILE}: is it the output folder of `groundplan synth`?")
    return found


def _compare(stack: str, old: Path | None, new: Path | None, shown: str, known: KnownTypes) -> Plan:
    before, after = _read(old), _read(new)
    changes = compare(stack, _section(before), _section(after), known)
    if new is None:
        changes = [_removed(each) for each in changes]
    here = new or old
    data = b"".join(_files(here).values()) if here else b""
    required = after.get("terraform", before.get("terraform", {}))
    providers = required.get("required_providers", {}) if isinstance(required, dict) else {}
    return Plan(
        stack=stack,
        changes=tuple(changes),
        file=f"{shown}/stacks/{stack}/{_FILE}",
        digest=hashlib.sha256(data).hexdigest(),
        providers=tuple(
            sorted(
                (str(each.get("source", name)), str(each.get("version", "")))
                for name, each in providers.items()
                if isinstance(each, dict)
            )
        )
        if isinstance(providers, dict)
        else (),
        charts=versioned_charts(changes),
        identical=_same_bytes(old, new),
        configuration=True,
    )


def _removed(change: Change) -> Change:
    """No output has the stack any more: nobody destroys what it made."""
    return replace(change, action=Action.FORGET, reason="stack_removed")


def _read(folder: Path | None) -> dict[str, Any]:
    if folder is None:
        return {}
    file = folder / _FILE
    try:
        document = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UnusableInput(f"{file}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UnusableInput(f"{file} is not JSON; synthesize it again") from None
    if not isinstance(document, dict) or not isinstance(document.get("resource", {}), dict):
        raise UnusableInput(f"{file} is no configuration of a stack")
    return {**document, "resource": _inlined(document.get("resource", {}), folder)}


def _inlined(value: Any, folder: Path) -> Any:
    """`value` with the text of each file that Terraform reads in its place, Terraform's markers in it escaped."""
    if isinstance(value, dict):
        return {key: _inlined(each, folder) for key, each in value.items()}
    if isinstance(value, list):
        return [_inlined(each, folder) for each in value]
    read = _FILE_READ.fullmatch(value) if isinstance(value, str) else None
    if not read:
        return value
    file = (folder / read[1]).resolve()
    if not file.is_relative_to(folder.resolve()):
        return value  # never out of the stack's folder, whoever wrote it
    try:
        return file.read_text("utf-8").replace("${", "$${").replace("%{", "%%{")
    except OSError as error:
        raise UnusableInput(f"{folder / read[1]}: {error.strerror}; {_FILE} reads it") from None
    except UnicodeDecodeError:
        raise UnusableInput(f"{folder / read[1]} is not UTF-8; {_FILE} reads it") from None


def _section(document: dict[str, Any]) -> dict[str, Any]:
    section: dict[str, Any] = document.get("resource", {})
    return section


def _same_bytes(old: Path | None, new: Path | None) -> bool:
    """Whether everything that was generated for the stack is the same; what Terraform keeps there does not count."""
    if old is None or new is None:
        return False
    return _files(old) == _files(new)


def _files(folder: Path) -> dict[str, bytes]:
    beside = sorted(path for name in _BESIDE for path in (folder / name).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in (folder / _FILE, *beside)}
