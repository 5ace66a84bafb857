"""What a site's own output does in the real Terraform: guards that stop at plan, and no token in plan or state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groundplan.catalog.newer import pinned_versions
from groundplan.emit.app import synthesize
from groundplan.emit.rehearsal import knowledge, schema_changes
from staged_terraform import Options, Rehearsal, Report, Server, SimulatedCloud, read_stacks
from staged_terraform.protocol import dynamic_value, message, parse, raw
from staged_terraform.schemas import TypeKey
from staged_terraform.stacks import keys_of, names_made
from staged_terraform.terraform import scratch_copy

PROD = """\
site: rl
environment: prod
project: my-project
zone: us-central1-b
reservation: my-reservation
backend: {gcs: {bucket: my-states}}
storage: {buckets: [{name: my-checkpoints}]}
workload: {recipe: grpo-qwen2.5-1.5b-gsm8k-smoke, nodes: 1}
"""

#: Stack -> what its `plan -destroy` must not get past in prod.
GUARDED = {
    "storage": {"google_lustre_instance.lustre", "google_storage_bucket.bucket-my-checkpoints"},
    "cluster": {"google_container_cluster.cluster"},
    "gpu": {"google_container_node_pool.pool-a4-highgpu-8g"},
}


@contextmanager
def standing(profile: str, folder: Path, until: str = "gpu") -> Iterator[Rehearsal]:
    """A site that was applied up to a stack, in a simulated cloud."""
    (folder / "p.yaml").write_text(profile, "utf-8")
    out = folder / "out"
    synthesize(folder / "p.yaml", out)
    stacks = read_stacks(out, knowledge())
    stacks = stacks[: next(n for n, each in enumerate(stacks) if each.kind == until) + 1]
    keys: set[TypeKey] = keys_of(stacks)
    cloud = SimulatedCloud(knowledge().facts, outside=set(), made_by_stacks=names_made(stacks))
    with Server(keys, cloud, cache=knowledge().cache, changes=schema_changes()) as server:
        run = Rehearsal(server, Report("apply"), Options(until="apply"), lambda *_: None, pinned_versions())
        run.go(stacks, scratch_copy(out, folder / "scratch"))
        assert not run.failed, run.report.findings
        yield run


def test_prod_stops_at_plan_and_the_key_lets_it_go(terraform: None, tmp_path: Path) -> None:
    with standing(PROD, tmp_path) as run:
        for stack, terraform_run, _ in run.applied:
            run.server.offer(keys_of([stack]))
            planned = terraform_run.plan("-destroy")
            refused = {each.detail.split()[1] for each in planned.errors if "cannot be destroyed" in each.summary}
            assert refused == GUARDED.get(stack.kind, set()), stack.kind
            assert planned.ok == (stack.kind not in GUARDED)
        before = len(run.server.cloud.objects)
        # The run-book's way: the key is turned off, the site synthesized again, and the guard is gone from the plan.
        lifted = tmp_path / "lifted"
        (tmp_path / "p.yaml").write_text(PROD.replace("environment: prod", "environment: prod\nprevent_destroy: false"))
        synthesize(tmp_path / "p.yaml", lifted)
        for stack, terraform_run, _ in run.applied:
            source = lifted / "stacks" / stack.name / "cdk.tf.json"
            (terraform_run.folder / "cdk.tf.json").write_bytes(source.read_bytes())
            run.server.offer(keys_of([stack]))
            assert terraform_run.plan("-destroy").ok, stack.kind
        assert len(run.server.cloud.objects) == before, "a plan destroys nothing"


def test_a_replaced_cluster_has_its_cpu_pool_in_the_same_plan(terraform: None, tmp_path: Path) -> None:
    dev = PROD.replace("environment: prod", "environment: dev")
    with standing(dev, tmp_path, "cluster") as run:
        (stack, terraform_run, _) = run.applied[-1]
        (tmp_path / "p.yaml").write_text(dev + "cluster: {max_pods_per_node: 64}\n", "utf-8")
        synthesize(tmp_path / "p.yaml", tmp_path / "edited")
        source = tmp_path / "edited" / "stacks" / stack.name / "cdk.tf.json"
        (terraform_run.folder / "cdk.tf.json").write_bytes(source.read_bytes())
        planned = terraform_run.plan()
        assert planned.ok, planned.errors
        replaced = {address for address, action in planned.changes.items() if action == "replace"}
        assert {"google_container_cluster.cluster", "google_container_node_pool.cpu-pool"} <= replaced


def test_no_plan_and_no_state_holds_the_token(terraform: None, tmp_path: Path) -> None:
    dev = PROD.replace("environment: prod", "environment: dev")
    with standing(dev, tmp_path, "workload") as run:
        checked = 0
        for stack, terraform_run, entry in run.applied:
            state = json.dumps(terraform_run.state())
            plan = json.dumps(entry.plan_json)
            saved = (terraform_run.folder / "rehearsal.tfplan").read_bytes()
            assert "access_token" not in state
            assert "access_token" not in json.dumps(entry.plan_json.get("prior_state", {}))
            assert "simulated-access-token" not in plan + state
            assert b"simulated-access-token" not in saved
            checked += "ephemeral" in stack.configuration
        assert checked == 2, "platform and workload"


def test_what_the_token_looks_like(terraform: None, tmp_path: Path) -> None:
    """The text that the last test looks for is what the simulated provider answers."""
    with standing(PROD.replace("environment: prod", "environment: dev"), tmp_path, "network") as run:
        asked = parse(message((1, "google_client_config"), (2, dynamic_value({}))))
        answered = run.server.providers["google"].open_ephemeral(asked)
        assert b"simulated-access-token" in raw(parse(answered), 3)
