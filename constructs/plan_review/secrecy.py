"""Rules on secrets that a plan shows, or that Terraform keeps in its state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from findings import Severity
from findings.redaction import find_secrets, is_secret_literal, is_secret_name, looks_secret
from plan_review import helm_values, values
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import QUIET, Action, Change, Plan

#: Types whose very content is a secret that lands in the state; the argument, where it can be empty.
_KEPT = {
    "kubernetes_secret": ("data", "binary_data"),
    "kubernetes_secret_v1": ("data", "binary_data"),
    "google_secret_manager_secret_version": ("secret_data",),
    "google_sql_user": ("password",),
    "helm_release": ("set_sensitive", "repository_password"),
    "random_password": ("length",),
    "tls_private_key": ("algorithm",),
    "aws_iam_access_key": ("user",),
    "aws_secretsmanager_secret_version": ("secret_string",),
}

#: Ends of the names whose arguments are judged by name. Those of other secret names (`secret`, `credentials`,
#: `access_key`) mostly hold the name of a Secret or of a key in it, in Terraform and Kubernetes; in a profile's
#: overrides they hold values.
_HOLDS_VALUE = ("token", "password", "passwd", "api_key", "apikey")

#: Shorter texts hold none of the secrets that are recognised by their look.
_SHORTEST = 16


@plan_rule("secret-value", Severity.ERROR, Category.SECRET)
def secret_value(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A plan shows something that looks like a token, password or key: whoever reads plan or state has it.

    By its look (the issuers' own prefixes), or because it stands under a name such as HF_TOKEN or password. The value
    is never printed.

    Source: Terraform documentation, "Manage sensitive data in your configuration"; which prefixes and names mean a
    secret is groundplan's own list.

    Mend: a reference (an existing Secret, Secret Manager), or an ephemeral variable into a write-only argument; and
    revoke the value that was shown.
    """
    for plan in plans:
        for change in plan.changes:
            if change.action in QUIET or change.action is Action.DESTROY:
                continue
            for where, what in _shown(change):
                yield _breach(plan.stack, change.address, f"{change.address} shows {what} in {where}")
        for name, old, new in plan.outputs:
            if any(isinstance(v, str) and looks_secret(v) for _, v in values.leaves([old, new])):
                yield _breach(plan.stack, f"output.{name}", f"output {name} shows what looks like a secret")
        for name, value in plan.variables:
            given = isinstance(value, str) and bool(value) and is_secret_name(name)
            if given or any(isinstance(v, str) and looks_secret(v) for _, v in values.leaves(value)):
                yield _breach(plan.stack, f"var.{name}", f"variable {name} is shown, and is not declared sensitive")


def _breach(stack: str, address: str, message: str) -> Breach:
    return Breach(
        stack,
        address,
        message,
        "take it out (a reference, or an ephemeral variable into a write-only argument) and revoke it",
        "whoever reads the plan, its log or the state has it",
    )


def _shown(change: Change) -> Iterator[tuple[str, str]]:
    """(place, kind) of each secret in what will be."""
    said = set()
    for path, value in values.leaves(change.after):
        if not isinstance(value, str) or not value:
            continue
        name = next((str(step) for step in reversed(path) if isinstance(step, str)), "")
        kind = ""
        if len(value) >= _SHORTEST and looks_secret(value, values.dotted(path)):
            kind = f"a {find_secrets(value)[0][2]}" if find_secrets(value) else "a secret"
        elif _named(change, path, name, value):
            kind = "a value for a secret"
        where = values.dotted(path)
        if kind and (where, kind) not in said:
            said.add((where, kind))
            yield where, kind
    if change.type == "helm_release":
        for text in values.texts(change.after, "values"):
            for where in _in_chart(text):
                yield f"values.{where}", "a value for a secret"


def _named(change: Change, path: values.Path, name: str, value: str) -> bool:
    """A literal under the name of a secret, or as the value of a variable that has such a name."""
    if values.is_expression(value) or name == "secret" or change.type in _KEPT:
        return False
    if name == "value":
        pair = values.at(change.after, path[:-1])
        return isinstance(pair, dict) and is_secret_literal(str(pair.get("name", "")), value)
    return name.lower().endswith(_HOLDS_VALUE) and is_secret_literal(name, value)


def _in_chart(text: str) -> Iterator[str]:
    if not re.search(r"(?i)token|password|passwd|api_?key|secret_?key|access_?key", text):
        return
    for path, value in values.leaves(helm_values.parse(text)):
        pair = values.at(helm_values.parse(text), path[:-1])
        name = str(path[-1]) if path else ""
        if name == "value" and isinstance(pair, dict) and isinstance(value, str) and value:
            if is_secret_literal(str(pair.get("name", "")), value) and not looks_secret(value):
                yield values.dotted(path)
        elif isinstance(value, str) and name.lower().endswith(_HOLDS_VALUE) and is_secret_literal(name, value):
            yield values.dotted(path)


@plan_rule("secret-in-state", Severity.WARNING, Category.SECRET)
def secret_in_state(plans: Sequence[Plan]) -> Iterator[Breach]:
    """A value is hidden in the plan and yet kept in the state in plain text.

    `sensitive` hides from the display alone. Write-only arguments (`data_wo`, `secret_data_wo`, `set_wo`) are kept
    nowhere.

    Source: Terraform documentation, "Manage sensitive data in your configuration" and "Use temporary write-only
    arguments"; terraform-provider-helm#1464.

    Mend: the write-only argument with an ephemeral variable, or a reference.
    """
    for plan in plans:
        for change in plan.changes:
            if change.action in QUIET or change.action is Action.DESTROY:
                continue
            for argument in _KEPT.get(change.type, ()):
                value = values.get(change.after, argument)
                if value and value != values.get(change.before, argument):
                    yield Breach(
                        change.stack,
                        change.address,
                        f"{change.address} puts a secret into the state ({argument})",
                        "use the write-only argument (..._wo) with an ephemeral variable",
                        "whoever reads the state has it in plain text",
                    )
                    break
