"""The profile: what the user writes, typed and checked, and how a file becomes one.

:func:`load_profile` reads a file and raises :class:`~findings.ProfileError` with every finding at once, each
with file, line, column and a near-match hint. Sections are documented in their own folders (``network/spec.py`` ...).
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails

from findings import Finding, ProfileError, ProfilePath, Severity, dotted
from findings.redaction import is_secret_path, mask_secrets
from groundplan.cluster.spec import ClusterSpec
from groundplan.gpu.spec import GpuSpec, Reservation
from groundplan.kernel.fields import Labels, ProjectId, Region, Section, SiteName, Zone
from groundplan.kernel.gke import parse_reservation
from groundplan.kernel.source import Source, parse_source, read_source
from groundplan.network.spec import NetworkSpec
from groundplan.platform.spec import PlatformSpec, SecretsSpec
from groundplan.site.backend import BackendSpec, LocalBackend
from groundplan.storage.spec import StorageSpec
from groundplan.workload.spec import WorkloadSpec


class Ignore(Section):
    """A finding that this site accepts; the reason stands in every report."""

    rule: str
    """Slug of the rule (`groundplan rules` lists them)."""
    reason: Annotated[str, Field(min_length=10)]
    """Why it is accepted, in a sentence."""
    address: str = ""
    """Of rules on plans: the resource it is accepted of, as a report names it; `*` and `?` stand for any characters.
    Without one, a plan's errors and losses are not covered."""


class Profile(Section):
    """One site."""

    site: SiteName = "nemo-rl"
    """Name of the site; the names of all its resources start with it."""
    environment: Literal["dev", "prod"] = "dev"
    """prod: deletion protection, a shared backend, no floating image."""
    project: ProjectId
    """Google Cloud project id."""
    zone: Zone
    """Zone of GPU nodes, RoCE network, Lustre and CPU pool."""
    region: Region | None = None
    """Region of cluster and subnetworks. Default: the zone's."""
    reservation: Reservation | None = None
    """Reservation of the GPU pools that name none of their own."""
    prevent_destroy: bool | None = None
    """A plan that would destroy or replace cluster, Lustre, buckets or GPU pools fails. Default: yes in prod, no in
    dev."""
    labels: Labels = {}
    """Labels of every resource that takes labels, beside site, environment and managed-by."""
    network: NetworkSpec = NetworkSpec()
    """Primary VPC and what belongs to it."""
    storage: StorageSpec = StorageSpec()
    """Managed Lustre and buckets."""
    cluster: ClusterSpec = ClusterSpec()
    """GKE cluster."""
    gpu: GpuSpec = GpuSpec()
    """GPU fabric and pools."""
    platform: PlatformSpec = PlatformSpec()
    """Operators and installers in the cluster."""
    workload: WorkloadSpec = WorkloadSpec()
    """The NeMo RL job."""
    secrets: SecretsSpec = SecretsSpec()
    """References to tokens."""
    backend: BackendSpec = BackendSpec(local=LocalBackend())
    """Terraform backend. Default: local."""
    catalog: list[str] = []
    """Catalog files of your own, relative to the profile: machine types, Lustre tiers, recipes ..."""
    ignore: list[Ignore] = []
    """Findings that this site accepts."""


def load_profile(file: Path) -> tuple[Profile, Source]:
    """Read and check the shape of a profile. Raises ProfileError with all findings."""
    source = read_source(file)
    return validate(source), source


def parse_profile(text: str, name: str = "profile.yaml") -> tuple[Profile, Source]:
    """The same from text in memory."""
    source = parse_source(name, text)
    return validate(source), source


def validate(source: Source) -> Profile:
    """Turn parsed data into a Profile. Raises ProfileError with one finding per fault."""
    try:
        return Profile.model_validate(source.data)
    except ValidationError as error:
        findings = [_finding(detail, source) for detail in error.errors(include_url=False)]
        raise ProfileError(_without_echoes(findings)) from None


def _without_echoes(findings: list[Finding]) -> list[Finding]:
    """Drop "`zone` is missing" where "unknown key `zome`, did you mean `zone`?" says the same."""
    misspelt = {(*f.path[:-1], f.hint.split("`")[1]) for f in findings if f.hint.startswith("did you mean")}
    return [f for f in findings if f.rule != "missing-key" or f.path not in misspelt]


#: Digits of the longest number that some key could take.
_MOST_DIGITS = 15

