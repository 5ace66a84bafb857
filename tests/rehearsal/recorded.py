"""Plans that the real google provider made, put again to the simulated one: what does it say differently?

A recorded plan holds the configuration, so every resource of it can be put to the simulated provider alone: planned
as new, applied, planned again on the real state. What the cloud makes up (identifiers, addresses, times) is compared
by its kind, everything else by value.
"""

from __future__ import annotations

import json
import os
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundplan.emit.rehearsal import provider_facts, schema_changes
from staged_terraform.conformance import conform
from staged_terraform.cty_values import UNKNOWN
from staged_terraform.node_pools import with_pools
from staged_terraform.planning import normal, plan
from staged_terraform.provider import SimulatedProvider
from staged_terraform.schema_changes import amended
from staged_terraform.schema_types import Attribute, Block, attribute_type, block_type
from staged_terraform.schemas import load
from staged_terraform.simulated_cloud import RemoteObject, SimulatedCloud

Object = dict[str, Any]

#: $REAL_PLANS, or beside the working tree of the project; not part of it.
ARCHIVE = Path(os.environ.get("REAL_PLANS") or Path(__file__).parents[3] / "shared" / "reference" / "real-plans.tar.xz")


#: The release that the facts describe.
NEWEST = "7.45.0"

#: What groundplan tells Terraform to ignore: the provider is then handed what was there. A plan does not record it.
IGNORED = {"google_container_cluster": ("node_config",), "google_container_node_pool": ("initial_node_count",)}


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of a recorded plan; `configured` are its expressions in Terraform's form."""

    plan: str
    type: str
    address: str
    configured: Object
    change: Object
    around: dict[str, Object]

    @property
    def unchanged(self) -> bool:
        """The plan is a second one: the configuration is that of the state, whatever the provider wants to change."""
        return self.plan.startswith(("secondplan-", "stateupgrade-")) and self.change["before"] is not None

    @property
    def actions(self) -> list[str]:
        return list(self.change["actions"])


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """Where the simulated provider says otherwise; `stage` is create, state, plan or replace."""

    stage: str
    type: str
    path: str
    real: str
    simulated: str
    plan: str

    def __str__(self) -> str:
        return f"{self.stage} {self.type} {self.path}: real {self.real}, simulated {self.simulated} ({self.plan})"


def plans(archive: Path = ARCHIVE) -> dict[str, Object]:
    """Name -> recorded plan; of two releases of the provider the newer one where both made it."""
    found: dict[str, Object] = {}
    with tarfile.open(archive) as opened:
        for member in sorted(opened.getmembers(), key=lambda each: each.name):
            name = Path(member.name).stem
            handle = opened.extractfile(member) if member.isfile() else None
            if handle is not None and name != "index":
                found[name] = json.load(handle)
    return {name: document for name, document in found.items() if f"{name}-{NEWEST}" not in found}


def resources(recorded: dict[str, Object]) -> Iterator[Resource]:
    """The google resources of all plans."""
    for name, document in recorded.items():
        configured = {
            each["address"]: each.get("expressions", {})
            for each in document["configuration"]["root_module"].get("resources", [])
        }
        around = {
            each["address"]: unknowns(each["change"]["after"], each["change"]["after_unknown"])
            for each in document["resource_changes"]
        }
        for each in document["resource_changes"]:
            if each["mode"] == "managed" and each["type"].startswith("google_"):
                expressions = configured.get(each["address"], {})
                yield Resource(name, each["type"], each["address"], expressions, each["change"], around)


