"""`groundplan bootstrap`: nothing but what its page says, no key, and it rehearses clean."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from findings import UserError
from groundplan.emit.bootstrap_values import PLANNER_ROLES, ROLES, bootstrap_of
from groundplan.emit.rehearsal import rehearse
from sites import ROOT, SMALL, run, site_of
from staged_terraform import Options

GCS = SMALL + "backend: {gcs: {bucket: my-states}}\n"
CLOUD = SMALL + "backend: {cloud: {organization: acme, project: rl-sites}}\n"


def written(text: str, folder: Path, *options: str) -> dict[str, Any]:
    (folder / "p.yaml").write_text(text)
    # A process of its own: Node gets its modules once, and here perhaps those of a site already.
    done = run("bootstrap", "p.yaml", "-o", "out", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    loaded: dict[str, Any] = json.loads((folder / "out/stacks/nemo-rl-bootstrap/cdk.tf.json").read_text("utf-8"))
    return loaded


def test_github_and_a_bucket(terraform: None, tmp_path: Path) -> None:
    stack = written(GCS, tmp_path, "--github", "acme/my-site", "--kubectl", "user:ada@example.com")
    resources = stack["resource"]
    assert "google_service_account_key" not in resources
    bucket = resources["google_storage_bucket"]["states"]
    assert bucket["name"] == "my-states"
    assert bucket["versioning"] == {"enabled": True}
    assert bucket["uniform_bucket_level_access"] is True
    assert bucket["lifecycle"] == {"prevent_destroy": True}
    provider = resources["google_iam_workload_identity_pool_provider"]["issuer"]
    assert provider["attribute_condition"] == "assertion.repository == 'acme/my-site'"
    callers = {name: each["member"] for name, each in resources["google_service_account_iam_member"].items()}
    assert callers["planner-caller"].endswith("/attribute.repository/acme/my-site")
    assert callers["deployer-caller"].startswith("principal://")
    assert callers["deployer-caller"].endswith("/subject/repo:acme/my-site:environment:apply")
    given = {(each["role"], each["member"]) for each in resources["google_project_iam_member"].values()}
    assert ("roles/container.developer", "user:ada@example.com") in given
    planner = {role for role, member in given if "planner" in member}
    assert planner == {*PLANNER_ROLES, "${google_project_iam_custom_role.reads-releases.name}"}
    report = rehearse(tmp_path / "out", Options())
    assert report.ok
    assert all(each.empty_replan for each in report.stacks)


def test_terraform_cloud(tmp_path: Path) -> None:
    resources = written(CLOUD, tmp_path)["resource"]
    assert "google_storage_bucket" not in resources
    provider = resources["google_iam_workload_identity_pool_provider"]["issuer"]
    assert provider["oidc"] == {"issuer_uri": "https://app.terraform.io"}
    start = "organization:acme:project:rl-sites:workspace:nemo-rl-"
    assert provider["attribute_condition"] == f"assertion.sub.startsWith('{start}')"
    callers = {name: each["member"] for name, each in resources["google_service_account_iam_member"].items()}
    assert callers["planner-caller"].endswith("/attribute.terraform_run_phase/plan")
    assert callers["deployer-caller"].endswith("/attribute.terraform_run_phase/apply")


def test_roles_follow_what_the_stacks_hold() -> None:
    small = bootstrap_of(site_of(GCS)).deployer_roles
    assert "roles/storage.admin" not in small
    assert "roles/servicenetworking.networksAdmin" in small
    with_bucket = GCS + "storage: {buckets: [{name: my-project-data}]}\n"
    assert "roles/storage.admin" in bootstrap_of(site_of(with_bucket)).deployer_roles
    there = "cluster: {service_accounts: {nodes_exists: true, workload_exists: true}}\n"
    assert "roles/resourcemanager.projectIamAdmin" not in bootstrap_of(site_of(GCS + there)).deployer_roles
    page = (ROOT / "docs" / "bootstrap.md").read_text("utf-8")
    assert set(re.findall(r"`(roles/[\w.]+)`", page.partition("## The deployer's roles")[2])) == set(ROLES.values())


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (GCS, {"github": "acme"}, "write OWNER/REPOSITORY"),
        (GCS, {"people": ("ada@example.com",)}, "write user:NAME@DOMAIN"),
        (CLOUD, {"github": "acme/my-site"}, "Terraform Cloud's"),
    ],
)
def test_what_is_refused(text: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        bootstrap_of(site_of(text), **options)