_WHAT = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "dict_type": "must be a mapping of keys",
    "model_type": "must be a mapping of keys",
    "model_attributes_type": "must be a mapping of keys",
    "list_type": "must be a list",
}


def _finding(detail: ErrorDetails, source: Source) -> Finding:
    path: ProfilePath = tuple(part for part in detail["loc"] if not str(part).startswith(("function-", "literal[")))
    if path and path[-1] == "[key]":
        path = path[:-1]
    kind = detail["type"]
    context = detail.get("ctx", {})
    where = dotted(path)
    if kind == "extra_forbidden":
        return _unknown_key(path, source)
    if kind == "missing":
        hint = _MISSING_HINTS.get(path, f"add `{path[-1]}:`")
        return Finding(
            "missing-key",
            Severity.ERROR,
            f"`{where}` is missing",
            hint,
            path,
            location=source.locate(path[:-1], key=True),
        )
    given = detail["input"]
    if kind in _WHAT:
        limit, rule, hint = _WHAT[kind], "wrong-type", _type_hint(kind, given)
    elif kind == "literal_error":
        limit, rule, hint = _choices(str(context["expected"]), given)
    else:
        limit = str(context["limit"]) if kind == "limit" else _bounds(kind, context, detail["msg"])
        rule, hint = "wrong-value", _limit_hint(limit)
    if path[-2:] == ("reservation", "name") and path not in source.values:
        path = path[:-1]  # given as a plain name
        where = dotted(path)
    secret = is_secret_path(path)
    hint = (None if secret else value_hint(path, given)) or hint
    shown = "" if secret else _shown(given)
    value = f" is {shown}" if shown else ""
    joint = " and" if value else ""
    message = f"`{where}`{value}{joint} {limit}" if where else f"the profile {limit}"
    return Finding(rule, Severity.ERROR, message, hint, path, location=source.locate(path))


_MISSING_HINTS: dict[ProfilePath, str] = {
    ("project",): "add `project:` with the id of your Google Cloud project",
    ("zone",): "add `zone:` with the zone of your reservation, e.g. us-central1-b",
}


def _unknown_key(path: ProfilePath, source: Source) -> Finding:
    name = str(path[-1])
    section_model = model_at(path[:-1])
    known = sorted(section_model.model_fields) if section_model else []
    plain = name.replace("-", "_").lower()
    near = difflib.get_close_matches(plain, known, n=1, cutoff=0.75)
    elsewhere = [] if near else _paths_of(name)
    near = near or difflib.get_close_matches(plain, known, n=1, cutoff=0.6)
    if elsewhere:
        hint = f"`{name}` is a key of `{'`, `'.join(elsewhere)}`"
    elif near:
        hint = f"did you mean `{near[0]}`?"
    else:
        hint = f"known keys here: {', '.join(known)}"
    section = dotted(path[:-1])
    place = f" in `{section}`" if section else ""
    message = f"unknown key `{mask_secrets(name)}`{place}"
    return Finding("unknown-key", Severity.ERROR, message, hint, path, location=source.locate(path, key=True))


def _choices(expected: str, given: Any) -> tuple[str, str, str]:
    """pydantic says ``'a', 'b' or 'c'``; keep the words and look for the nearest."""
    words = [word.strip().strip("'") for word in expected.replace(" or ", ", ").split(",")]
    near = difflib.get_close_matches(str(given).upper(), [w.upper() for w in words], n=1, cutoff=0.6)
    nearest = next((w for w in words if near and w.upper() == near[0]), None)
    hint = f"did you mean `{nearest}`?" if nearest else f"choose {words[0]}, for example"
    return "must be " + (words[0] if len(words) == 1 else f"one of {', '.join(words)}"), "wrong-value", hint


def _bounds(kind: str, context: dict[str, Any], message: str) -> str:
    match kind:
        case "greater_than_equal":
            return f"must be at least {context['ge']}"
        case "less_than_equal":
            return f"must be at most {context['le']}"
        case "too_short":
            return "must not be empty" if context["min_length"] == 1 else f"must have {context['min_length']} entries"
        case "string_too_short":
            return f"must have at least {context['min_length']} characters"
        case "string_pattern_mismatch":
            return f"must match {context['pattern']}"
        case _:
            return message[:1].lower() + message[1:]


_HOST_BITS = re.compile(r"the range of that size is (\S+)")


