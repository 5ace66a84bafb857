"""Reading plan JSON: Terraform's, OpenTofu's and Terraform Cloud's; and saying what a file is when it is none.

Each way in which an input is unusable becomes one line that names the file, what is wrong, and the mend.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any

from findings import UserError
from plan_review import sensitivity, values, whole_plan
from plan_review.approval import content_digest
from plan_review.differences import UNKNOWN
from plan_review.drift import changed_outside, without_indices, written_expressions
from plan_review.model import Action, Change, Plan

_MAKE = "make one with `terraform show -json PLANFILE > plan.json`"

_TOO_DEEP = "is nested too deeply to be a plan"

#: Bytes of a plan beyond which what is unzipped is no plan.
_LARGEST = 512 * 2**20

#: Major versions of the plan format that are read.
_FORMATS = ("0", "1")


class UnusableInput(UserError):
    """A file that is no plan; the message is one line. Exit code 2."""


def read_plan(file: Path, data: bytes | None = None, stack: str = "", *, with_state: bool = False) -> Plan:
    """Read one plan. `data` replaces the file's content (standard input). Raises UnusableInput.

    `with_state`: also what stands and is not in the plan's changes, as unchanged: a refresh-only plan has no changes.
    """
    if data is None:
        try:
            data = file.read_bytes()
        except IsADirectoryError:
            raise UnusableInput(
                f"{file} is a folder; give the plans' JSON files, or two folders to `groundplan diff`"
            ) from None
        except OSError as error:
            raise UnusableInput(f"{file}: {error.strerror}") from None
    document = _parse(file, _unzipped(file, data))
    _recognise(file, document)
    try:
        digest = hashlib.sha256(data).hexdigest()
        return plan_of(document, stack or stack_name(file), str(file), digest, with_state=with_state)
    except RecursionError:
        raise UnusableInput(f"{file} {_TOO_DEEP}") from None


def stack_name(file: Path) -> str:
    """The stack a plan file is of: the file's own name, or its folder's when the file is just called plan.json."""
    name = file.name
    for ending in (".json", ".simulated", ".plan", ".tfplan"):
        name = name.removesuffix(ending)
    if name in ("plan", "tfplan", "show", "output", "-", "") and file.resolve().parent.name:
        return file.resolve().parent.name if name != "-" else "plan"
    return name


def _unzipped(file: Path, data: bytes) -> bytes:
    """The content of a gzipped file; others as they are."""
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        inflated = zlib.decompressobj(wbits=31).decompress(data, _LARGEST)
    except zlib.error:
        raise UnusableInput(f"{file} is gzipped and damaged; write it again") from None
    if len(inflated) == _LARGEST:
        raise UnusableInput(f"{file} holds more than {_LARGEST // 2**20} MiB when it is unzipped, and no plan does")
    return inflated


def _unwrapped(text: str) -> str:
    """The JSON in what the action setup-terraform prints around a command's output (`terraform_wrapper`)."""
    if not text.lstrip().startswith("[command]"):
        return text
    lines = text.splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("[command]", "::")))


def _parse(file: Path, data: bytes) -> dict[str, Any]:
    if not data.strip():
        raise UnusableInput(f"{file} is empty; {_MAKE}")
    if data[:2] == b"PK":
        raise UnusableInput(f"{file} is a binary plan; {_MAKE}")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"  # PowerShell redirects as UTF-16
    try:
        text = _unwrapped(data.decode(encoding))
        document = json.loads(text)
    except UnicodeDecodeError:
        raise UnusableInput(f"{file} is not text; {_MAKE}") from None
    except RecursionError:
        raise UnusableInput(f"{file} {_TOO_DEEP}") from None
    except json.JSONDecodeError as error:
        raise UnusableInput(f"{file} {_why_not_json(text, error)}") from None
    except ValueError as error:  # a number of thousands of digits
        raise UnusableInput(f"{file} is not a plan's JSON: {str(error).partition(';')[0]}") from None
    if not isinstance(document, dict):
        raise UnusableInput(f"{file} holds a JSON {_kind(document)}, and a plan is an object; {_MAKE}")
    return document


def _why_not_json(text: str, error: json.JSONDecodeError) -> str:
    start = text.lstrip()
    if start.startswith('{"@level"'):
        return f"is the log of `terraform plan -json`, not the plan; {_MAKE}"
    if not start.startswith(("{", "[")):
        return f"is not JSON (plain text); {_MAKE}"
    rest = text[error.pos :].strip()
    cut_word = any(word.startswith(rest) for word in ("true", "false", "null"))  # also when nothing is left
    if cut_word or error.msg.startswith("Unterminated string"):
        return f"is truncated: the JSON ends at line {text.rstrip().count(chr(10)) + 1} in the middle; write it again"
    return f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"


def _kind(value: Any) -> str:
    return {list: "list", str: "string", bool: "boolean", type(None): "null"}.get(type(value), "number")


