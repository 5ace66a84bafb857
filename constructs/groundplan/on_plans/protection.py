"""Rules on guards that are taken away: deletion protection, retention, versions, and what keeps nodes honest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from findings import Severity
from groundplan.kernel.protection import is_prod, is_unprotected
from plan_review import display, values
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.losses import loss
from plan_review.model import Action, Change, Plan, Resources, updates


@dataclass(frozen=True, slots=True)
class Guard:
    """An argument that protects. `lifted` compares its values before and after; `risk` is what then can happen."""

    path: str
    lifted: Callable[[Any, Any], bool]
    risk: str
    types: tuple[str, ...] = ()


def _off(old: Any, new: Any) -> bool:
    return _true(old) and new in (False, "false")


def _on(old: Any, new: Any) -> bool:
    return _true(new) and not _true(old)


def _true(value: Any) -> bool:
    return value in (True, "true")


def _less(old: Any, new: Any) -> bool:
    was, becomes = values.number(old), values.number(new)
    return was is not None and was > (becomes or 0)


def _from(word: str) -> Callable[[Any, Any], bool]:
    return lambda old, new: old == word and new not in (word, None)


_BUCKET = ("google_storage_bucket",)
_POOLS = ("google_container_node_pool", "google_container_cluster")
_VOLUMES = ("kubernetes_persistent_volume_v1", "kubernetes_persistent_volume")

GUARDS = (
    Guard("deletion_protection", _off, "Terraform may destroy it with the next plan"),
    Guard("deletion_protection_enabled", _off, "it may be destroyed with the next plan"),
    Guard("lifecycle.prevent_destroy", lambda old, new: _true(old) and not _true(new), "Terraform may destroy it"),
    Guard("force_destroy", _on, "destroying the bucket deletes its objects too", _BUCKET),
    Guard("versioning.enabled", _off, "overwritten and deleted objects cannot be had back", _BUCKET),
    Guard("retention_policy.retention_period", _less, "objects may be deleted earlier", _BUCKET),
    Guard("soft_delete_policy.retention_duration_seconds", _less, "deleted objects are gone earlier", _BUCKET),
    Guard("uniform_bucket_level_access", _off, "single objects can be made public", _BUCKET),
    Guard("public_access_prevention", _from("enforced"), "the bucket can be made public", _BUCKET),
    Guard("enable_shielded_nodes", _off, "nodes start without verified boot", _POOLS),
    Guard("node_config.shielded_instance_config.enable_secure_boot", _off, "unsigned kernel code can run", _POOLS),
    Guard(
        "node_config.workload_metadata_config.mode", _from("GKE_METADATA"), "pods get the rights of the node", _POOLS
    ),
    Guard("spec.persistent_volume_reclaim_policy", _from("Retain"), "data goes with the claim", _VOLUMES),
    Guard("disable_on_destroy", _on, "destroying it disables the API for the project", ("google_project_service",)),
)


@plan_rule("protection-removed", Severity.WARNING, Category.UNPROTECT)
def protection_removed(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A guard against loss is taken away: deletion protection, prevent_destroy, versions, retention, Secure Boot ...

    Source: Terraform documentation, the `lifecycle` block, `prevent_destroy`; Terraform provider documentation, each
    guard under its argument, such as `deletion_protection` of google_container_cluster.

    Mend: leave it on; or take it away, do what needs it, and put it back.
    """
    for plan in plans:
        for change in plan.changes:
            for guard in GUARDS:
                # Terraform's own guard changes nothing that exists: two outputs show it where a plan does not.
                acts = (Action.UPDATE, Action.REPLACE, *([Action.NONE] if guard.path.startswith("lifecycle.") else []))
                if change.action not in acts:
                    continue
                if guard.types and change.type not in guard.types:
                    continue
                old, new = values.get(change.before, guard.path), values.get(change.after, guard.path)
                if old != new and not values.unknown_at(change.unknown, guard.path) and guard.lifted(old, new):
                    yield _breach(change, guard, old, new)


