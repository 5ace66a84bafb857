"""The variables that Google's tutorial exports, as words of the profile that ``groundplan init`` writes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from findings import ProfilePath, UserError
from findings.redaction import looks_secret
from groundplan.catalog import load_catalog


@dataclass(frozen=True, slots=True)
class Variable:
    """One exported variable: the template's word, and the key of the profile that the word becomes."""

    word: str
    path: ProfilePath
    formerly: str = ""
    """What an earlier edition of the tutorial called it."""


#: In the order of the tutorial's first step. The first three cannot be guessed.
VARIABLES: Mapping[str, Variable] = {
    "PROJECT_ID": Variable("project", ("project",)),
    "NODE_ZONE": Variable("zone", ("zone",), formerly="NODE_LOCATION"),
    "RESERVATION": Variable("reservation", ("reservation",)),
    "CONTROL_PLANE_REGION": Variable("region", ("region",), formerly="CONTROL_PLANE_LOCATION"),
    "CLUSTER_NAME": Variable("cluster", ("cluster", "name")),
    "MACHINE_TYPE": Variable("machine_type", ("gpu", "pools", 0, "machine_type")),
    "GPU_TYPE": Variable("accelerator", ("gpu", "pools", 0, "accelerator")),
    "NETWORK": Variable("network", ("network", "primary", "name")),
    "GVNIC_NETWORK_PREFIX": Variable("gvnic_prefix", ("gpu", "gvnic", "prefix")),
    "RDMA_NETWORK_PREFIX": Variable("rdma_prefix", ("gpu", "rdma", "prefix")),
    "LUSTRE_NAME": Variable("lustre", ("storage", "lustre", "name")),
    "LUSTRE_ZONE": Variable("lustre_zone", ("storage", "lustre", "zone")),
    "NAMESPACE": Variable("namespace", ("platform", "namespace")),
    "KSA_NAME": Variable("service_account", ("platform", "service_account")),
    "CPU_MACHINE_TYPE": Variable("cpu_machine_type", ("cluster", "cpu_pool", "machine_type")),
    "GKE_VERSION": Variable("version", ("cluster", "version")),
    "REPLICA_COUNT": Variable("nodes", ("gpu", "pools", 0, "nodes")),
}
REQUIRED = ("PROJECT_ID", "NODE_ZONE", "RESERVATION")

#: Read for their presence only.
TOKENS = ("HF_TOKEN", "WANDB_API_KEY")

#: Exported by an edition of the tutorial and of no use to a profile -> why.
UNUSED = {
    "GS_BUCKET": "a bucket that is there is no part of the site; `storage.buckets` makes one",
    "LUSTRE_IP": "Terraform asks Google for the address",
}

#: Word of an option that is no variable -> where it goes.
_OPTIONS: Mapping[str, ProfilePath] = {
    "site": ("site",),
    "bucket": ("backend", "gcs"),
    "organization": ("backend", "cloud"),
}

#: The tutorial's own, where the variables name neither a machine type nor a GPU that only one type has.
_DEFAULT_MACHINE = "a4-highgpu-8g"


@dataclass(frozen=True, slots=True)
class Taken:
    """What the environment came to."""

    words: dict[str, Any]
    variables: dict[str, str]
    """Word -> the variable that it was read from."""
    unused: dict[str, str]
    """Variable that is set and was not taken -> why."""
    tokens: list[str]


def words_from_environment(environment: Mapping[str, str]) -> Taken:
    """The template's words from the tutorial's variables. Raises UserError naming what is missing."""
    given, names = _given(environment)
    for word, value in given.items():
        if looks_secret(value):
            name = names[word]
            raise UserError(f"${name} holds what looks like a token; export it as HF_TOKEN or WANDB_API_KEY instead")
    missing = [name for name in REQUIRED if VARIABLES[name].word not in given]
    if missing:
        raise UserError(f"not exported: {', '.join(missing)}; --from-env needs them (see the tutorial's first step)")
    unused = {name: why for name, why in UNUSED.items() if environment.get(name, "").strip()}
    words: dict[str, Any] = dict(given)
    prefix = environment.get("NETWORK_PREFIX", "").strip()
    if prefix and "network" in words:
        unused["NETWORK_PREFIX"] = "NETWORK names the network"
    elif prefix:
        words["network"], names["network"] = f"{prefix}-nemo-rl", "NETWORK_PREFIX"
    with_gpu = [
        name for name, each in load_catalog().machines.items() if each.has_accelerator(words.get("accelerator", ""))
    ]
    words.setdefault("machine_type", with_gpu[0] if len(with_gpu) == 1 else _DEFAULT_MACHINE)
    if words["machine_type"] in with_gpu:
        del words["accelerator"]  # the machine type says it
    count = words.get("nodes", "2")
    if not str(count).isdigit() or not int(count):
        raise UserError(f"$REPLICA_COUNT is {count} and must be a whole number of at least 1")
    words |= {"nodes": int(count), "pool": "gpu-pool", "site": _site_name(words.get("cluster", ""))}
    words |= {"wandb": bool(environment.get("WANDB_API_KEY")), "origin": " from the tutorial's variables"}
    return Taken(words, names, unused, [name for name in TOKENS if environment.get(name)])


def _given(environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Word -> value, and word -> variable, of all that is set; a new name goes before a former one."""
    given, names = {}, {}
    for name, variable in VARIABLES.items():
        for each in (name, variable.formerly):
            value = environment.get(each, "").strip() if each else ""
            if value and variable.word not in given:
                given[variable.word], names[variable.word] = value, each
    return given, names


def variable_at(path: ProfilePath, names: Mapping[str, str]) -> str:
    """The variable (or option) that a finding's place in the profile was written from; empty when there is none."""
    places = {variable.word: variable.path for variable in VARIABLES.values()} | dict(_OPTIONS)
    for word, place in places.items():
        if word in names and path[: len(place)] == place:
            return names[word]
    return ""


def _site_name(cluster: str) -> str:
    name = re.sub(r"[^-a-z0-9]", "-", cluster.lower())[:20].strip("-")
    return name if re.match(r"[a-z]", name) else "nemo-rl"