def _recognise(file: Path, document: dict[str, Any]) -> None:
    """Refuse what is no plan, by what it is."""
    if {"serial", "lineage"} <= set(document) or ({"version", "resources"} <= set(document)):
        raise UnusableInput(f"{file} is a Terraform state, not a plan; {_MAKE}")
    version = document.get("format_version", document.get("plan_format_version"))
    parts = {"resource_changes", "planned_values", "configuration", "output_changes", "plan_format_version"}
    if not parts & set(document):
        raise UnusableInput(f"{file} {_what_else(document)}")
    if not isinstance(version, str) or not version:
        raise UnusableInput(f"{file} has no format_version, so it is no plan of Terraform's; {_MAKE}")
    if version.partition(".")[0] not in _FORMATS:
        raise UnusableInput(f"{file} has the unknown format version {version[:20]}; this groundplan reads 0.x and 1.x")


def _what_else(document: dict[str, Any]) -> str:
    if isinstance(document.get("data"), dict):
        return "is an answer of the Terraform Cloud API about a run or plan, not the plan; get .../plans/ID/json-output"
    if "values" in document or ("format_version" in document and "terraform_version" in document):
        return f"is a state as `terraform show -json` prints it without a plan file; {_MAKE}"
    if "provider_schemas" in document:
        return f"holds provider schemas, not a plan; {_MAKE}"
    if isinstance(document.get("stacks"), dict):
        return "is the manifest of a synth output; compare two synth outputs with `groundplan diff OLD NEW`"
    if {"terraform", "resource", "provider", "module", "data"} & set(document):
        return "is a stack's configuration (cdk.tf.json), not a plan; compare two with `groundplan diff OLD NEW`"
    return f"is JSON, but no Terraform plan; {_MAKE}"


def plan_of(
    document: dict[str, Any], stack: str, file: str = "", digest: str = "", *, with_state: bool = False
) -> Plan:
    """A plan from its parsed JSON. Raises UnusableInput when a part has the wrong shape."""
    entries = document.get("resource_changes") or []
    if not isinstance(entries, list):
        raise UnusableInput(f"{file} is malformed: resource_changes is no list")
    configuration = document.get("configuration") if isinstance(document.get("configuration"), dict) else {}
    written = written_expressions(configuration)
    changes = []
    for position, entry in enumerate(entries):
        change = _change(entry, stack, written)
        if isinstance(change, str):
            raise UnusableInput(f"{file} is malformed: resource_changes[{position}] {change}")
        if change:
            changes.append(change)
    if with_state:
        changes += _unchanged(document, stack, {each.address for each in changes}, written)
    changes.sort(key=lambda each: each.address)
    drift = _drift(document.get("resource_drift"), stack, configuration)
    hidden = frozenset(text for each in (*changes, *drift) for text in sensitivity.hidden(each))
    changes = [sensitivity.without_hidden_values(each) for each in changes]
    return Plan(
        stack=stack,
        changes=tuple(changes),
        file=file,
        digest=digest,
        content=content_digest(document),
        planned_at=str(document.get("timestamp") or ""),
        terraform=str(document.get("terraform_version") or ""),
        providers=_providers(configuration or {}),
        charts=versioned_charts(changes),
        variables=_variables(document),
        outputs=_outputs(document.get("output_changes")),
        drift=tuple(drift),
        hidden=hidden,
        deferred=whole_plan.deferred(document),
        failed_checks=whole_plan.failed_checks(document),
        invocations=whole_plan.invocations(document),
        revealed=whole_plan.revealed(document),
        standing=whole_plan.standing(document),
        simulated=document.get("simulated") is True,
        errored=document.get("errored") is True,
        complete=document.get("complete") is not False,
    )


def _change(entry: Any, stack: str, written: dict[str, Any]) -> Change | str | None:
    """One change; a text says what is wrong with its shape; None for what is no change of a resource."""
    if not isinstance(entry, dict):
        return "is no object"
    body = entry.get("change")
    if not isinstance(body, dict) or not isinstance(body.get("actions"), list):
        return "has no change with actions"
    kind, address = entry.get("type"), entry.get("address")
    if not isinstance(kind, str) or not isinstance(address, str):
        return "has no type or address"
    if entry.get("mode") == "data":
        return None
    plain = without_indices(address)
    outer = plain.rsplit(".", 2)[0] + "." if plain.count(".") > 1 else ""
    if isinstance(entry.get("deposed"), str):
        address += f" (deposed {entry['deposed']})"
    old, new = body.get("before"), body.get("after")
    return Change(
        stack=stack,
        address=address,
        type=kind,
        name=str(entry.get("name") or ""),
        action=_action(body, entry),
        before=old if isinstance(old, dict) else {},
        after=new if isinstance(new, dict) else {},
        unknown=body.get("after_unknown"),
        secret_before=body.get("before_sensitive"),
        secret_after=body.get("after_sensitive"),
        replace_paths=_paths(body.get("replace_paths")),
        reason=str(entry.get("action_reason") or ""),
        previous_address=str(entry.get("previous_address") or ""),
        create_first=body["actions"] == ["create", "delete"],
        refers=frozenset(_mentioned(written.get(plain), outer)),
        written=written.get(plain),
        imported=values.text(body, "importing.id") or values.text(body, "importing.identity"),
    )