def _limit_hint(limit: str) -> str:
    """The mend of a value beyond a limit, which names the limit or the value to give."""
    mended = _HOST_BITS.search(limit)
    if mended:
        return f"use {mended[1]}"
    what = limit.removeprefix("must be ")
    if ": put" in what or "; give" in what:
        return what.replace(": ", "; ").partition("; ")[2]
    for bound, way in (("at least ", "more"), ("at most ", "less")):
        if what.startswith(bound):
            return f"use {what.removeprefix(bound)} or {way}"
    if what == "must not be empty":
        return "give at least one"
    if what.startswith("must match "):
        return "correct the value"
    return f"give {what.removeprefix('must have ')}"


_REGION = re.compile(r"[a-z]+-[a-z]+[0-9]+")


def value_hint(path: ProfilePath, given: Any) -> str | None:
    """The mend where the value tells what was meant: a project's number, a region for a zone, a reservation's path."""
    key, text = path[-1] if path else "", str(given)
    if {"labels", "environment", "overrides"} & set(path[:-1]):
        return None  # the user's own keys, whatever they are called
    if key == "project" and re.fullmatch(r"[0-9]+", text):
        return "give the project id, such as my-project, not the project number"
    if key == "zone" and _REGION.fullmatch(text):
        return f"add the letter, e.g. {text}-b"
    if key == "region" and _REGION.fullmatch(text[:-2]) and text[-2] == "-":
        return f"leave the letter off: {text[:-2]}"
    if key == "reservation" or path[-2:] == ("reservation", "name"):
        found = parse_reservation(text) if "reservations/" in text else None
        parts = dataclasses.asdict(found) if found else {}
        written = ", ".join(f"{name}: {mask_secrets(part)}" for name, part in parts.items() if part)
        return f"write it as a mapping: {{{written}}}" if written else None
    if key in ("release", "version") and isinstance(given, float | int | str) and not isinstance(given, bool):
        return _version_hint(path, text)
    return None


def _version_hint(path: ProfilePath, text: str) -> str | None:
    tagged = path[-1] == "release" or path[-2:] == ("gib", "version")
    if tagged and re.fullmatch(r"[0-9]+\.[0-9]+(\.[0-9]+)?", text):
        return f"use v{text}" if text.count(".") == 2 else f"use v{text}.0"
    if not tagged and path[:1] == ("platform",) and re.fullmatch(r"v[0-9]+\.[0-9]+\.[0-9]+", text):
        return f"use {text[1:]}"
    return None


def _type_hint(kind: str, given: Any) -> str:
    if kind == "string_type":
        return "put the value in quotes" if given is not None else "give a value, or leave the key out"
    if kind in ("dict_type", "model_type"):
        return "write its keys below it, indented"
    if kind == "list_type":
        return "write the entries as `- entry` lines"
    if isinstance(given, str):
        if not given.strip().isdecimal():
            return "correct the value"
        return "take the quotes off" if len(given) <= _MOST_DIGITS else "give a number; no key takes one so long"
    return "give a value, or leave the key out" if given is None else "correct the value"


def _shown(value: Any) -> str:
    """The value as the message shows it: short, and never a secret."""
    if isinstance(value, dict | list):
        return ""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    text = mask_secrets(str(value))
    return text if len(text) <= 60 else text[:57] + "..."


def model_at(path: ProfilePath) -> type[BaseModel] | None:
    """The section class that a profile path leads to, or None for a free mapping."""
    model: type[BaseModel] | None = Profile
    for part in path:
        if isinstance(part, int):
            continue
        if model is None or part not in model.model_fields:
            return None
        model = section_in(model.model_fields[part].annotation)
    return model


def section_in(annotation: Any) -> type[BaseModel] | None:
    """The section class inside ``X | None``, ``list[X]`` or ``Annotated[...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, types.UnionType, list, Annotated):
        for argument in get_args(annotation):
            found = section_in(argument)
            if found:
                return found
    return None


def repeats(inner: type[BaseModel], model: type[BaseModel]) -> bool:
    """Whether a section within another has that one's keys and no others: an entry of a list of the same."""
    return set(inner.model_fields) <= set(model.model_fields)


def _paths_of(name: str) -> list[str]:
    """The sections that know a key called `name`, for a key put in the wrong place."""
    found: list[str] = []

    def walk(model: type[BaseModel], path: ProfilePath) -> None:
        if path and name in model.model_fields:
            found.append(dotted(path))
        for key, field in model.model_fields.items():
            inner = section_in(field.annotation)
            if inner and not repeats(inner, model):
                walk(inner, (*path, key))

    walk(Profile, ())
    return found
