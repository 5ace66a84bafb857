"""Faults that a rehearsal can play, by name: what the cloud or an operator does to an apply.

Each hits one resource type once and is then spent, which is the mend: the cause is gone and the operator applies again.
The texts are ours, in the manner of the providers: they prove the order of things and the state handling, not how
Google words or times its refusals.
"""

from __future__ import annotations

import copy
import fcntl
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from staged_terraform.facts import TypeFacts
from staged_terraform.simulated_cloud import Action, Refused, SimulatedCloud
from staged_terraform.terraform import stop

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fault: what it is, the type it hits unless told, and whether it shows only after the apply.

    `cluster_says` is what the Kubernetes API answers to everything once the stack is applied.
    """

    name: str
    summary: str
    default_type: str
    advice: str
    after_apply: bool = False
    cluster_says: str = ""


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "quota",
            "the project's quota refuses the creation",
            "google_container_node_pool",
            "raise the quota, then apply again: nothing was created",
        ),
        Kind(
            "stock-out",
            "the zone has no capacity left",
            "google_container_node_pool",
            "apply again when capacity is there, or choose another zone",
        ),
        Kind(
            "reservation-not-found",
            "the reservation is not in this project and zone",
            "google_container_node_pool",
            "correct the reservation's name or share it with the project, then apply again",
        ),
        Kind(
            "timeout",
            "the creation timed out, although the object was made",
            "google_container_cluster",
            "it is tainted and would be deleted and made anew; if it is well, or protected: terraform untaint ADDRESS",
        ),
        Kind(
            "api-disabled",
            "the service answers that it is not enabled",
            "google_lustre_instance",
            "enable the service, wait a few minutes, apply again",
        ),
        Kind(
            "drift",
            "somebody changed a setting by hand",
            "google_compute_subnetwork",
            "the next apply puts it back; take the change into the profile if it was meant",
            after_apply=True,
        ),
        Kind(
            "normalise",
            "the API stores a value otherwise than it was sent",
            "google_compute_network",
            "a plan that is never empty: write the value as the API stores it",
            after_apply=True,
        ),
        Kind(
            "interrupt",
            "Ctrl-C (SIGINT) during the apply",
            "google_compute_network",
            "apply again: the state is whole and the lock is released",
        ),
        Kind(
            "kill",
            "Terraform dies (SIGKILL) during the apply",
            "google_compute_network",
            "what was being made is orphaned: terraform import ADDRESS ID, then apply again",
        ),
        *(
            Kind(
                name,
                f"the Kubernetes API answers a refresh with {what}",
                "helm_release",
                "mend the access to the API; what the state has lost: terraform import ADDRESS NAMESPACE/NAME",
                after_apply=True,
                cluster_says=says,
            )
            for name, what, says in (
                ("api-401", "401", "Unauthorized"),
                ("api-503", "503", "the server is currently unable to handle the request"),
                ("api-reset", "a reset of the connection", "read tcp: read: connection reset by peer"),
            )
        ),
        Kind(
            "failed-install",
            "a chart's first install fails",
            "helm_release",
            "with atomic: apply again; without, the failed release keeps its name: helm uninstall it, then apply",
        ),
        Kind(
            "lock",
            "a lock was left behind, or somebody else is applying",
            "",
            "make sure that nobody is applying, then terraform force-unlock LOCK_ID",
        ),
    )
}


#: As the type of a fault: one of each type that is made.
EACH = "each"


@dataclass(slots=True)
class Fault:
    """A fault to play: `type_pattern` is a resource type, the start of one (``google_compute_``), or ``each``.

    It hits once and is spent; with ``each`` it hits every type of every stack, the first object of each.
    """

    kind: Kind
    type_pattern: str
    armed: bool = True
    hits: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, text: str) -> Fault:
        """``quota`` or ``quota:google_container_node_pool``. Raises ValueError with the kinds there are."""
        name, _, pattern = text.partition(":")
        if name not in KINDS:
            raise ValueError(f"unknown fault {name!r}; there are {', '.join(KINDS)}")
        return cls(KINDS[name], pattern or KINDS[name].default_type)

    def matches(self, type_name: str) -> bool:
        if not self.armed:
            return False
        if self.each:
            return type_name not in self.hits
        return not self.hits and type_name.startswith(self.type_pattern)

    @property
    def each(self) -> bool:
        return self.type_pattern == EACH

    def before(self, action: Action, facts: TypeFacts, state: Object) -> None:
        if action != "create" or not self.matches(facts.name):
            return
        if self.kind.name == "failed-install" and state.get("atomic") is True:
            self._hit(facts, state)
            raise Refused("installation failed: context deadline exceeded", "atomic: what was installed is gone again")
        refusal = _REFUSALS.get(self.kind.name)
        if refusal is not None:
            self._hit(facts, state)
            raise refusal(facts, state)

    def after(self, action: Action, facts: TypeFacts, state: Object) -> Object:
        if action != "create" or not self.matches(facts.name):
            return state
        if self.kind.name == "timeout":
            self._hit(facts, state)
            raise Refused(
                f"Error waiting for creating {state.get('id')}: timeout while waiting for state", created=state
            )
        if self.kind.name == "failed-install":
            self._hit(facts, state)
            raise Refused("installation failed: context deadline exceeded", "the release is left as failed")
        if self.kind.name == "normalise" and (path := _in_place(facts, state)):
            self._hit(facts, state)
            changed = copy.deepcopy(state)
            changed[path] = _altered(changed[path], "as stored")
            return changed
        if self.kind.name in ("interrupt", "kill") and self.process is not None:
            self._hit(facts, state)
            stop(self.process, hard=self.kind.name == "kill")
            if self.kind.name == "kill":
                self.process.wait(10)  # the answer must not reach it
        return state

    def _hit(self, facts: TypeFacts, state: Object) -> None:
        self.hits[facts.name] = str(state.get("id") or state.get("name") or "")


def _quota(facts: TypeFacts, state: Object) -> Refused:
    return Refused(f"Error 403: Quota exceeded for {facts.name} in project {state.get('project')}., quotaExceeded")


def _stock_out(facts: TypeFacts, state: Object) -> Refused:
    where = state.get("location") or state.get("zone") or state.get("region")
    return Refused(f"Error 503: ZONE_RESOURCE_POOL_EXHAUSTED: {where} does not have enough resources available")


def _no_reservation(facts: TypeFacts, state: Object) -> Refused:
    return Refused("Error 404: The reservation was not found in this project and zone., notFound")


def _disabled(facts: TypeFacts, state: Object) -> Refused:
    return Refused(
        f"Error 403: {facts.api or facts.name} has not been used in project {state.get('project')} before or it is "
        "disabled., accessNotConfigured"
    )


_REFUSALS: dict[str, Callable[[TypeFacts, Object], Refused]] = {
    "quota": _quota,
    "stock-out": _stock_out,
    "reservation-not-found": _no_reservation,
    "api-disabled": _disabled,
}


def _in_place(facts: TypeFacts, state: Object) -> str | None:
    """An argument that is not computed and is changed in place, so that a difference shows and replaces nothing."""
    for path in ("description", "display_name", "private_ip_google_access", "labels", *sorted(facts.defaults)):
        value = state.get(path)
        if path not in facts.force_new and path not in _LEFT_ALONE and (value or isinstance(value, bool)):
            return path
    return None


#: Changing these would change what the rehearsal does next.
_LEFT_ALONE = ("deletion_protection", "disable_on_destroy", "force_destroy", "wait", "timeout")


def _altered(value: Any, note: str) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, dict):
        return {name: _altered(each, note) for name, each in value.items()}
    return f"{value} ({note})"


def drift(cloud: SimulatedCloud, type_pattern: str) -> dict[str, str]:
    """Change one in-place argument of the first matching object behind Terraform's back; its type and id, if any fits.

    With ``each``, of the first object of every type.
    """
    hit: dict[str, str] = {}
    for (name, _), remote in sorted(cloud.objects.items(), key=lambda pair: pair[0]):
        wanted = name not in hit if type_pattern == EACH else not hit and name.startswith(type_pattern)
        if wanted and (path := _in_place(remote.facts, remote.state)):
            remote.state[path] = _altered(remote.state[path], "changed by hand")
            hit[name] = remote.id
    return hit


@contextmanager
def held_lock(folder: Path) -> Iterator[None]:
    """Hold the state's lock as another Terraform would: the local backend takes a POSIX lock on the state file."""
    state = folder / "rehearsal.tfstate"
    note = folder / ".rehearsal.tfstate.lock.info"
    with state.open("a+b") as handle:
        fcntl.lockf(handle, fcntl.LOCK_EX)
        held = {
            "ID": "00000000-0000-0000-0000-000000000000",
            "Operation": "OperationTypeApply",
            "Who": "another operator",
        }
        note.write_text(json.dumps({**held, "Version": "", "Created": "2026-01-01T00:00:00Z", "Path": state.name}))
        try:
            yield
        finally:
            note.unlink(missing_ok=True)
            fcntl.lockf(handle, fcntl.LOCK_UN)
    if state.exists() and state.stat().st_size == 0:
        state.unlink()


_EXISTS = re.compile(r"The resource '([^']*)' already exists")


_HELD_NAME = re.compile(r"helm uninstall (\S+) --namespace (\S+)")


def held_name(detail: str) -> tuple[str, str] | None:
    """(name, namespace) of a release that holds its name although no state has it."""
    found = _HELD_NAME.search(detail)
    return (found[1], found[2]) if found else None


def orphan(summary: str) -> str | None:
    """The id in a 409, which `terraform import` needs."""
    found = _EXISTS.search(summary)
    return found[1] if found else None