def _unchanged(document: dict[str, Any], stack: str, known: set[str], written: dict[str, Any]) -> list[Change]:
    """What stands and has no change of its own."""
    found = []
    for each in whole_plan.standing_resources(document):
        address, kind, of = each.get("address"), each.get("type"), each.get("values")
        if isinstance(address, str) and isinstance(kind, str) and isinstance(of, dict) and address not in known:
            marks, plain = each.get("sensitive_values"), without_indices(address)
            outer = plain.rsplit(".", 2)[0] + "." if plain.count(".") > 1 else ""
            found.append(
                Change(
                    stack,
                    address,
                    kind,
                    str(each.get("name") or ""),
                    Action.NONE,
                    before=of,
                    after=of,
                    secret_before=marks,
                    secret_after=marks,
                    refers=frozenset(_mentioned(written.get(plain), outer)),
                    written=written.get(plain),
                )
            )
    return found


def _drift(entries: Any, stack: str, configuration: Any) -> list[Change]:
    """What was changed outside Terraform, as changes from what the state holds to what is there."""
    addresses = changed_outside(entries, configuration)
    written = written_expressions(configuration)
    found = []
    for each in entries if addresses else ():
        change = _change(each, stack, written)
        if isinstance(change, str) and isinstance(each, dict):  # told in a form that we cannot read
            change = Change(stack, str(each.get("address")), str(each.get("type") or ""), "", Action.UPDATE)
        if isinstance(change, Change) and change.address in addresses:
            found.append(change)
    return found


def _action(body: dict[str, Any], entry: dict[str, Any]) -> Action:
    actions = [str(each) for each in body["actions"]]
    if "create" in actions and "delete" in actions:
        return Action.REPLACE
    if "forget" in actions:  # with "create": the new one is made, and the old one stays in the cloud
        return Action.FORGET
    for word, action in (("create", Action.CREATE), ("delete", Action.DESTROY), ("update", Action.UPDATE)):
        if word in actions:
            return action
    if body.get("importing"):
        return Action.IMPORT
    if entry.get("previous_address"):
        return Action.MOVE
    return Action.READ if "read" in actions else Action.NONE


def _paths(found: Any) -> tuple[values.Path, ...]:
    if not isinstance(found, list):
        return ()
    return tuple(tuple(p for p in each if isinstance(p, str | int)) for each in found if isinstance(each, list))


def _mentioned(expressions: Any, prefix: str) -> set[str]:
    found: set[str] = set()
    pending = [expressions]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            references = value.get("references")
            for text in references if isinstance(references, list) else ():
                parts = str(text).split(".")
                if len(parts) >= 2 and parts[0] not in ("var", "local", "data", "each", "path", "module", "count"):
                    found.add(f"{prefix}{parts[0]}.{parts[1].partition('[')[0]}")
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return found


def _providers(configuration: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    entries = configuration.get("provider_config")
    found = {}
    for key, each in entries.items() if isinstance(entries, dict) else ():
        if isinstance(each, dict) and "builtin" not in str(each.get("full_name")):
            name = str(each.get("full_name") or each.get("name") or key).removeprefix("registry.terraform.io/")
            if each.get("version_constraint") or name not in found:
                found[name] = str(each.get("version_constraint") or "")
    return tuple(sorted(found.items()))


def versioned_charts(changes: list[Change]) -> tuple[tuple[str, str, str], ...]:
    """(release, chart, version) of Helm releases that have a version of their own."""
    return tuple(
        (each.label, values.last_part(values.text(each.after, "chart")), values.text(each.after, "version"))
        for each in changes
        if each.type == "helm_release" and values.text(each.after, "version") and values.text(each.after, "repository")
    )


def _variables(document: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Variables with their values; those declared sensitive are left out."""
    given = document.get("variables")
    root = values.get(document.get("configuration"), "root_module.variables", {})
    found = []
    for name, each in sorted(given.items()) if isinstance(given, dict) else ():
        hidden = values.flag(root.get(name) if isinstance(root, dict) else None, "sensitive")
        if isinstance(each, dict) and not hidden:
            found.append((str(name), each.get("value")))
    return tuple(found)


def _outputs(entries: Any) -> tuple[tuple[str, Any, Any], ...]:
    found = []
    for name, each in sorted(entries.items()) if isinstance(entries, dict) else ():
        if isinstance(each, dict) and each.get("actions") not in (["no-op"], None):
            hidden = each.get("before_sensitive") or each.get("after_sensitive")
            after = UNKNOWN if each.get("after_unknown") is True else each.get("after")
            found.append((str(name), None, None) if hidden else (str(name), each.get("before"), after))
    return tuple(found)
