"""Who gets what on what: IAM of Google Cloud, as members, bindings and whole policies; and keys of service accounts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from findings import Severity
from plan_review import values
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import Resource, Resources

#: Roles that may do nearly everything, wherever they are granted.
_BASIC = {"roles/owner": "may do everything", "roles/editor": "may change nearly everything"}

#: Roles that lead to others' rights.
_IMPERSONATE = frozenset(
    {"roles/iam.serviceAccountTokenCreator", "roles/iam.serviceAccountUser", "roles/iam.serviceAccountKeyAdmin"}
)
_PUBLIC = frozenset({"allUsers", "allAuthenticatedUsers"})
_IAM = re.compile(r"google_(.+)_iam_(member|binding|policy)$")
_GRANTED = ("member", "members", "policy_data", "role")
_WIDE = frozenset({"project", "folder", "organization"})

#: Arguments that name what a grant is on, in the order in which they are looked for.
_ON = (
    "bucket", "service_account_id", "secret_id", "dataset_id", "topic", "subscription", "repository", "crypto_key_id",
    "key_ring_id", "instance_name", "subnetwork", "service", "name", "folder", "org_id", "project",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Grant:
    """One member gets one role on something. `scope` is the kind of thing: project, bucket, service account ..."""

    resource: Resource
    member: str
    role: str
    scope: str
    on: str

    @property
    def text(self) -> str:
        return f"{self.member} gets {self.role} on {self.on}"

    @property
    def wide(self) -> bool:
        return self.scope in _WIDE


def grants(resources: Resources) -> list[Grant]:
    """Every grant, in the order of the plans."""
    return [grant for each in resources for grant in _of(each)]


def _of(resource: Resource) -> Iterator[Grant]:
    found = _IAM.fullmatch(resource.type)
    if not found:
        return
    scope = found[1].replace("_", " ").removeprefix("storage ").removeprefix("secret manager ")
    on = _on(resource, scope)
    if found[2] == "policy":
        for role, members in _policy(resource.get("policy_data")):
            yield from (Grant(resource, member, role, scope, on) for member in members)
        return
    members = resource.texts("members") if found[2] == "binding" else [resource.text("member") or "(not known yet)"]
    role = resource.text("role") or "(a role not known yet)"
    yield from (Grant(resource, member, role, scope, on) for member in members)


def _on(resource: Resource, scope: str) -> str:
    for argument in (scope.replace(" ", "_"), *_ON):
        name = resource.text(argument)
        if name:
            short = name if values.is_expression(name) else values.last_part(name)
            return f"{scope} {short}"
    kind = scope.replace(" ", "_")
    named = sorted(each for each in resource.refers if each.partition(".")[0].endswith(f"_{kind}"))
    return f"{scope} {named[0]}" if named else scope


def _policy(data: Any) -> Iterator[tuple[str, list[str]]]:
    try:
        document = json.loads(data) if isinstance(data, str) else None
    except ValueError:
        return
    for binding in values.blocks(document, "bindings"):
        yield values.text(binding, "role"), values.texts(binding, "members")


@plan_rule("iam-public", Severity.ERROR, Category.OPEN, on="resources")
def iam_public(resources: Resources) -> Iterator[Breach]:
    """Everyone gets a role: `allUsers` is the internet, `allAuthenticatedUsers` is anyone with a Google account.

    Source: IAM documentation, "Principal identifiers", allUsers and allAuthenticatedUsers.

    Mend: the members who need it.
    """
    for each in grants(resources):
        if each.member in _PUBLIC and each.scope != "bucket":
            yield Breach(
                each.resource.stack,
                each.resource.address,
                each.text,
                "name the members who need it",
                f"{_everyone(each.member)} can use it without being asked",
                arguments=_GRANTED,
            )


@plan_rule("bucket-public", Severity.ERROR, Category.OPEN, on="resources")
def bucket_public(resources: Resources) -> Iterator[Breach]:
    """A bucket can be read, or even written, by everyone.

    By a role for `allUsers` or `allAuthenticatedUsers`, by an access control entry, or by a predefined list.

    Source: Cloud Storage documentation, "Public access prevention" and "Access control lists".

    Mend: the members who need it, and `public_access_prevention = "enforced"`.
    """
    hint = 'name the members who need it, and set public_access_prevention = "enforced"'
    for grant in grants(resources):
        if grant.member in _PUBLIC and grant.scope == "bucket":
            yield Breach(
                grant.resource.stack,
                grant.resource.address,
                f"{grant.on} is public: {grant.member} gets {grant.role}",
                hint,
                f"{_everyone(grant.member)} can read what is in it"
                + (", and write to it" if re.search(r"(?i)admin|creator|writer|owner", grant.role) else ""),
                arguments=_GRANTED,
            )
    kinds = ("bucket", "default_object", "object")
    for each in resources.of(*(f"google_storage_{kind}_access_control" for kind in kinds)):
        if each.text("entity") in _PUBLIC:
            yield _acl(each, each.text("entity"), hint)
    for each in resources.of(*(f"google_storage_{kind}_acl" for kind in kinds)):
        entries = [*each.texts("role_entity"), each.text("predefined_acl")]
        public = [text for text in entries if text.partition(":")[2] in _PUBLIC or text.startswith("public")]
        if public:
            yield _acl(each, public[0], hint)
    for each in resources.of("aws_s3_bucket", "aws_s3_bucket_acl"):
        if each.text("acl").startswith("public"):
            yield _acl(each, each.text("acl"), "make it private, with a public access block")


def _acl(each: Resource, entry: str, hint: str) -> Breach:
    bucket = values.last_part(each.text("bucket")) or each.name
    message = f"bucket {bucket} is public: access control {entry}"
    return Breach(
        each.stack, each.address, message, hint, "anyone can read what is in it",
        arguments=("entity", "role_entity", "predefined_acl", "acl"),
    )  # fmt: skip


def _everyone(member: str) -> str:
    return "anyone on the internet" if member == "allUsers" else "anyone with a Google account"


@plan_rule("iam-broad", Severity.ERROR, Category.OPEN, on="resources")
def iam_broad(resources: Resources) -> Iterator[Breach]:
    """A role is granted that is broader than any site needs.

    `roles/owner` and `roles/editor` are errors. On a project, folder or organization, roles that administer, that read
    everything (`roles/viewer`), or that lead to the rights of others (acting as service accounts) are warnings.

    Source: IAM documentation, "Use IAM securely", least privilege (no basic roles in production), and "Best practices
    for using service accounts"; which roles are broad is groundplan's own list.

    Mend: the predefined role for the one thing that is needed, on the one resource.
    """
    for each in grants(resources):
        what, severity = _BASIC.get(each.role), Severity.ERROR
        if not what and each.wide:
            severity = Severity.WARNING
            if each.role in _IMPERSONATE:
                what = "may act with the rights of service accounts"
            elif re.search(r"(?i)admin$", each.role):
                what = "administers all of it"
            elif each.role == "roles/viewer":
                what = "may read nearly everything"
        if what:
            yield Breach(
                each.resource.stack,
                each.resource.address,
                each.text,
                "grant the predefined role for the one thing that is needed, on the one resource",
                f"it {what} in that {each.scope}; so may whoever gets hold of it",
                severity,
                arguments=_GRANTED,
            )


@plan_rule("iam-authoritative", Severity.WARNING, Category.DISTURB, on="resources")
def iam_authoritative(resources: Resources) -> Iterator[Breach]:
    """A whole policy, or all members of a role, are set: grants made elsewhere are taken away without being shown.

    Source: Terraform provider documentation, google_project_iam: `_policy` replaces any existing policy, `_binding` is
    authoritative for a role, `_member` leaves other members.

    Mend: `..._iam_member`, which adds one grant and leaves the others.
    """
    for each in resources:
        found = _IAM.fullmatch(each.type)
        if found and found[1] in _WIDE and found[2] != "member":
            what = "the whole policy" if found[2] == "policy" else f"all members of {each.text('role')}"
            yield Breach(
                each.stack,
                each.address,
                f"{what} of {_on(each, found[1])} is set here",
                f"use google_{found[1]}_iam_member",
                "whoever has such a grant from elsewhere loses it",
            )


@plan_rule("service-account-key", Severity.ERROR, Category.SECRET, on="resources")
def service_account_key(resources: Resources) -> Iterator[Breach]:
    """A key of a service account is made: a password that does not expire, kept in the state in plain text.

    Source: IAM documentation, "Best practices for managing service account keys"; Terraform provider documentation,
    google_service_account_key, `private_key`.

    Mend: Workload Identity in the cluster, impersonation or Workload Identity Federation elsewhere.
    """
    for each in resources.of("google_service_account_key"):
        account = each.text("service_account_id")
        owner = "a service account" if values.is_expression(account) or not account else values.last_part(account)
        yield Breach(
            each.stack,
            each.address,
            f"a key of {owner} is made",
            "use Workload Identity or impersonation instead",
            "it does not expire, and whoever reads the state has it",
        )
