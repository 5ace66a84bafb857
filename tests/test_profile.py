"""Reading profiles: positions, strictness, near-match hints; every fault in one go and never an echoed secret."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from findings import Finding, ProfileError
from findings.redaction import find_secrets, is_secret_name, looks_secret
from groundplan.catalog import load_catalog
from groundplan.cli import cli
from groundplan.commands.reference import reference_text, section_examples
from groundplan.commands.schema import profile_schema, schema_text
from groundplan.commands.schema_facts import EACH, closed_sets
from groundplan.site.profile import parse_profile
from sites import ROOT, SHIPPED, SMALL, site_of

COMMIT = "0123456789abcdef" * 2 + "01234567"
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
        (SMALL + "gpu: {pools: [{nodes: -1}]}\n", "wrong-value", (4, 23), "at least 0", "use 0 or more"),
        (SMALL + "cluster: {release_channel: regular}\n", "wrong-value", (4, 28), "one of RAPID", "mean `REGULAR`"),
        (SMALL + "cluster: {version: 1.30}\n", "wrong-value", (4, 20), "quotes", ""),
        (
            SMALL + "gpu: {pools: [{nodes: 12345678901234567890123456}]}\n",
            "wrong-value",
            (4, 23),
            "at most 15000",
            "use 15000 or less",
        ),
        (
            SMALL + 'gpu: {pools: [{nodes: "12345678901234567890123456"}]}\n',
            "wrong-type",
            (4, 23),
            "whole number",
            "no key takes one so long",
        ),
        (
            SMALL + "network: {primary: {nat: {min_ports_per_vm: 64513}}}\n",
            "wrong-value",
            (4, 45),
            "at most 64512",
            "use 64512 or less",
        ),
        (
            SMALL + "gpu: {pools: [{labels: {a..b/c: x}}]}\n",
            "wrong-value",
            (4, 33),
            "a Kubernetes label key",
            "prefix",
        ),
        (SMALL + "workload: {release: 0.6.0}\n", "wrong-value", (4, 21), "release tag", "^use v0.6.0$"),
        (SMALL + "workload: {release: 0.6}\n", "wrong-type", (4, 21), "must be text", "^use v0.6.0$"),
        (SMALL + "platform: {kueue: {version: v0.19.2}}\n", "wrong-value", (4, 29), "leading v", "^use 0.19.2$"),
        (SMALL + "region: us-central1-b\n", "wrong-value", (4, 9), "a region", "leave the letter off: us-central1$"),
        (SMALL + "labels: {project: 12}\n", "wrong-type", (4, 19), "must be text", "quotes"),
        (
            SMALL.replace("my-reservation", "projects/p/reservations/r"),
            "wrong-value",
            (3, 14),
            "`reservation` is projects/p",
            r"mapping: \{project: p, name: r\}",
        ),
        (
            SMALL.replace("my-reservation", "projects/p/reservations/r/reservationBlocks/b/reservationSubBlocks/s"),
            "wrong-value",
            (3, 14),
            "`reservation` is projects/p",
            r"\{project: p, name: r, block: b, sub_block: s\}",
        ),
        (
            SMALL + "network: {primary: {pods: 10.4.0.1/14}}\n",
            "wrong-value",
            (4, 27),
            "10.4.0.0/14",
            "^use 10.4.0.0/14$",
        ),
        (SMALL + "network: {primary: {pods: 10.4.0.0}}\n", "wrong-value", (4, 27), "with its prefix", ""),
        (SMALL.replace("us-central1-b", "us-central1"), "wrong-value", (2, 7), "a zone such as", "e.g. us-central1-b"),
        (SMALL.replace("my-project", "123456789"), "wrong-type", (1, 10), "must be text", "project id"),
        (SMALL.replace("my-project", '"123456789"'), "wrong-value", (1, 10), "a project id", "not the project number"),
        (SMALL.replace("my-reservation", "[a, b]"), "wrong-value", (3, 14), "must be one reservation", ""),
        (SMALL + "backend: {}\n", "wrong-value", (4, 10), "exactly one of `local`, `gcs` and `cloud`", ""),
        (SMALL + "secrets: {wandb: {}}\n", "wrong-value", (4, 18), "exactly one of `secret: NAME`", ""),
        (SMALL + "zone: us-east4-b\n", "duplicate-key", (4, 1), "stands twice", "keep one"),
        (SMALL + "site: *x\n", "profile-syntax", (4, 7), "not valid YAML", ""),
        (SMALL + "site: &s x\nlabels: {a: *s}\n", "profile-syntax", (5, 13), "alias \\*s is not read$", "write"),
        (SMALL + "a: &s [x]\nb: &t [*s, *s]\nc: [*t, *t]\n", "profile-syntax", (5, 8), "nor are 3 more", "write"),
        (SMALL + "a: &s {}\nb:\n  <<: *s\n", "profile-syntax", (6, 3), "merge keys", "write the keys out"),
        (SMALL + "site: a\0b\n", "profile-syntax", (4, 8), "U\\+0000 is not allowed", "remove it"),
        (SMALL + "network:\n\tprimary: {}\n", "profile-syntax", (5, 1), "not valid YAML", "spaces, not tabs"),
        (SMALL + "site: a: b\n", "profile-syntax", (4, 8), "not valid YAML", "colons near"),
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


HIDDEN = "hunter2-hush"


@pytest.mark.parametrize(
    "text",
    [
        f"secrets:\n  hugging_face: {HIDDEN}\n",
        f"secrets: {{wandb: {{secret: {HIDDEN}_X}}}}\n",
        f"secrets: {{image_pull: {HIDDEN}_X}}\n",
        f"secrets: {{wandb: {{secret: ok, revision: {HIDDEN}}}}}\n",
        f"secrets:\n  wandb:\n    - {HIDDEN}\n",
        f"secrets: {{wandb: [{HIDDEN}\n",
        f"secrets:\n  wandb: ]{HIDDEN}\n",
        f"environment: {{HF_TOKEN: {HIDDEN}}}\n",
        f"workload: {{environment: {{HF_TOKEN: [{HIDDEN}]}}}}\n",
        f"workload: {{environment: {{MYPASSWORD: {HIDDEN}}}, recipe: [x]}}\n",
        f"token: {HIDDEN}\n",
        f"hf_token: {HIDDEN}\n",
        f"WANDB_KEY: {HIDDEN}\n",
        f"MYPASSWORD: |\n  {HIDDEN}\n  more\n",
        f"site: X # HF_TOKEN={HIDDEN}\n",
        f"site: {{HF_TOKEN: {HIDDEN}\n",
        f'"{TOKEN[:2]}\\x5f{TOKEN[3:]}": {HIDDEN}\n',
    ],
)
def test_what_is_named_like_a_secret_is_never_shown(text: str, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(SMALL + text)
    for form in ("text", "json", "github", "sarif"):
        done = CliRunner().invoke(cli, ["check", str(file), "--format", form])
        assert done.exit_code == 1
        assert "p.yaml" in done.output
        assert "hunter2" not in done.output
        assert TOKEN[3:] not in done.output


def test_a_line_without_a_secret_is_still_shown() -> None:
    finding = only(SMALL + "secrets: {wandb: {secret: ok}}\nsite: X\n")
    assert finding.location is not None
    assert finding.location.text == "site: X"


def test_a_secret_in_a_key_is_refused_whatever_its_escapes() -> None:
    finding = only(SMALL + f'"{TOKEN[:2]}\\x5f{TOKEN[3:]}": 1\n')
    assert finding.rule == "secret-literal"
    assert finding.location is not None
    assert (finding.location.line, finding.location.text) == (4, "")


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *((name, True) for name in ("HF_TOKEN", "hf_token", "hftoken", "token", "WANDB_KEY", "WANDBKEY", "MYPASSWORD")),
        *((name, True) for name in ("wandb_key", "api_key", "apiKey", "dbpasswd", "MYCREDENTIALS", "logger.api_key")),
        *((name, False) for name in ("key", "KEY", "monkey", "MONKEY", "input_key", "sort_key", "SSH_PUBLIC_KEY")),
        *((name, False) for name in ("max_tokens", "secrets", "tokenizer", "keys", "secretary", "image_pull")),
    ],
)
def test_names_of_secrets(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        (f"labels: {{commit: {COMMIT}}}", False),
        (f"# made from {COMMIT}", False),
        (f"wandb: {COMMIT}", True),
        (f"# my Token: {COMMIT}", True),
        ("# sk-llama-70b-training-run-with-two-nodes", False),
        ("# sk-learn-and-PyTorch-training-run", False),
        ("# sk-ant-abcdefghijklmnopqrstu", True),
        ("# sk-proj-abcdefghijklmnopqrstu", True),
        ("# sk-Abcdefgh1jklmnopqrstuvwx", True),
        ("# sk-" + "0a" * 16, True),
    ],
)
def test_git_commits_and_words_are_no_keys(line: str, secret: bool) -> None:
    assert bool(find_secrets(line)) is secret
    assert looks_secret(line) is secret
    if secret:
        assert only(SMALL + line + "\n").rule == "secret-literal"
    else:
        parse_profile(SMALL + line + "\n")


def test_an_old_wandb_key_on_the_line_below_its_name_is_one() -> None:
    assert only(SMALL + f"workload:\n  overrides:\n    api_key:\n      {COMMIT}\n").rule == "secret-literal"


def test_a_commit_hash_in_a_digest_is_no_secret() -> None:
    image = "workload: {image: us-docker.pkg.dev/p/r/nemo-rl@sha256:" + "0a" * 32 + "}\n"
    assert parse_profile(SMALL + image)[0].workload.image


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_profiles_match_the_schema_they_point_to(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.startswith("# yaml-language-server: $schema=profile.schema.json\n")
    assert json.loads((path.parent / "profile.schema.json").read_text("utf-8")) == profile_schema()
    validator().validate(yaml.safe_load(text))


@cache
def validator() -> jsonschema.Draft202012Validator:
    """Of the profile's schema, which is checked once: that takes longer than all that is held to it."""
    schema = profile_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_schema_refuses_what_the_profile_refuses() -> None:
    assert validator().is_valid(yaml.safe_load(SMALL))
    for wrong in ("zome: x\n", "gpu: {pools: [{nodes: two}]}\n", "cluster: {release_channel: regular}\n"):
        assert not validator().is_valid(yaml.safe_load(SMALL + wrong))