class Comparison:
    """The simulated google provider, asked the questions of the recorded plans."""

    def __init__(self, found: list[Resource]) -> None:
        keys = {("resource", each.type) for each in found} | {("provider", "google")}
        cloud = SimulatedCloud(provider_facts(), lenient=True)
        changes = schema_changes().resources
        schemas = {
            (kind, name): amended(block, changes.get(name, {}) if kind == "resource" else {})
            for (kind, name), block in load(keys).items()
        }
        self.provider = SimulatedProvider("google", schemas, cloud, legacy=True)
        self.provider.config = {"project": "my-project", "region": "us-central1", "zone": "us-central1-b"}
        self.found = found

    def differences(self) -> list[Difference]:
        made = []
        for each in self.found:
            if each.actions == ["create"]:
                made += self.created(each)
            elif each.actions == ["no-op"] or each.unchanged:
                made += self.state(each)
            if each.actions not in (["create"], ["delete"]):
                made += self.planned(each)
        return made

    def created(self, each: Resource) -> list[Difference]:
        block = self.provider.resources[each.type]
        after = unknowns(each.change["after"], each.change["after_unknown"])
        config = configuration(block, each, each.configured, after)
        simulated = self.plan(each.type, None, config).planned
        return list(self.compare("create", each, block, after, simulated, config))

    def state(self, each: Resource) -> list[Difference]:
        block = self.provider.resources[each.type]
        before = conform(block_type(block), each.change["before"])
        config = configuration(block, each, each.configured, before)
        planned = self.plan(each.type, None, config).planned
        simulated = self.provider.settled(each.type, planned, config)
        real = each.change["before"]
        if each.type == "google_container_cluster":
            names = self.make_pools(each)
            simulated = with_pools(self.provider.cloud, block, simulated)
            # A plan has the pools of its own stack only.
            real = {**real, "node_pool": [pool for pool in real["node_pool"] if pool["name"] in names]}
        return list(self.compare("state", each, block, real, simulated, config))

    def make_pools(self, each: Resource) -> set[str]:
        """Put the pools of the cluster's plan into the cloud; their names."""
        cloud = self.provider.cloud
        cloud.objects.clear()
        self.put(each.type, each.change["before"])
        pools = [
            other for other in self.found if other.plan == each.plan and other.type == "google_container_node_pool"
        ]
        for pool in pools:
            self.put(pool.type, pool.change["before"])
        return {pool.change["before"]["name"] for pool in pools}

    def put(self, name: str, state: Object) -> None:
        remote = RemoteObject(name, state, self.provider.facts[name], "my-project")
        self.provider.cloud.objects[self.provider.cloud.key(remote)] = remote

    def planned(self, each: Resource) -> list[Difference]:
        block = self.provider.resources[each.type]
        before = conform(block_type(block), each.change["before"])
        after = conform(block_type(block), unknowns(each.change["after"], each.change["after_unknown"]))
        config = configuration(block, each, each.configured, after)
        config |= {name: before[name] for name in IGNORED.get(each.type, ())}
        made = self.plan(each.type, before, config)
        forced = sorted({re.sub(r"\.\d+", "", ".".join(map(str, path))) for path in made.requires_replace})
        real = sorted({re.sub(r"\.\d+", "", ".".join(map(str, path))) for path in each.change.get("replace_paths", [])})
        if forced != real:
            if not real and "delete" in each.actions:
                return []  # a trigger of another resource
            return [Difference("replace", each.type, "", ", ".join(real) or "-", ", ".join(forced) or "-", each.plan)]
        if real or "delete" in each.actions:
            return []
        return list(
            self.compare(
                "plan",
                each,
                block,
                unknowns(each.change["after"], each.change["after_unknown"]),
                made.planned,
                config,
                exact=True,
            )
        )

    def plan(self, name: str, prior: Object | None, config: Object) -> Any:
        provider = self.provider
        return plan(provider.resources[name], provider.facts[name], prior, config, provider.predictor(name), True)

    def compare(
        self,
        stage: str,
        each: Resource,
        block: Block,
        real: Object,
        simulated: Object,
        config: Object,
        exact: bool = False,
    ) -> Iterator[Difference]:
        for path, one, other in compared(block, real, simulated, config, "", exact):
            yield Difference(stage, each.type, path, shown(one), shown(other), each.plan)


def unknowns(value: Any, unknown: Any) -> Any:
    """A planned value with its unknowns in place."""
    if unknown is True:
        return UNKNOWN
    if isinstance(unknown, dict):
        value = value or {}
        return {key: unknowns(value.get(key), unknown.get(key)) for key in {**value, **unknown}}
    if isinstance(unknown, list) and isinstance(value, list):
        rest = [None] * len(value)
        return [unknowns(each, more) for each, more in zip(value, [*unknown, *rest], strict=False)]
    return value


