"""What exists in a rehearsal: one cloud project and its clusters, in memory, shared by all stacks.

It refuses what the real one would refuse for reasons that lie in *our graph*: a network that is not there, a
service that is not enabled, a cluster that cannot be reached, a subnetwork that is still in use. It knows nothing of
quota, capacity or machine types; :mod:`staged_terraform.faults` plays those. Nothing sleeps: latencies are noted.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from staged_terraform import connections
from staged_terraform.computed_values import first, plain, values_at
from staged_terraform.cty_values import Value
from staged_terraform.facts import Facts, TypeFacts
from staged_terraform.remote_object import LEFT, Refused, RemoteObject, abandons, left_of

Object = dict[str, Any]

#: Google's own accounts that a project has once GKE's and Compute Engine's APIs are enabled.
_AGENTS = ("@container-engine-robot.iam.gserviceaccount.com", "@cloudservices.gserviceaccount.com")
Action = Literal["create", "update", "delete"]

__all__ = ["LEFT", "Action", "Event", "Interference", "Refused", "RemoteObject", "SimulatedCloud", "lookup"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that was done, with the time the cloud is assumed to take for it."""

    action: Action
    type: str
    id: str
    seconds: int


class Interference(Protocol):
    """A fault: it may refuse, change what is stored, or stop Terraform."""

    def before(self, action: Action, facts: TypeFacts, state: Object) -> None:
        """Raise Refused to refuse; nothing is created."""

    def after(self, action: Action, facts: TypeFacts, state: Object) -> Object:
        """What is really stored; raise Refused with `created` for a failure after the fact."""


