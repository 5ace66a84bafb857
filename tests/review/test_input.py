"""Whatever file is given: a report, or one clear line and exit code 2; never a traceback."""

from __future__ import annotations

import ast
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

import plan_review
from groundplan.commands.review import review
from groundplan.on_plans.assess import Provenance, assess
from plan_review import html, markdown, programs, text
from plan_review.reading import UnusableInput, plan_of, read_plan
from review.plans import create, document, judged, replaced, update


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(review, [str(each) for each in arguments], input=stdin)


WHOLE = json.dumps(document(create("a_b.c", name="x", note="text with\nlines")), indent=1)

UNUSABLE: dict[str, tuple[bytes, str]] = {
    "empty": (b" \n", "is empty"),
    "truncated in a string": (WHOLE[: WHOLE.index("lines")].encode(), "is truncated"),
    "truncated after a comma": (WHOLE[: WHOLE.index('"actions"')].encode(), "is truncated"),
    "truncated in a word": (b'{"format_version": "1.2", "errored": fal', "is truncated"),
    "malformed": (b'{"format_version": "1.2",, "resource_changes": [], "x": {}}', "line 1, column 26"),
    "plain text": (b"Terraform will perform the following actions:\n", "plain text"),
    "log": (
        b'{"@level":"info","@message":"Terraform 1.11.4"}\n{"@level":"info"}\n',
        "the log of `terraform plan -json`",
    ),
    "binary plan": (b"PK\x03\x04 tfplan", "a binary plan"),
    "not text": (b'{"a": "\xff\xfe\xfa"}', "is not text"),
    "a list": (b"[]", "holds a JSON list"),
    "a number": (b"12", "holds a JSON number"),
    "state file": (b'{"version": 4, "serial": 3, "lineage": "x", "resources": []}', "is a Terraform state"),
    "shown state": (b'{"format_version": "1.0", "terraform_version": "1.11.4", "values": {}}', "is a state"),
    "configuration": (b'{"terraform": {}, "provider": {}, "resource": {"a_b": {}}}', "groundplan diff OLD NEW"),
    "manifest": (b'{"stacks": {}, "version": "0.21.0"}', "the manifest of a synth output"),
    "schemas": (b'{"format_version": "1.0", "provider_schemas": {}}', "provider schemas"),
    "cloud answer": (b'{"data": {"id": "plan-1", "type": "plans"}}', "json-output"),
    "other JSON": (b'{"hello": 1}', "no Terraform plan"),
    "no version": (b'{"resource_changes": []}', "no format_version"),
    "new version": (b'{"format_version": "2.0", "resource_changes": []}', "unknown format version 2.0"),
    "odd version": (b'{"format_version": 1, "resource_changes": []}', "no format_version"),
    "changes are no list": (b'{"format_version": "1.2", "resource_changes": {"a": 1}}', "resource_changes is no list"),
    "a change is text": (b'{"format_version": "1.2", "resource_changes": ["x"]}', "resource_changes[0] is no object"),
    "no actions": (
        b'{"format_version": "1.2", "resource_changes": [{"address": "a.b", "type": "a", "change": {}}]}',
        "resource_changes[0] has no change with actions",
    ),
    "deep": (b'{"format_version": "1.2", "planned_values": ' + b"[" * 200_000, "nested too deeply"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_what_is_no_plan_is_named_in_one_line(tmp_path: Path, case: str) -> None:
    data, said = UNUSABLE[case]
    file = tmp_path / "given.json"
    file.write_bytes(data)
    result = run(str(file))
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert said in line
    assert str(file) in line


def test_a_file_that_is_not_there_and_a_folder(tmp_path: Path) -> None:
    missing = run(str(tmp_path / "none.json"))
    assert (missing.exit_code, missing.stderr.count("\n")) == (2, 1)
    assert "No such file" in missing.stderr
    folder = run(str(tmp_path))
    assert folder.exit_code == 2
    assert "is a folder" in folder.stderr


def test_no_file_is_a_usage_error() -> None:
    assert run().exit_code == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_plan_is_read_in_the_encodings_that_shells_write(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "gpu.json"
    file.write_bytes(WHOLE.encode(encoding))
    result = run(str(file))
    assert result.exit_code == 0
    assert result.stdout.startswith("SAFE: 1 to create in 1 stack\n")


def test_standard_input() -> None:
    assert "SAFE: 1 to create" in run("-", stdin=WHOLE.encode()).stdout


def test_the_stack_is_named_by_the_file_or_its_folder(tmp_path: Path) -> None:
    for path, stack in {
        "rl-gpu.plan.simulated.json": "rl-gpu",
        "rl-gpu.json": "rl-gpu",
        "rl-gpu/plan.json": "rl-gpu",
        "rl-gpu/tfplan.json": "rl-gpu",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(WHOLE)
        assert read_plan(file).stack == stack


def test_several_plans_are_one_report_in_the_order_of_a_site(tmp_path: Path) -> None:
    for name in ("rl-workload", "rl-network", "other", "rl-gpu"):
        (tmp_path / f"{name}.json").write_text(WHOLE)
    result = run(*sorted(str(path) for path in tmp_path.iterdir()))
    assert "4 to create in 4 stacks" in result.stdout
    places = [result.stdout.index(f"\n  {name}: ") for name in ("rl-network", "rl-gpu", "rl-workload", "other")]
    assert places == sorted(places)


def test_plans_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "gpu.json").write_text(WHOLE)
    result = run(str(tmp_path / "a" / "gpu.json"), str(tmp_path / "b" / "gpu.json"))
    assert f"{tmp_path}/a/gpu.json: 1 to create" in result.stdout
    assert f"{tmp_path}/b/gpu.json: 1 to create" in result.stdout


def test_terraform_cloud_gives_plans_with_or_without_the_usual_name_of_the_version(tmp_path: Path) -> None:
    file = tmp_path / "gpu.json"
    redacted = {"plan_format_version": "1.2", "resource_changes": document(create("a_b.c"))["resource_changes"]}
    file.write_text(json.dumps(redacted))
    assert run(str(file)).stdout.startswith("SAFE: 1 to create")


def test_opentofu_and_modules_and_deposed_objects(tmp_path: Path) -> None:
    entry = create('module.a["x"].google_storage_bucket.b[0]', name="b")
    entry |= {"type": "google_storage_bucket", "name": "b", "index": 0}
    gone = {**create("a_b.c"), "deposed": "12345678"}
    gone["change"] = {"actions": ["delete"], "before": {"name": "c"}, "after": None}
    plan = plan_of({**document(entry, gone), "terraform_version": "1.9.0"}, "s")
    assert [each.address for each in plan.changes] == [
        "a_b.c (deposed 12345678)",
        'module.a["x"].google_storage_bucket.b[0]',
    ]


def test_a_plan_of_nothing(tmp_path: Path) -> None:
    file = tmp_path / "gpu.json"
    file.write_text('{"format_version": "1.2", "planned_values": {}, "configuration": {}}')
    for form in ("text", "markdown", "html", "json", "sarif"):
        result = run(str(file), "--format", form)
        assert result.exit_code == 0
    assert run(str(file)).stdout.startswith("SAFE: no changes in 1 stack\nNothing changes.\n")


#: Names that the rules look for, and some that they do not.
NAMES = st.sampled_from(
    [
        "name", "allow", "ports", "protocol", "source_ranges", "node_config", "guest_accelerator", "count", "type",
        "node_count", "autoscaling", "capacity_gib", "values", "metadata", "role", "member", "members", "version",
        "network_config", "additional_node_network_configs", "network", "subnetwork", "ip_cidr_range", "resources",
        "references", "expressions", "root_module", "module_calls", "deletion_protection", "secondary_ip_range",
        "before", "after", "actions", "master_authorized_networks_config", "cidr_blocks", "cidr_block", "labels",
        "maintenance_policy", "node_locations", "policy_data", "network_profile", "mtu", "data", "spec", "chart",
    ]
) | st.text(max_size=5)  # fmt: skip


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


TYPES = st.sampled_from(
    [
        "google_compute_firewall", "google_container_node_pool", "google_container_cluster", "google_lustre_instance",
        "google_storage_bucket", "google_project_iam_policy", "google_project_iam_member", "helm_release",
        "google_compute_subnetwork", "google_compute_network", "kubernetes_secret_v1", "kubernetes_service_v1",
        "kubernetes_persistent_volume_v1", "google_compute_global_address", "aws_security_group", "x_y",
    ]
)  # fmt: skip
ACTIONS = st.sampled_from(
    [["create"], ["update"], ["delete"], ["delete", "create"], ["no-op"], ["read"], ["dance"], []]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(TYPES, ACTIONS, *[anything] * 6), max_size=3), anything, anything)
def test_no_value_of_any_shape_makes_it_fail(entries: list[tuple[Any, ...]], configuration: Any, more: Any) -> None:
    """Terraform plans of any provider: whatever stands in a value, the report is written in every format."""
    changes = [
        {
            "address": f"{kind}.n{number}",
            "type": kind,
            "name": f"n{number}",
            "mode": "managed",
            "change": {
                "actions": actions,
                "before": before,
                "after": after,
                "after_unknown": unknown,
                "before_sensitive": hidden,
                "after_sensitive": hidden,
                "replace_paths": paths,
            },
            "action_reason": reason,
        }
        for number, (kind, actions, before, after, unknown, hidden, paths, reason) in enumerate(entries)
    ]
    given_document = {**document(*changes), "configuration": configuration, "output_changes": more, "variables": more}
    try:
        plan = plan_of(json.loads(json.dumps(given_document)), "s")
    except UnusableInput:
        return
    result = assess([plan], provenance=Provenance("0"))
    for render in (text.render, markdown.render, html.render, programs.as_json, programs.as_sarif):
        assert render(result)


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    file = tmp_path / "gpu.json"
    file.write_text(json.dumps(document(create("a_b.c", x={"b": 1, "a": [2]}), update("a_b.d", {"x": 1}, {"x": 2}))))
    for form in ("text", "markdown", "html", "json", "sarif"):
        assert run(str(file), "--format", form).stdout == run(str(file), "--format", form).stdout


def test_a_change_that_is_unknown_as_a_whole_is_shown() -> None:
    result = judged(update("a_b.c", {"x": 1}, {"x": 2}, after_unknown=True))
    assert "(known after apply)" in text.render(result)


def test_plan_review_knows_nothing_of_groundplan() -> None:
    """It may be used by any product: of ours it imports `findings` alone."""
    folder = Path(plan_review.__file__).parent
    imported = set()
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(str(node.module).partition(".")[0])
    ours = {each.name for each in folder.parent.iterdir() if each.is_dir()}
    assert imported & ours == {"findings", "plan_review"}


WRAPPED = (
    "[command]/home/runner/work/_temp/terraform-bin show -json plan.tfplan\n"
    + json.dumps(document(create("a_b.c", name="x")))
    + "\n\n::debug::Terraform exited with code 0.\n::debug::stdout: {\n::debug::stderr: \n::set-output name=stdout::x\n"
)


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("content", [WHOLE, WRAPPED], ids=["whole", "wrapped by setup-terraform"])
def test_a_plan_that_is_wrapped_or_zipped(tmp_path: Path, content: str, zipped: bool) -> None:
    data = content.encode()
    (tmp_path / "gpu.json").write_bytes(gzip.compress(data) if zipped else data)
    result = run(tmp_path / "gpu.json")
    assert result.exit_code == 0
    assert "1 to create" in result.stdout


def test_a_zipped_file_that_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "gpu.json").write_bytes(b"\x1f\x8bnothing")
    result = run(tmp_path / "gpu.json")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "is gzipped and damaged" in result.stderr


def test_sarif_points_at_what_is_in_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gpu.json").write_text(json.dumps(document(update("a_b.c", {"x": 1}, {"x": 2}))))

    def place(*more: str) -> tuple[str, int]:
        (one,) = json.loads(run("gpu.json", "--format", "sarif", *more).stdout)["runs"][0]["results"]
        physical = one["locations"][0]["physicalLocation"]
        return physical["artifactLocation"]["uri"], physical["region"]["startLine"]

    assert place() == ("gpu.json", 1)
    (tmp_path / "site.yaml").write_text("project: p-123456\nzone: us-central1-b\nreservation: r\n")
    assert place("--profile", "site.yaml") == ("site.yaml", 1)
    stack = tmp_path / "cdktf.out" / "stacks" / "gpu"
    stack.mkdir(parents=True)
    (stack / "cdk.tf.json").write_text(json.dumps({"resource": {"a_b": {"c": {"x": 2}}}}, indent=1))
    assert place() == ("cdktf.out/stacks/gpu/cdk.tf.json", 4)


def test_findings_at_one_place_have_fingerprints_of_their_own() -> None:
    secrets = {f"note{n}": "hf_" + "aB3" * 6 for n in range(4)}
    (whole,) = json.loads(programs.as_sarif(judged(create("a_b.c", **secrets))))["runs"]
    prints = [each["partialFingerprints"]["ruleAndPlace/v1"] for each in whole["results"]]
    assert len(prints) == len(set(prints)) == 4


def test_a_web_token_is_hidden_to_its_end() -> None:
    token = ".".join(["eyJ" + "aB3" * 6, "eyJ" + "aB3" * 6, "s1gn" * 8])
    report = text.render(judged(create("a_b.c", note=token)))
    assert "s1gn" not in report
    entry = update("a_b.c", {"note": "x"}, {"note": token})
    assert "s1gn" not in text.render(judged(entry))


@pytest.mark.parametrize(
    ("kind", "before", "after", "says"),
    [
        ("google_compute_subnetwork.s", "10.0.0.0/20", "10.0.0.0/21", 'ip_cidr_range: "10.0.0.0/20" -> "10.0.0.0/21"'),
        ("a_b.c", "team/a", "team/b", 'ip_cidr_range: "team/a" -> "team/b"'),
        ("a_b.c", "projects/p/global/x/a", "projects/p/global/x/b", 'ip_cidr_range: "a" -> "b"'),
    ],
)
def test_links_alone_are_shortened(kind: str, before: str, after: str, says: str) -> None:
    sides = ({"name": "prod/db", "ip_cidr_range": each} for each in (before, after))
    (first, *_) = judged(replaced(kind, *sides, replace_paths=[["ip_cidr_range"]])).counting
    assert says in first.message
    assert "prod/db is replaced" in first.message
