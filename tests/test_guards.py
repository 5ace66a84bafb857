"""Each guard is given something to catch, and numbers are checked against ones worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from findings import UserError
from findings.redaction import MASK, PATTERNS, Pattern, find_secrets, is_secret_name, is_secret_path, mask_secrets
from groundplan.cluster.allocatable import EVICTION_MIB, reserved_cpu_millis, reserved_memory_mib
from groundplan.emit import app
from groundplan.kernel.addresses import pod_block


def written(folder: Path, text: str) -> Path:
    file = folder / "stacks" / "lab-gpu" / app.TERRAFORM_FILE
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize("token", ["${TfToken[TOKEN.7]}", "TfToken[name.3]", "${TFTOKEN.12}", "Token[TOKEN.41]"])
def test_an_unresolved_token_is_refused_with_its_line(tmp_path: Path, token: str) -> None:
    text = json.dumps({"resource": {"google_compute_network": {"a": {"name": f"x{token}"}}}}, indent=1)
    line = next(number for number, each in enumerate(text.splitlines(), 1) if token in each)
    with pytest.raises(UserError, match=rf"cdk\.tf\.json:{line} holds an unresolved token"):
        app._inspect("lab-gpu", written(tmp_path, text), tmp_path)


def test_terraform_references_are_no_tokens(tmp_path: Path) -> None:
    text = json.dumps({"resource": {"t": {"a": {"x": "${data.google_project.p.number}", "y": "$${TOKEN}"}, "b": {}}}})
    assert app._inspect("lab-gpu", written(tmp_path, text), tmp_path).resources == {"t": 2}


@pytest.mark.parametrize(("length", "refused"), [(4000, False), (4001, True)])
def test_a_text_that_no_reviewer_sees_change_is_refused(tmp_path: Path, length: int, refused: bool) -> None:
    text = json.dumps({"resource": {"helm_release": {"job": {"values": ["short", "x" * length]}}}})
    out = written(tmp_path, text)
    if not refused:
        assert app._inspect("lab-gpu", out, tmp_path).resources == {"helm_release": 1}
        return
    with pytest.raises(UserError, match=r"resource\.helm_release\.job\.values\.1 is a text of 4001 characters"):
        app._inspect("lab-gpu", out, tmp_path)


@pytest.mark.parametrize(
    "secret",
    ["hf_" + "a1" * 10, "nvapi-" + "b2" * 12, "ghp_" + "c3" * 12, "glpat-" + "d4" * 10, "AKIA" + "A2" * 8, "0f" * 20],
)
def test_secrets_are_masked(secret: str) -> None:
    assert mask_secrets(f"before {secret} after") == f"before {MASK} after"


@pytest.mark.parametrize(
    ("pods", "addresses"), [(8, 16), (9, 32), (32, 64), (33, 128), (64, 128), (110, 256), (256, 512)]
)
def test_pod_addresses_of_a_node(pods: int, addresses: int) -> None:
    """The table of cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr: 8 pods a /28, 110 a /24."""
    assert pod_block(pods) == addresses


@pytest.mark.parametrize(
    ("vcpus", "pods", "millis"),
    [
        (1, 110, 60),
        (2, 110, 70),  # 60 + 10
        (4, 110, 80),  # 60 + 10 + 5 + 5
        (5, 110, 83),  # 80 + 2.5, rounded up
        (16, 110, 110),  # 80 + 12 x 2.5
        (224, 110, 630),  # 80 + 220 x 2.5
        (16, 111, 510),  # 400 more above 110 pods
    ],
)
def test_cpu_that_gke_keeps(vcpus: int, pods: int, millis: int) -> None:
    assert reserved_cpu_millis(vcpus, pods) == millis


@pytest.mark.parametrize(
    ("gib", "mib"),
    [
        (4, 1024),  # a quarter of 4 GiB
        (8, 1844),  # 1024 + 819.2, rounded up
        (16, 2663),  # 1843.2 + 819.2 = 2662.4
        (128, 9544),  # 2662.4 + 6881.28 = 9543.68
        (228, 11592),  # 9543.68 + 2048 = 11591.68
    ],
)
def test_memory_that_gke_keeps(gib: int, mib: int) -> None:
    assert reserved_memory_mib(gib * 1024) == mib
    assert EVICTION_MIB == 100


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda each: each.name)
def test_a_pattern_catches_its_example_and_not_its_near_miss(pattern: Pattern) -> None:
    assert [what for _, _, what in find_secrets(f"key = {pattern.example}")] == [pattern.name]
    assert mask_secrets(f"key = {pattern.example[:200]}").startswith(f"key = {MASK}")
    assert find_secrets(f"key = {pattern.near_miss}") == []
    assert mask_secrets(f"key = {pattern.near_miss}") == f"key = {pattern.near_miss}"


@pytest.mark.parametrize(
    "word", ["MON", "TUR", "DON", "HOC", "JOC", "WHIS", "HOT", "PUB", "PUBLIC_", "SORT_", "FOREIGN_", "PRIMARY_"]
)
def test_words_that_end_like_a_key_are_none(word: str) -> None:
    assert not is_secret_name(f"{word}KEY")
    assert is_secret_name("MYKEY")


def test_places_that_are_never_shown() -> None:
    assert is_secret_path(("secrets", "hugging_face", "revision"))
    assert is_secret_path(("workload", "environment", "HF_TOKEN"))
    assert not is_secret_path(("workload", "secrets", 0))
    assert not is_secret_path(())