def test_generated_documents_are_up_to_date() -> None:
    assert (ROOT / "profiles" / "profile.schema.json").read_text("utf-8") == schema_text()
    assert (ROOT / "docs" / "profile.md").read_text("utf-8") == reference_text()


def test_every_key_is_documented() -> None:
    rows = [line for line in reference_text().splitlines() if line.startswith("| `")]
    assert len(rows) > 100
    assert [row for row in rows if row.rstrip(" |").endswith("|") or row.split("|")[-2].strip() == ""] == []


@pytest.mark.parametrize("path", sorted(section_examples()))
def test_each_example_of_the_reference_is_a_profile(path: str) -> None:
    site_of(SMALL + section_examples()[path])


@pytest.mark.parametrize("path", sorted(closed_sets(load_catalog())), ids=".".join)
def test_the_schema_completes_and_refuses_what_the_catalog_knows(path: tuple[str, ...]) -> None:
    def profile(value: Any) -> dict[str, Any]:
        for part in reversed(path):
            value = [value] if part == EACH else {part: value}
        return {**yaml.safe_load(SMALL), **value}

    known = closed_sets(load_catalog())[path]
    for value in known:
        validator().validate(profile(value))
    other = 333 if isinstance(known[0], int) else "9.9.9" if known[0][0].isdigit() else "v9.9.9"
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(profile(other))
    validator().validate(profile(other) | {"catalog": ["mine.yaml"]})  # it may know more


def test_the_schema_has_examples_that_it_accepts() -> None:
    shown = 0
    for section in profile_schema()["$defs"].values():
        for field in section.get("properties", {}).values():
            for example in field.get("examples", ()):
                validator().evolve(schema=field).validate(example)
                shown += 1
    assert shown > 150
