"""Rules of your own on plans: a Python file, or an installed package.

::

    from plan_review.policy import Resources, Severity, breach, policy

    @policy("team-label", Severity.ERROR)
    def team_label(resources: Resources):
        \"\"\"Every bucket carries the label `team`.\"\"\"
        for bucket in resources.of("google_storage_bucket"):
            if "team" not in bucket.get("labels", {}):
                yield breach(bucket, f"bucket {bucket.name} has no label team", "add it to `labels`")

A policy runs over all resources as they will be, and once more as they are, so that the report tells what a plan brings
from what was so before.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from findings import Severity, UserError
from plan_review.judgement import Breach, Category, Check, On, PlanRule, new_rule, plan_rules
from plan_review.model import Change, Plan, Resource, Resources

__all__ = ["Breach", "Category", "Change", "Plan", "Resource", "Resources", "Severity", "breach", "policy"]

#: Entry points of this group are modules that hold policies, or single policies.
GROUP = "groundplan.policies"

_MARK = "__groundplan_policy__"


def policy(
    slug: str,
    severity: Severity = Severity.ERROR,
    category: Category = Category.POLICY,
    on: On = "resources",
) -> Any:
    """Make a function a policy under `slug`. Its docstring is shown in SARIF. `on="changes"` gives it the plans."""

    def mark(check: Check) -> Check:
        if not re.fullmatch(r"[a-z][a-z0-9-]*", slug):
            raise UserError(f"policy {slug}: a slug is lower-case letters, digits and hyphens")
        setattr(check, _MARK, new_rule(slug, severity, category, check, on))
        return check

    return mark


def breach(resource: Resource, message: str, hint: str = "", consequence: str = "") -> Breach:
    """What a policy yields for a resource."""
    return Breach(resource.stack, resource.address, message, hint, consequence)


def load_policies(files: Iterable[Path] = (), *, entry_points: bool = True) -> tuple[PlanRule, ...]:
    """The policies of installed packages and of files. Raises UserError, one line, on one that cannot be used."""
    found: list[PlanRule] = []
    if entry_points:
        for point in sorted(importlib.metadata.entry_points(group=GROUP), key=lambda each: each.name):
            try:
                found += _of(point.load(), f"entry point {point.name}")
            except UserError:
                raise
            except Exception as error:
                raise UserError(f"policies of entry point {point.name}: {_said(error)}") from error
    for file in files:
        found += _of(_module(file), str(file))
    slugs = set(plan_rules())
    for rule in found:
        if rule.slug in slugs:
            raise UserError(f"policy {rule.slug} exists already; give it another name")
        slugs.add(rule.slug)
    return tuple(replace(rule, check=_guarded(rule)) for rule in found)


def _module(file: Path) -> types.ModuleType:
    name = f"groundplan_policy_{re.sub(r'[^a-zA-Z0-9]', '_', file.stem)}"
    spec = importlib.util.spec_from_file_location(name, file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise UserError(f"policy file {file} is not there, or no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses in it need this
    try:
        spec.loader.exec_module(module)
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(f"policy file {file}: {_said(error)}") from error
    return module


def _of(thing: Any, where: str) -> list[PlanRule]:
    members = vars(thing).values() if isinstance(thing, types.ModuleType) else [thing]
    found = [rule for each in members if isinstance(rule := getattr(each, _MARK, None), PlanRule)]
    if not found:
        raise UserError(f"{where} holds no policies; mark functions with @policy(...)")
    return found


def _guarded(rule: PlanRule) -> Check:
    """The check, with whatever goes wrong in it told as the policy's own fault."""

    def check(subject: Any) -> Iterator[Breach]:
        try:
            for found in rule.check(subject) or ():
                if not isinstance(found, Breach):
                    raise TypeError(f"it yielded {type(found).__name__}; yield breach(resource, message)")
                yield found
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"policy {rule.slug} failed: {_said(error)}") from error

    check.__doc__ = rule.check.__doc__
    return check


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