@plan_rule("guarded", Severity.ERROR, Category.REFUSED)
def guarded(plans: Sequence[Plan]) -> Iterator[Breach]:
    """Something guarded is to be replaced or destroyed: Terraform or the provider refuses, so this cannot be applied.

    `prevent_destroy` fails the plan of a replacement. It goes with its resource: one that is no longer configured is
    destroyed all the same. `deletion_protection` fails the apply, after other resources may have gone; only an apply
    that turns it off before lifts it, since the state counts.

    Source: Terraform documentation, the `lifecycle` block, `prevent_destroy`; google provider 6.50.0 and 7.45.0,
    resource_container_cluster.go, Delete.

    Mend: undo what forces it; or lift the guard first: `prevent_destroy: false`, and for a cluster
    `cluster.deletion_protection: false` and an apply of it alone; then make the change.
    """
    for plan in plans:
        for change in plan.changes:
            if change.action not in (Action.REPLACE, Action.DESTROY):
                continue
            verb = "replaced" if change.action is Action.REPLACE else "destroyed"
            noun = loss(change).noun
            if change.action is Action.REPLACE and values.flag(change.after, "lifecycle.prevent_destroy"):
                yield Breach(
                    change.stack,
                    change.address,
                    f"{noun} is to be {verb}, and prevent_destroy refuses it",
                    "undo what forces it, or set `prevent_destroy: false` in the profile for this change",
                    'the plan fails ("Instance cannot be destroyed"), and nothing of its stack is changed',
                )
            for path in _held(change):
                own = change.type == "google_container_cluster"
                mend = "`cluster.deletion_protection: false`" if own else f"{path} lifted"
                yield Breach(
                    change.stack,
                    change.address,
                    f"{noun} is to be {verb}, and {path} refuses it",
                    f"undo what forces it, or apply {mend} alone first",
                    "the apply stops half-way, when it comes to it; what was destroyed before stays destroyed",
                )


#: Guards that refuse a destruction while the state says so.
_REFUSE = ("deletion_protection", "deletion_protection_enabled", "enable_deletion_protection",
           "disable_api_termination", "termination_protection")  # fmt: skip


def _held(change: Change) -> Iterator[str]:
    """The guards in the state by which the apply fails."""
    yield from (path for path in _REFUSE if values.flag(change.before, path))
    if values.text(change.before, "deletion_policy") == "PREVENT":
        yield "deletion_policy PREVENT"


def _breach(change: Change, guard: Guard, old: Any, new: Any) -> Breach:
    becomes = display.show(new) if new is not None else "not set"
    return Breach(
        change.stack,
        change.address,
        f"{loss(change).noun} loses a guard: {guard.path} {display.show(old)} -> {becomes}",
        "leave it on, or put it back after what needs it",
        guard.risk,
        arguments=(guard.path,),
    )


def says_prod(labels: Any) -> bool:
    """Whether labels say `environment: prod`, as those of all that a prod site has."""
    return is_prod(_environment(labels))


def _environment(labels: Any) -> str:
    return str(labels.get("environment") or "") if isinstance(labels, dict) else ""


@plan_rule("deletion-unprotected", Severity.WARNING, Category.UNPROTECT, on="resources")
def deletion_unprotected(resources: Resources) -> Iterator[Breach]:
    """A cluster of a prod site (label `environment: prod`) stands without deletion protection.

    Source: Terraform provider documentation, google_container_cluster, `deletion_protection`.

    Mend: leave `cluster.deletion_protection` out.
    """
    for each in resources.of("google_container_cluster"):
        if is_unprotected(_environment(each.get("resource_labels")), each.flag("deletion_protection")):
            yield Breach(
                each.stack,
                each.address,
                f"the prod cluster {each.name} has no deletion protection",
                "leave `cluster.deletion_protection` out",
                "one wrong plan can destroy it",
            )


@plan_rule("maintenance-guard", Severity.WARNING, Category.UNPROTECT)
def maintenance_guard(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A maintenance exclusion or window is taken away: GKE may upgrade, and drain nodes, at times it could not before.

    Source: GKE documentation, "Maintenance windows and exclusions".

    Mend: end the run that it covers first.
    """
    for change in updates(plans, "google_container_cluster"):
        was, becomes = _exclusions(change.before), _exclusions(change.after)
        gone = sorted(was - becomes)
        window = [bool(_window(side)) for side in (change.before, change.after)]
        if gone or window == [True, False]:
            what = f"maintenance exclusion {display.listed(gone)}" if gone else "the maintenance window"
            yield Breach(
                change.stack,
                change.address,
                f"cluster {change.label} loses {what}",
                "keep it until the run that it covers has ended",
                "GKE may drain nodes for upgrades while a job runs",
                arguments=("maintenance_policy",),
            )


def _exclusions(side: dict[str, Any]) -> set[str]:
    found = values.blocks(side, "maintenance_policy.maintenance_exclusion")
    return {values.text(each, "exclusion_name") for each in found}


def _window(side: dict[str, Any]) -> list[dict[str, Any]]:
    kinds = ("recurring_window", "daily_maintenance_window")
    return [block for kind in kinds for block in values.blocks(side, f"maintenance_policy.{kind}")]
