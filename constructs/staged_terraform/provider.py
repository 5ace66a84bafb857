"""One simulated provider: the answers to Terraform's calls, between the wire and the cloud.

The protocol never tells a provider the address of a resource, so everything here goes by type and identifier.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from staged_terraform import cluster_api, planning, roce_network
from staged_terraform import protocol as wire_format
from staged_terraform.after_apply import as_stored
from staged_terraform.computed_values import computed, known, render
from staged_terraform.conformance import check_choices, conform, mark_sensitive
from staged_terraform.cty_values import UNKNOWN, Value
from staged_terraform.data_sources import read_data_source
from staged_terraform.facts import TypeFacts
from staged_terraform.node_pools import with_pools
from staged_terraform.protocol import Diagnostic, Field, Message, message
from staged_terraform.schema_types import Attribute, Block, attribute_type, block_type
from staged_terraform.schemas import TypeKey
from staged_terraform.simulated_cloud import Refused, RemoteObject, SimulatedCloud

Object = dict[str, Any]
Handler = Callable[[Message], bytes]


class SimulatedProvider:
    """Serves the given types of one provider. `legacy` is the type-system flag, which google and kubernetes set."""

    def __init__(self, name: str, schemas: dict[TypeKey, Block], cloud: SimulatedCloud, legacy: bool) -> None:
        self.name, self.cloud, self.legacy = name, cloud, legacy
        self.config: Object = {}
        #: Types to offer to Terraform; None offers all. Terraform spends most of a short run decoding schemas.
        self.in_use: set[TypeKey] | None = None
        self._encoded: dict[TypeKey, bytes] = {}
        self.provider_block = schemas.get(("provider", name), Block())
        self.resources = {key: block for (kind, key), block in schemas.items() if kind == "resource"}
        self.data_sources = {key: block for (kind, key), block in schemas.items() if kind == "data"}
        self.ephemeral = {key: block for (kind, key), block in schemas.items() if kind == "ephemeral"}
        self.facts = {key: cloud.facts.of(key, block) for key, block in self.resources.items()}
        for key, block in self.resources.items():
            for path in self.facts[key].sensitive:
                mark_sensitive(block, path.split("."))
        self.handlers: dict[str, Handler] = {
            "GetProviderSchema": self.schema,
            "ValidateProviderConfig": lambda request: b"",
            "ValidateResourceConfig": self.validate,
            "ValidateDataResourceConfig": lambda request: b"",
            "ConfigureProvider": self.configure,
            "UpgradeResourceState": self.upgrade,
            "ReadResource": self.read,
            "PlanResourceChange": self.plan,
            "ApplyResourceChange": self.apply,
            "ImportResourceState": self.import_state,
            "ReadDataSource": self.read_data,
            "ValidateEphemeralResourceConfig": lambda request: b"",
            "OpenEphemeralResource": self.open_ephemeral,
            "RenewEphemeralResource": lambda request: b"",
            "CloseEphemeralResource": lambda request: b"",
            "GetFunctions": lambda request: b"",
            "StopProvider": lambda request: b"",
        }

    # --- schemas and configuration -------------------------------------------------------------------------------

    def schema(self, request: Message) -> bytes:
        return wire_format.provider_schema(
            self.encoded("provider", self.name),
            {name: self.encoded("resource", name) for name in self.resources if self.serves("resource", name)},
            {name: self.encoded("data", name) for name in self.data_sources if self.serves("data", name)},
            {name: self.encoded("ephemeral", name) for name in self.ephemeral if self.serves("ephemeral", name)},
        )

    def serves(self, kind: str, name: str) -> bool:
        return self.in_use is None or (kind, name) in self.in_use

    def encoded(self, kind: str, name: str) -> bytes:
        """A schema's bytes, kept: every Terraform command asks for them again."""
        if (kind, name) not in self._encoded:
            blocks = {
                "resource": self.resources,
                "data": self.data_sources,
                "ephemeral": self.ephemeral,
                "provider": {name: self.provider_block},
            }
            version = self.facts[name].version if kind == "resource" else 0
            self._encoded[kind, name] = wire_format.schema(blocks[kind][name], version)
        return self._encoded[kind, name]

    def validate(self, request: Message) -> bytes:
        """Enumerations from the documentation, as warnings: some of them have no validator in the provider."""
        name = wire_format.text(request, 1)
        found: list[Diagnostic] = []
        check_choices(self.resources[name], wire_format.dynamic(request, 2), (), found)
        return message(*wire_format.diagnostics(1, found))

    def configure(self, request: Message) -> bytes:
        self.config = wire_format.dynamic(request, 2) or {}
        return b""

    # --- state ---------------------------------------------------------------------------------------------------

    def upgrade(self, request: Message) -> bytes:
        """Stored state comes as JSON; members that the schema has and the state lacks become null."""
        name = wire_format.text(request, 1)
        stored = json.loads(wire_format.raw(wire_format.parse(wire_format.raw(request, 3)), 1) or b"null")
        return message((1, wire_format.dynamic_value(conform(block_type(self.resources[name]), stored))))

    def read(self, request: Message) -> bytes:
        name = wire_format.text(request, 1)
        current = wire_format.dynamic(request, 2)
        private = wire_format.raw(request, 3)
        with _diagnosed(2) as answer:
            if self.blind:
                answer.fields = [(1, wire_format.dynamic_value(None)), (3, private)]
                return answer.encoded()
            remote = self.remote(name, current)
            stored = self.cloud.read(name, remote.id, remote.cluster)
            if stored is not None and name == "google_container_cluster" and self.legacy:
                stored = with_pools(self.cloud, self.resources[name], stored)
            answer.fields = [(1, wire_format.dynamic_value(stored)), (3, private)]
        return answer.encoded()

    def import_state(self, request: Message) -> bytes:
        name, identity = wire_format.text(request, 1), wire_format.text(request, 2)
        with _diagnosed(2) as answer:
            cluster = "" if self.name == "google" else self.cluster()
            identity = identity.rpartition("/")[2] if name == "helm_release" else identity
            stored = self.cloud.read(name, identity, cluster)
            if stored is None and (found := self.cloud.find(name, identity, cluster)):
                stored = self.cloud.read(name, found.id, cluster)
            if stored is None:
                raise Refused(f"Cannot import non-existent remote object {name} {identity}")
            answer.fields = [(1, message((1, name), (2, wire_format.dynamic_value(stored))))]
        return answer.encoded()

    # --- change --------------------------------------------------------------------------------------------------

    def plan(self, request: Message) -> bytes:
        name = wire_format.text(request, 1)
        prior, proposed, config = (wire_format.dynamic(request, number) for number in (2, 3, 4))
        private = wire_format.raw(request, 5)
        with _diagnosed(4) as answer:
            if proposed is None:
                answer.fields = [(1, wire_format.dynamic_value(None)), (3, private)]
                return answer.encoded()
            if name == "kubernetes_manifest" and not self.cloud.lenient:
                cluster_api.cluster_of(self.cloud, self.config.get("host"), self.name)
            made = planning.plan(
                self.resources[name], self.facts[name], prior, config, self.predictor(name), self.legacy
            )
            answer.fields = [(1, wire_format.dynamic_value(made.planned))]
            answer.fields += [(2, wire_format.attribute_path(path)) for path in made.requires_replace]
            answer.fields += [(3, private), (5, self.legacy)]
        return answer.encoded()

    def apply(self, request: Message) -> bytes:
        name = wire_format.text(request, 1)
        prior, planned, config = (wire_format.dynamic(request, number) for number in (2, 3, 4))
        with _diagnosed(3) as answer:
            # What Terraform keeps if we refuse: what was there before.
            answer.fields = [(1, wire_format.dynamic_value(prior))]
            if planned is None and self.blind:
                answer.fields = [(1, wire_format.dynamic_value(None))]
                return answer.encoded()
            if planned is None:
                self.cloud.delete(self.remote(name, prior))
                answer.fields = [(1, wire_format.dynamic_value(None))]
                return answer.encoded()
            state = self.settled(name, planned, config)
            remote = self.remote(name, state)
            try:
                act = self.cloud.create if prior is None else self.cloud.update
                stored = act(remote, self.check)
            except Refused as problem:
                if problem.created is not None:
                    answer.fields = [(1, wire_format.dynamic_value(problem.created)), (4, self.legacy)]
                raise
            answer.fields = [(1, wire_format.dynamic_value(stored)), (4, self.legacy)]
        return answer.encoded()

    def settled(self, name: str, planned: Object, config: Object) -> Object:
        """The planned object with every unknown answered; identifiers last, since they are made of the rest."""
        block, facts = self.resources[name], self.facts[name]
        top = {**self.surroundings(), **{k: v for k, v in planned.items() if v is not None and v is not UNKNOWN}}
        # What is made again gets another address.
        top["generation"] = sum(each.action == "delete" and each.type == name for each in self.cloud.events)

        def answer(path: str, attribute: Attribute, element: Object) -> Value:
            if path == "object" and name == "kubernetes_manifest":
                return config.get("manifest")
            members = {**top, **known({"id": identity})}
            cty, optional = attribute_type(attribute), attribute.optional and self.legacy
            return computed(facts, path, cty, known(element), members, optional)

        identity: Value = planned.get("id")
        for member in ("location", "name"):
            if planned.get(member) is UNKNOWN:
                top[member] = computed(facts, member, "string", {}, top)
        done = planning.fill(
            block, {**planned, "id": identity} if "id" in planned else planned, config, answer, facts.left_empty
        )
        if planned.get("id") is UNKNOWN:
            identity = (
                render(facts.identity, (name,), {**self.surroundings(), **_set(done)}) if facts.identity else None
            )
            if identity is None:
                identity = computed(facts, "id", "string", known(done), {**top, **_set({**done, "id": None})})
            done = planning.fill(block, {**planned, "id": identity}, config, answer, facts.left_empty)
        return as_stored(block, facts, done, {**self.surroundings(), **_set(done)}) if self.legacy else done

    # --- data ----------------------------------------------------------------------------------------------------

    def read_data(self, request: Message) -> bytes:
        name = wire_format.text(request, 1)
        config = wire_format.dynamic(request, 2)
        with _diagnosed(2) as answer:
            cluster = ""
            if self.name != "google" and not self.cloud.lenient:
                cluster = self.cluster()
            state = read_data_source(self.cloud, name, self.data_sources[name], config, self.surroundings(), cluster)
            answer.fields = [(1, wire_format.dynamic_value(state))]
        return answer.encoded()

    def open_ephemeral(self, request: Message) -> bytes:
        """What an ephemeral resource answers: read like a data source, and written nowhere by Terraform."""
        name = wire_format.text(request, 1)
        config = wire_format.dynamic(request, 2)
        with _diagnosed(1) as answer:
            found = read_data_source(self.cloud, name, self.ephemeral[name], config, self.surroundings(), "")
            answer.fields = [(3, wire_format.dynamic_value(found))]
        return answer.encoded()

    # --- helpers -------------------------------------------------------------------------------------------------

    def surroundings(self) -> Object:
        """Project, region and zone of the provider block; the google provider would take them from the environment."""
        found = {key: self.config.get(key) for key in ("project", "region", "zone")}
        found["project"] = found["project"] or "simulated-project"
        return {key: value for key, value in found.items() if value is not None and value is not UNKNOWN}

    def predictor(self, name: str) -> planning.Predict:
        facts = self.facts[name]

        def predict(path: str, attribute: Attribute, config: Object) -> Value:
            if path == "effective_labels":
                return self.labels(config.get("labels", config.get("resource_labels")))
            if path in facts.unknown:
                return UNKNOWN
            if (name, path) == ("helm_release", "version"):
                return cluster_api.chart_version(self.cloud, config) or UNKNOWN
            if path in facts.predicted:
                text = render(facts.predicted[path], (name,), {**self.surroundings(), **known(_set(config))})
                return UNKNOWN if text is None else text
            if path in ("project", "region", "zone") and attribute.optional:
                return self.surroundings().get(path, UNKNOWN) if self.config.get(path) else UNKNOWN
            return UNKNOWN

        return predict

    def labels(self, own: Value) -> Value:
        defaults = self.config.get("default_labels")
        if own is UNKNOWN or defaults is UNKNOWN or UNKNOWN in (own or {}).values():
            return UNKNOWN
        mark = {} if self.config.get("add_terraform_attribution_label") is False else {planning.ATTRIBUTION: "true"}
        return {**mark, **(defaults or {}), **(own or {})}

    def cluster(self) -> str:
        """The id of the cluster that this provider is configured for. Raises Refused."""
        host = self.config.get("host")
        if self.name == "helm":
            inner = self.config.get("kubernetes")
            host = inner.get("host") if isinstance(inner, dict) else inner
        cluster = cluster_api.cluster_of(self.cloud, host, self.name)
        if self.cloud.cluster_says:
            raise Refused(self.cloud.cluster_says, f"so answers the Kubernetes API of {cluster.id}")
        return cluster.id

    @property
    def blind(self) -> bool:
        """helm 3.1.1 acts on "does not exist" before it looks at the error: to it a refusing API has no releases."""
        return self.name == "helm" and bool(self.cloud.cluster_says)

    def remote(self, name: str, state: Object) -> RemoteObject:
        facts: TypeFacts = self.facts[name]
        project = state.get("project") or self.surroundings()["project"]
        cluster = "" if self.name == "google" or self.cloud.lenient else self.cluster()
        if name == "kubernetes_manifest":
            # It has no id of its own: its manifest names it.
            body = state.get("manifest")
            inner = body[1] if isinstance(body, list) and len(body) == 2 and isinstance(body[1], dict) else {}
            meta = inner.get("metadata") or {}
            identity = f"{inner.get('kind')}/{meta.get('namespace')}/{meta.get('name')}"
            return RemoteObject(name, state, facts, project, cluster, identity)
        return RemoteObject(name, state, facts, project, cluster)

    def check(self, remote: RemoteObject) -> None:
        if self.name == "google":
            roce_network.check(self.cloud, remote)
        else:
            cluster_api.check(self.cloud, remote)


class _Answer:
    """A response under construction; diagnostics are added when a refusal ends it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.fields: list[Field] = []
        self.found: list[Diagnostic] = []

    def encoded(self) -> bytes:
        return message(*self.fields, *wire_format.diagnostics(self.number, self.found))


@contextmanager
def _diagnosed(number: int) -> Iterator[_Answer]:
    """Turn refusals, and our own mistakes, into diagnostics in field `number`."""
    answer = _Answer(number)
    try:
        yield answer
    except Refused as problem:
        answer.found.append(Diagnostic(problem.summary, problem.detail))
    except Exception:  # a handler that dies would look to Terraform like a crashed provider, without a word why
        answer.found.append(Diagnostic("the simulated provider failed (a bug)", traceback.format_exc()))


def _set(members: Object) -> Object:
    return {name: value for name, value in members.items() if value is not None}
