"""Plans of a site that stands, made by the real Terraform in one simulated cloud, one for each kind of change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundplan.catalog.newer import pinned_versions
from groundplan.emit.rehearsal import knowledge, schema_changes
from sites import written
from staged_terraform.rehearsal import Options, Rehearsal
from staged_terraform.report import Report
from staged_terraform.server import Server
from staged_terraform.simulated_cloud import SimulatedCloud
from staged_terraform.stacks import Stack, keys_of, names_made, read_stacks
from staged_terraform.terraform import scratch_copy

#: A prod site of two B200 nodes; each case changes one line of it.
BASE = """\
site: rl
environment: prod
prevent_destroy: false
project: my-project
zone: us-central1-b
reservation: my-reservation
backend: {gcs: {bucket: my-states}}
storage:
  lustre: {capacity_gib: 36000}
cluster:
  control_plane: {dns_endpoint: true}
  deletion_protection: true
gpu:
  pools: [{machine_type: a4-highgpu-8g, nodes: 2, driver: DEFAULT}]
platform:
  kuberay: {version: 1.6.2}
workload:
  recipe: grpo-qwen2.5-1.5b-gsm8k-smoke
  nodes: 1
  overrides: {grpo.max_num_steps: 10}
"""

#: Case -> (text of BASE, what takes its place).
EDITS = {
    "driver": ("driver: DEFAULT", "driver: LATEST"),
    "zone": ("zone: us-central1-b", "zone: us-central1-c"),
    "scale": ("nodes: 2, driver", "nodes: 16, driver"),
    "authorized-network": (
        "control_plane: {dns_endpoint: true}",
        "control_plane: {dns_endpoint: true, authorized_networks: [{name: office, cidr: 10.200.0.0/24}]}",
    ),
    "unprotected": ("deletion_protection: true", "deletion_protection: false"),
    "lustre-grow": ("capacity_gib: 36000", "capacity_gib: 54000"),
    "lustre-shrink": ("capacity_gib: 36000", "capacity_gib: 18000"),
    "lustre-throughput": ("capacity_gib: 36000", "capacity_gib: 36000, throughput: 1000"),
    "kuberay": ("version: 1.6.2", "version: 1.7.0"),
    "job": ("grpo.max_num_steps: 10", "grpo.max_num_steps: 300"),
}


def synthesize(text: str, folder: Path) -> Path:
    """A profile's output."""
    return written(text, folder)


def outputs(root: Path) -> dict[str, Path]:
    """Case -> its output; "base" is the site that stands, "hand-edited" the same after somebody's visit."""
    found = {"base": synthesize(BASE, root / "base")}
    for case, (old, new) in EDITS.items():
        assert BASE.count(old) == 1, case
        found[case] = synthesize(BASE.replace(old, new), root / case)
    found["hand-edited"] = root / "hand-edited"
    shutil.copytree(found["base"], found["hand-edited"])
    hand_edit(found["hand-edited"])
    return found


def hand_edit(output: Path) -> None:
    """Open a firewall to everyone on all ports, grant roles/editor, and make a public bucket."""
    file = next(output.glob("stacks/*-network/cdk.tf.json"))
    stack = json.loads(file.read_text("utf-8"))
    (firewall,) = stack["resource"]["google_compute_firewall"].values()
    firewall["allow"] = [{"protocol": "tcp"}]
    firewall["source_ranges"] = ["0.0.0.0/0"]
    file.write_text(json.dumps(stack), "utf-8")
    file = next(output.glob("stacks/*-storage/cdk.tf.json"))
    stack = json.loads(file.read_text("utf-8"))
    stack["resource"]["google_storage_bucket"] = {"data": {"name": "my-data", "location": "US"}}
    stack["resource"]["google_storage_bucket_iam_member"] = {
        "everyone": {"bucket": "my-data", "role": "roles/storage.objectViewer", "member": "allUsers"}
    }
    stack["resource"]["google_project_iam_member"] = {
        "helper": {"project": "my-project", "role": "roles/editor", "member": "user:helper@example.com"}
    }
    file.write_text(json.dumps(stack), "utf-8")


@dataclass
class Standing:
    """A simulated cloud in which the base site stands; plans of changed outputs leave it as it is.

    Stacks that a case leaves as they are (byte by byte) are not planned: nothing of them would change.
    """

    server: Server
    outputs: dict[str, Path]
    scratch: Path
    first: dict[str, dict[str, Any]]
    folders: dict[str, Path]
    made: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def plans(self, case: str) -> dict[str, dict[str, Any]]:
        """Stack -> plan JSON of each stack of a case."""
        if case not in self.made:
            found = self.first if case == "first-creation" else self._planned(case)
            self.made[case] = {name: {**document, "simulated": True} for name, document in found.items()}
        return self.made[case]

    def _planned(self, case: str) -> dict[str, dict[str, Any]]:
        found = {}
        root = scratch_copy(self.outputs[case], self.scratch / f"plan-{case}")
        for stack in read_stacks(self.outputs[case], knowledge()):
            if _content(stack.folder) != _content(self.outputs["base"] / "stacks" / stack.name):
                found |= self._plan(stack, root)
        return found

    def _plan(self, stack: Stack, root: Path) -> dict[str, dict[str, Any]]:
        options, before = Options(until="plan"), dict(self.folders)
        run = Rehearsal(self.server, Report("plan"), options, lambda *_: None, pinned_versions(), before)
        run.go([stack], root)
        assert not run.failed, run.report.findings
        return {entry.name: entry.plan_json for entry in run.report.stacks}


def _content(folder: Path) -> dict[Path, bytes]:
    """Every file of a stack: values of releases stand beside cdk.tf.json."""
    return {file.relative_to(folder): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@contextmanager
def standing(made: dict[str, Path], root: Path) -> Iterator[Standing]:
    """Build the base site of what :func:`outputs` made."""
    stacks = [stack for folder in made.values() for stack in read_stacks(folder, knowledge())]
    cloud = SimulatedCloud(knowledge().facts, outside=set(), made_by_stacks=names_made(stacks))
    with Server(keys_of(stacks), cloud, cache=knowledge().cache, changes=schema_changes()) as server:
        run = Rehearsal(server, Report("apply"), Options(until="apply"), lambda *_: None, pinned_versions())
        run.go(read_stacks(made["base"], knowledge()), scratch_copy(made["base"], root / "standing"))
        assert not run.failed, run.report.findings
        first = {entry.name: entry.plan_json for entry in run.report.stacks}
        folders = {}
        for stack, terraform, _ in run.applied:
            folders |= {stack.name: terraform.folder, stack.kind: terraform.folder}
        yield Standing(server, made, root, first, folders)
