"""Reading profiles: positions, strictness, near-match hints; every fault in one go and never an echoed secret."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from groundplan.commands.reference import reference_text
from groundplan.commands.schema import profile_schema, schema_text
from groundplan.findings import Finding, ProfileError
from groundplan.profile import parse_profile
from sites import ROOT, SHIPPED, SMALL

TOKEN = "hf_" + "k4" * 17


def faults(text: str) -> list[Finding]:
    with pytest.raises(ProfileError) as caught:
        parse_profile(text, "p.yaml")
    return caught.value.findings


def only(text: str) -> Finding:
    (finding,) = faults(text)
    return finding


@pytest.mark.parametrize(
    ("text", "rule", "place", "message", "hint"),
    [
        ("zone: us-central1-b\n", "missing-key", (1, 1), "`project` is missing", "project id|id of your"),
        (SMALL.replace("zone", "zome"), "unknown-key", (2, 1), "unknown key `zome`", "did you mean `zone`"),
        (
            SMALL + "gpu:\n  pools:\n    - autoscalling: {max: 2}\n",
            "unknown-key",
            (6, 7),
            "unknown key `autoscalling` in `gpu.pools\\[0\\]`",
            "did you mean `autoscaling`",
        ),
        (SMALL + "capacity_gib: 18000\n", "unknown-key", (4, 1), "capacity_gib", "key of `storage.lustre`"),
        (
            SMALL + "gpu: {pools: [{nodes: two}]}\n",
            "wrong-type",
            (4, 23),
            "`gpu.pools\\[0\\].nodes` is two and must be a whole number",
            "correct",
        ),
        (SMALL + 'gpu: {pools: [{nodes: "2"}]}\n', "wrong-type", (4, 23), "whole number", "take the quotes off"),
        (SMALL + "gpu: {pools: [{nodes: -1}]}\n", "wrong-value", (4, 23), "at least 0", "limit"),
        (SMALL + "cluster: {release_channel: regular}\n", "wrong-value", (4, 28), "one of RAPID", "mean `REGULAR`"),
        (SMALL + "cluster: {version: 1.30}\n", "wrong-value", (4, 20), "quotes", ""),
        (SMALL + "network: {primary: {pods: 10.4.0.1/14}}\n", "wrong-value", (4, 27), "10.4.0.0/14", ""),
        (SMALL + "network: {primary: {pods: 10.4.0.0}}\n", "wrong-value", (4, 27), "with its prefix", ""),
        (SMALL.replace("us-central1-b", "us-central1"), "wrong-value", (2, 7), "a zone such as", ""),
        (SMALL.replace("my-project", "123456789"), "wrong-type", (1, 10), "must be text", "quotes"),
        (SMALL.replace("my-reservation", "[a, b]"), "wrong-value", (3, 14), "must be one reservation", ""),
        (SMALL + "backend: {}\n", "wrong-value", (4, 10), "exactly one of `local`, `gcs` and `cloud`", ""),
        (SMALL + "secrets: {wandb: {}}\n", "wrong-value", (4, 18), "exactly one of `secret: NAME`", ""),
        (SMALL + "zone: us-east4-b\n", "duplicate-key", (4, 1), "stands twice", "keep one"),
        (SMALL + "site: *x\n", "profile-syntax", (4, 7), "not valid YAML", ""),
        ("- a\n", "profile-syntax", (1, 1), "holds a list", ""),
        ("", "profile-syntax", (1, 1), "is empty", ""),
        ("a: [\n", "profile-syntax", (1, 1), "not valid YAML", ""),
        (SMALL + "\tsite: x\n", "profile-syntax", (4, 1), "not valid YAML", "spaces"),
        (SMALL + "labels: !!python/object:os.system {}\n", "profile-syntax", (4, 9), "tag", "plain value"),
    ],
)
def test_one_clear_error_each(text: str, rule: str, place: tuple[int, int], message: str, hint: str) -> None:
    import re

    finding = only(text)
    assert finding.location is not None
    assert (finding.rule, (finding.location.line, finding.location.column)) == (rule, place)
    assert re.search(message, finding.message), finding.message
    assert re.search(hint, finding.hint), finding.hint


def test_all_errors_at_once() -> None:
    text = "project: X\nzone: nowhere\nsite: 3\nlabels: {A: b}\ngpu: {pools: []}\n"
    assert [f.path for f in faults(text)] == [
        ("site",),
        ("project",),
        ("zone",),
        ("labels", "A"),
        ("gpu", "pools"),
    ]


def test_yaml_words_stay_words() -> None:
    """YAML 1.1 would read `no` as false, `12:30` as 750 and `010` as 8."""
    profile, _ = parse_profile(SMALL + "labels: {a: no, b: on}\nsite: off\n")
    assert profile.labels == {"a": "no", "b": "on"}
    assert profile.site == "off"


@pytest.mark.parametrize(
    "text",
    [
        f"hf: {TOKEN}\n",
        f"# my token is {TOKEN}\n",
        f"workload: {{overrides: {{logger.wandb.name: {TOKEN}}}}}\n",
        f"{TOKEN}: 1\n",
        f'site: "{TOKEN[:2]}\\x{ord(TOKEN[2]):02x}{TOKEN[3:]}"\n',
        "wandb: " + "0123456789abcdef" * 2 + "01234567\n",
        "key: -----BEGIN PRIVATE KEY-----\n",
        "url: https://me:hunter2@example.com/x\n",
    ],
)
def test_a_secret_literal_is_refused_and_never_echoed(text: str, tmp_path: Path) -> None:
    assert all(finding.rule == "secret-literal" for finding in faults(SMALL + text))
    file = tmp_path / "p.yaml"
    file.write_text(SMALL + text)
    for command in (["synth", str(file)], ["rayjob", str(file)]):
        done = subprocess.run(
            [sys.executable, "-m", "groundplan", *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        output = done.stdout + done.stderr
        assert "secret-literal" in output
        for secret in (TOKEN, TOKEN[3:], "hunter2", "0123456789abcdef" * 2):
            assert secret not in output
    assert list(tmp_path.iterdir()) == [file]


def test_a_commit_hash_in_a_digest_is_no_secret() -> None:
    image = "workload: {image: us-docker.pkg.dev/p/r/nemo-rl@sha256:" + "0a" * 32 + "}\n"
    assert parse_profile(SMALL + image)[0].workload.image


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_profiles_match_the_schema_they_point_to(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("# yaml-language-server: $schema=profile.schema.json\n")
    jsonschema.validate(yaml.safe_load(text), json.loads((path.parent / "profile.schema.json").read_text("utf-8")))


def test_the_schema_refuses_what_the_profile_refuses() -> None:
    validator = jsonschema.Draft202012Validator(profile_schema())
    assert validator.is_valid(yaml.safe_load(SMALL))
    for wrong in ("zome: x\n", "gpu: {pools: [{nodes: two}]}\n", "cluster: {release_channel: regular}\n"):
        assert not validator.is_valid(yaml.safe_load(SMALL + wrong))


def test_generated_documents_are_up_to_date() -> None:
    assert (ROOT / "profiles" / "profile.schema.json").read_text("utf-8") == schema_text()
    assert (ROOT / "docs" / "profile.md").read_text("utf-8") == reference_text()


def test_every_key_is_documented() -> None:
    rows = [line for line in reference_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 100
    assert [row for row in rows if row.rstrip(" |").endswith("|") or row.split("|")[-2].strip() == ""] == []