@dataclass(slots=True)
class SimulatedCloud:
    """The simulated cloud. `outside` names what exists beyond the stacks rehearsed, as ``(type, name)``.

    `made_by_stacks` holds what the stacks will make: a data source for anything else is taken to exist outside.
    `promised` is what the stacks want of things outside, which are taken to be so.
    `projects` are those that the stacks' providers are for; of another one, such as the host project of a Shared VPC,
    a service that no stack enables is taken to be enabled, and noted. Empty: of no project.
    `folder` is where Terraform runs, for paths of local Helm charts. `cluster_says` is what the Kubernetes API answers
    to everything; it works when empty. `held_by_producers` are networks whose connection Google keeps a while.
    """

    facts: Facts = field(default_factory=Facts)
    outside: set[tuple[str, str]] = field(default_factory=set)
    absent: set[tuple[str, str]] = field(default_factory=set)
    made_by_stacks: set[tuple[str, str]] = field(default_factory=set)
    projects: frozenset[str] = frozenset()
    interference: list[Interference] = field(default_factory=list)
    objects: dict[tuple[str, str], RemoteObject] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    assumptions: set[str] = field(default_factory=set)
    promised: dict[tuple[str, str], Object] = field(default_factory=dict)
    folder: Path | None = None
    cluster_says: str = ""
    check_api: bool = True
    lenient: bool = False
    held_by_producers: set[str] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def create(self, remote: RemoteObject, check: Callable[[RemoteObject], None]) -> Object:
        """Add an object and return its state as the API stores it. Raises Refused."""
        with self.lock:
            self._interfere("create", remote)
            if not self.lenient:
                self._require_api(remote)
                self.require_references(remote)
                check(remote)
                self._require_free(remote)
            return self._store("create", remote)

    def update(self, remote: RemoteObject, check: Callable[[RemoteObject], None]) -> Object:
        """Replace an object's state. Raises Refused."""
        with self.lock:
            self._interfere("update", remote)
            if not self.lenient:
                if self.key(remote) not in self.objects:
                    raise Refused(f"Error 404: {remote.type} {remote.id} was not found, notFound")
                self._require_api(remote)
                self.require_references(remote)
                check(remote)
            return self._store("update", remote)

    def delete(self, remote: RemoteObject) -> None:
        """Remove an object; one that is gone already is fine. Raises Refused."""
        with self.lock:
            self._interfere("delete", remote)
            found = self.objects.get(self.key(remote))
            if found is None:
                return
            if not self.lenient:
                self._require_unprotected(remote)
                self._require_api(remote)
                self._require_unused(found)
                connections.require_unused(self, found)
            if abandons(remote):
                del self.objects[self.key(remote)]
                left = left_of(remote)
                self.objects[self.key(left)] = left
                self.events.append(Event("delete", remote.type, remote.id, 0))
                return
            if remote.type == "google_project_service" and remote.state.get("disable_on_destroy") is False:
                self.events.append(Event("delete", remote.type, remote.id, 0))
                return  # the service stays enabled
            del self.objects[self.key(remote)]
            self.held_by_producers |= connections.networks_behind(found)
            if remote.type == "google_container_cluster":
                for key in [k for k, each in self.objects.items() if each.cluster == remote.id]:
                    del self.objects[key]
            self.events.append(Event("delete", remote.type, remote.id, remote.facts.seconds[2]))

    def read(self, type_name: str, identity: str, cluster: str = "") -> Object | None:
        """The stored state, or None when it is gone."""
        with self.lock:
            found = self.objects.get((type_name, f"{cluster}#{identity}" if cluster else identity))
            return copy.deepcopy(found.state) if found else None

    def key(self, remote: RemoteObject) -> tuple[str, str]:
        return remote.type, f"{remote.cluster}#{remote.id}" if remote.cluster else remote.id

    def of_type(self, type_name: str, cluster: str = "") -> list[RemoteObject]:
        with self.lock:
            return [each for (name, _), each in self.objects.items() if name == type_name and each.cluster == cluster]

    def find(self, type_name: str, reference: str, cluster: str = "") -> RemoteObject | None:
        """The object that a name, id, partial path or self link means."""
        wanted = plain(reference)
        for remote in self.of_type(type_name, cluster):
            if wanted in remote.names or ("/" in wanted and remote.id.endswith("/" + wanted)):
                return remote
        return None

    def require_references(self, remote: RemoteObject) -> None:
        """Everything that the object refers to exists. Raises Refused."""
        for path, type_name in [*remote.facts.holds.items(), *remote.facts.needs.items()]:
            for value in values_at(remote.state, path):
                if not isinstance(value, str):
                    continue
                if type_name == "iam_member":
                    self._require_member(value, remote.project)
                elif not self.exists(type_name, value, remote.cluster):
                    raise Refused(
                        f"Error 404: The resource '{plain(value)}' was not found, notFound",
                        f"{remote.type}: {path} names a {type_name} that is not there (yet). Does it come later, "
                        "or is the reference a literal that gives Terraform no order?",
                    )
        connections.require_connection(self, remote)

    def exists(self, type_name: str, reference: str, cluster: str = "") -> bool:
        """In the cloud, declared as outside, or of a type that stacks use without making it (then noted)."""
        base = plain(reference).rpartition("/")[2]
        if (type_name, base) in self.absent or (type_name, "*") in self.absent:
            return False
        if self.find(type_name, reference, cluster) or (type_name, base) in self.outside:
            return True
        if type_name == "google_container_cluster" and self._cluster_path(reference):
            return True
        if type_name in self.facts.assumed:
            self.assumptions.add(f"{type_name} {plain(reference)} exists")
            return True
        return False

    def _cluster_path(self, reference: str) -> bool:
        return any(each.id.endswith("/" + plain(reference)) for each in self.of_type("google_container_cluster"))

    def _require_member(self, member: str, project: str) -> None:
        if ".svc.id.goog" in member:
            pool = member.partition(".svc.id.goog")[0].rpartition("/")[2].rpartition(":")[2] + ".svc.id.goog"
            pools = [
                value
                for cluster in self.of_type("google_container_cluster")
                for value in values_at(cluster.state, "workload_identity_config.workload_pool")
            ]
            if pool not in pools:
                raise Refused(
                    f"Error 400: Identity Pool does not exist ({pool}). Please check that you specified a valid "
                    "resource name as returned in the name attribute in the configuration API., badRequest",
                    "The pool comes with the first cluster that has Workload Identity: the cluster must be made first.",
                )
            return
        email = member.removeprefix("serviceAccount:")
        account, _, domain = email.partition("@")
        ours = domain == f"{project}.iam.gserviceaccount.com" or (
            domain.endswith(".iam.gserviceaccount.com") and ("google_service_account", account) in self.made_by_stacks
        )
        is_account = member.startswith("serviceAccount:") or ":" not in member
        if is_account and ours and not self.exists("google_service_account", email):
            raise Refused(f"Error 400: Service account {email} does not exist., badRequest")
        if email.endswith(_AGENTS) and not self.of_type("google_container_cluster"):
            self.assumptions.add(f"{email} exists: its project's APIs were enabled before")

    def _require_api(self, remote: RemoteObject) -> None:
        service, project = remote.facts.api, remote.project
        if not self.check_api or not service or service in self.facts.always_enabled:
            return
        of_project = [s for s in self.of_type("google_project_service") if s.state.get("project") in (project, None)]
        if any(each.state.get("service") == service for each in of_project):
            return
        if self.projects and project not in self.projects and not of_project:
            self.assumptions.add(f"{service} is enabled in project {project}")
            return
        raise Refused(
            f"Error 403: {service} has not been used in project {project} before or it is disabled., "
            "accessNotConfigured",
            f"{remote.type} needs {service}: a depends_on on the google_project_service that enables it, "
            "or a stack before this one that does.",
        )

    def _require_free(self, remote: RemoteObject) -> None:
        if remote.type == "helm_release" and self.key(remote) in self.objects:
            name, namespace = remote.state.get("name"), remote.state.get("namespace")
            raise Refused(
                "installation failed: cannot re-use a name that is still in use",
                f"a failed or interrupted install holds it: helm uninstall {name} --namespace {namespace}",
            )
        if remote.type != "google_project_service" and self.key(remote) in self.objects:
            raise Refused(
                f"Error 409: The resource '{remote.id}' already exists, alreadyExists",
                f"It is in the cloud and not in this state: terraform import it with the id {remote.id}",
            )

    def _require_unprotected(self, remote: RemoteObject) -> None:
        if remote.state.get("deletion_protection") is True:
            raise Refused(
                f"Cannot destroy {remote.type} {remote.id}: deletion_protection is set to true",
                "Set deletion_protection to false, apply, then destroy.",
            )

    def _require_unused(self, remote: RemoteObject) -> None:
        for other in self.objects.values():
            for path, type_name in other.facts.holds.items():
                if type_name != remote.type or not any(
                    self.find(type_name, value, other.cluster) is remote for value in values_at(other.state, path)
                ):
                    continue
                if remote.cluster:
                    raise Refused(
                        f"timeout while waiting for {remote.type} {remote.id} to be deleted",
                        f"it is in use by {other.type} {other.id} (a finalizer holds it until that is gone): "
                        "replace both together, with replace_triggered_by",
                    )
                raise Refused(
                    f"Error 400: The {remote.type.removeprefix('google_compute_')} resource '{remote.id}' is already "
                    f"being used by '{other.id}', resourceInUseByAnotherResource"
                )

    def uninstall(self, name: str, namespace: str) -> None:
        """``helm uninstall``, by hand."""
        with self.lock:
            for each in list(self.objects.values()):
                named = (each.state.get("name"), each.state.get("namespace"))
                if each.type == "helm_release" and named == (name, namespace):
                    del self.objects[self.key(each)]

    def _interfere(self, action: Action, remote: RemoteObject) -> None:
        for each in self.interference:
            each.before(action, remote.facts, remote.state)

    def _store(self, action: Action, remote: RemoteObject) -> Object:
        refused: Refused | None = None
        answered = remote.state
        for each in self.interference:
            try:
                remote.state = each.after(action, remote.facts, remote.state)
            except Refused as problem:
                refused = problem
        self.objects[self.key(remote)] = RemoteObject(
            remote.type, copy.deepcopy(remote.state), remote.facts, remote.project, remote.cluster, remote.identity
        )
        self.events.append(Event(action, remote.type, remote.id, remote.facts.seconds[0 if action == "create" else 1]))
        if refused:
            raise Refused(refused.summary, refused.detail, created=copy.deepcopy(answered) if refused.created else None)
        return copy.deepcopy(answered)

    def cluster_at(self, host: str) -> RemoteObject | None:
        """The cluster whose control plane answers at this host (address or DNS name)."""
        wanted = host.partition("://")[2] or host
        wanted = wanted.partition("/")[0].partition(":")[0]
        for cluster in self.of_type("google_container_cluster"):
            dns = first(cluster.state, "control_plane_endpoints_config.dns_endpoint_config.endpoint")
            private = first(cluster.state, "private_cluster_config.private_endpoint")
            if wanted and wanted in (cluster.state.get("endpoint"), dns, private):
                return cluster
        return None


def lookup(cloud: SimulatedCloud, type_name: str, config: Object) -> Value:
    """The state that a data source of this type means, or None."""
    for key in ("self_link", "name", "instance_id", "secret_id", "account_id", "service"):
        value = config.get(key)
        if isinstance(value, str) and (found := cloud.find(type_name, value)):
            return copy.deepcopy(found.state)
    return None