def configuration(block: Block, each: Resource, expressions: Object, after: Any) -> Object:
    """The configuration as Terraform sends it: constants as written, references by the value they came to."""
    config: Object = {}
    after = after if isinstance(after, dict) else {}
    for name in block.attributes:
        given = expressions.get(name)
        if not isinstance(given, dict):
            config[name] = None
        elif "references" in given:
            config[name] = referred(each, given, after.get(name))
        else:
            config[name] = given.get("constant_value")
    for name, nested in block.blocks.items():
        given, values = expressions.get(name), after.get(name)
        if nested.nesting == "single":
            config[name] = None if given is None else configuration(nested.block, each, one(given), values)
            continue
        listed = [] if given is None else (given if isinstance(given, list) else [given])
        values = values if isinstance(values, list) else []
        padded = [*values, *([None] * len(listed))]
        config[name] = [
            configuration(nested.block, each, part, value) for part, value in zip(listed, padded, strict=False)
        ]
    converted: Object = conform(block_type(block), config)
    return converted


_REFERENCE = re.compile(r"\$\{([\w.-]+)\.(\w+)\}")


def referred(each: Resource, given: Object, after: Any) -> Any:
    """What a reference comes to: the other resource's value where it is one, else what the plan says of ours."""
    found = _REFERENCE.fullmatch(str(given.get("constant_value")))
    other = each.around.get(found[1]) if found else None
    return other[found[2]] if found and other and found[2] in other else after


def one(given: Any) -> Object:
    found: Object = given[0] if isinstance(given, list) else given
    return found


def compared(
    block: Block, real: Any, simulated: Any, config: Any, prefix: str, exact: bool
) -> Iterator[tuple[str, Any, Any]]:
    """(path, real, simulated) of what differs; names of the schema only."""
    config = config if isinstance(config, dict) else {}
    for name, attribute in block.attributes.items():
        if name not in real:
            continue  # another release of the provider has it
        left, right = real[name], simulated.get(name)
        if not same(attribute, left, right, config.get(name), exact):
            yield prefix + name, left, right
    for name, nested in block.blocks.items():
        if name not in real:
            continue
        left, right = real[name], simulated.get(name)
        path = prefix + name
        if isinstance(left, dict) and isinstance(right, dict):
            yield from compared(nested.block, left, right, config.get(name), f"{path}.", exact)
        elif not isinstance(left, list) or not isinstance(right, list) or len(left) != len(right):
            if left is not right and left != right:
                yield path, left, right
        else:
            if nested.nesting == "set":
                left, right = ordered(nested.block, left), ordered(nested.block, right)
            given = config.get(name) or []
            given = [*given, *([None] * len(left))]
            for one_, other, source in zip(left, right, given, strict=False):
                yield from compared(nested.block, one_, other, source, f"{path}.", exact)


def ordered(block: Block, elements: list[Any]) -> list[Any]:
    return list(normal(["set", block_type(block)], elements)) if len(elements) > 1 else elements


def same(attribute: Attribute, real: Any, simulated: Any, given: Any, exact: bool) -> bool:
    cty = attribute_type(attribute)
    if real is UNKNOWN or simulated is UNKNOWN:
        return real is simulated
    if normal(cty, real) == normal(cty, simulated):
        return True
    # What the cloud makes up is of the same kind: nothing, or something of the same form.
    return not exact and attribute.computed and given is None and kind(real) == kind(simulated)


def kind(value: Any) -> str:
    """null, zero, empty, link, text, number, list of kinds ..."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return "number" if value else "0"
    if isinstance(value, str):
        if not value:
            return '""'
        return "link" if value.startswith("https://") else "text"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {kind(each)}" for key, each in sorted(value.items())) + "}"
    return "[" + ", ".join(sorted({kind(each) for each in value})) + "]"


def shown(value: Any) -> str:
    text = "unknown" if value is UNKNOWN else json.dumps(value, default=repr)
    return text if len(text) < 120 else text[:117] + "..."
