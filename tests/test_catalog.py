"""The catalog: every entry dated, own files checked with file and entry named; and what GKE leaves of a node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from findings import UserError
from groundplan.catalog import SECTIONS, load_catalog
from groundplan.cli import cli
from groundplan.cluster.allocatable import allocatable, reserved_cpu_millis, reserved_memory_mib
from groundplan.site.check import check_file
from rules.support import text_of

A4 = {
    "vcpus": 224,
    "memory_gib": 3968,
    "gpu": {
        "accelerator": "nvidia-b300",
        "count": 8,
        "memory_gb": 288,
        "rdma_nics": 8,
        "tuner": "t.txtpb",
        "min_driver": 580,
        "min_gke": "1.34.0-gke.1",
    },
}


def own(folder: Path, text: str) -> Path:
    file = folder / "mine.yaml"
    file.write_text(text, "utf-8")
    return file


def test_every_entry_has_source_and_date() -> None:
    catalog = load_catalog()
    for section in SECTIONS:
        entries = catalog.entries(section)
        assert entries
        for name in entries:
            origin = catalog.provenance[section, str(name)]
            assert origin.source
            assert origin.date.startswith("20")


@pytest.mark.parametrize(
    ("machine", "vcpus", "memory"),
    [
        ("a4-highgpu-8g", 224, 3968),
        ("a3-ultragpu-8g", 224, 2952),
        ("n2-highmem-80", 80, 640),
        ("n2-highmem-128", 128, 864),
        ("e2-standard-16", 16, 64),
        ("c3-standard-22", 22, 88),
        ("n4-highmem-80", 80, 640),
    ],
)
def test_machine_types(machine: str, vcpus: int, memory: int) -> None:
    entry = load_catalog().machines[machine]
    assert (entry.vcpus, entry.memory_gib) == (vcpus, memory)


def test_own_entries_win_and_bring_their_source(tmp_path: Path) -> None:
    machines = {"a4-new-8g": A4, "n2-highmem-80": {"vcpus": 1, "memory_gib": 2}}
    text = f"source: our tests\ndate: 2027-01-01\nmachines: {json.dumps(machines)}\n"
    catalog = load_catalog((own(tmp_path, text),))
    assert catalog.machines["n2-highmem-80"].vcpus == 1
    assert catalog.machines["a4-highgpu-8g"].vcpus == 224
    assert catalog.provenance["machines", "a4-new-8g"].source == "our tests"
    assert load_catalog().machines["n2-highmem-80"].vcpus == 80, "another profile is not affected"


def test_a_profile_uses_its_own_machine_type(tmp_path: Path) -> None:
    own(tmp_path, f"machines: {json.dumps({'a4-new-8g': A4})}\n")
    profile = tmp_path / "p.yaml"
    profile.write_text(text_of({"catalog": ["mine.yaml"], "gpu.pools[0].machine_type": "a4-new-8g"}))
    assert [f.rule for f in check_file(profile).findings if f.rule == "gpu-machine"] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("machines: {m: {vcpu: 4, memory_gib: 2}}", ["`machines.m`", "unknown field `vcpu`", "did you mean `vcpus`"]),
        ("machines: {m: {vcpus: 4}}", ["`machines.m`", "`memory_gib` missing"]),
        ("machines: {m: {vcpus: four, memory_gib: 2}}", ["`machines.m` `vcpus`", "whole number"]),
        ("machines: {m: {vcpus: 4, memory_gib: 0}}", ["at least 1"]),
        ("machines: {m: [1]}", ["`machines.m`", "mapping"]),
        ("machines: {m: {vcpus: 4, memory_gib: 2, boot_disks: pd-ssd}}", ["`boot_disks`", "list"]),
        ("machines: {m: {vcpus: 4, memory_gib: 2, gpu: {count: 8}}}", ["`machines.m` gpu", "accelerator"]),
        ("tiers: {fast: {min: 1}}", ["`tiers.fast`", "throughput"]),
        ("tiers: {2000: {min: 1}}", ["`tiers.2000`", "step"]),
        ("gke: {dns_endpoint: 1.30}", ["`gke.dns_endpoint`", "in quotes"]),
        ("kuberay: {1.8.0: yes}", ["`kuberay.1.8.0`", "mapping"]),
        ("machine: {}", ["unknown section `machine`", "machines"]),
        ("machines: []", ["`machines` must be a mapping"]),
        ("[]", ["must hold mappings"]),
        ("machines: {", ["not valid YAML"]),
        ("machines: {" + "a: {" * 3000, ["not valid YAML"]),
    ],
)
def test_a_wrong_catalog_file_is_named_with_its_entry(tmp_path: Path, text: str, words: list[str]) -> None:
    file = own(tmp_path, text)
    with pytest.raises(UserError) as caught:
        load_catalog((file,))
    for word in ["mine.yaml", *words]:
        assert word in str(caught.value)


def test_a_wrong_catalog_file_is_a_finding_of_the_profile(tmp_path: Path) -> None:
    own(tmp_path, "machines: {m: {vcpus: 4}}")
    profile = tmp_path / "p.yaml"
    profile.write_text(text_of({"catalog": ["mine.yaml"]}))
    (finding,) = check_file(profile).findings
    assert (finding.rule, finding.location.line if finding.location else 0) == ("catalog-file", 5)


@pytest.mark.parametrize(
    "text", ["machines: {}\n# hf_" + "k4" * 17 + "\n", 'machines: {}\nsource: "hf\\x5f' + "k4" * 17 + '"\n']
)
def test_a_secret_in_a_catalog_file_is_refused_and_never_echoed(tmp_path: Path, text: str) -> None:
    own(tmp_path, text)
    profile = tmp_path / "p.yaml"
    profile.write_text(text_of({"catalog": ["mine.yaml"]}))
    (finding,) = check_file(profile).findings
    assert finding.rule == "catalog-file"
    assert "mine.yaml" in finding.message
    assert ("line 2" in finding.message) is ("#" in text)
    assert "k4k4" not in finding.message + finding.hint


def test_a_commit_in_a_catalog_file_is_no_secret(tmp_path: Path) -> None:
    load_catalog((own(tmp_path, "source: repo at " + "0123456789abcdef" * 2 + "01234567\nmachines: {}\n"),))


def test_the_command_prints_a_section_with_source_and_date() -> None:
    output = CliRunner().invoke(cli, ["catalog", "tiers"]).output
    assert "500" in output
    assert "18000" in output
    assert "2026-11-30" in output
    document = json.loads(CliRunner().invoke(cli, ["catalog", "machines", "--format", "json"]).output)
    entry = document["machines"]["a4-highgpu-8g"]
    assert entry["entry"]["gpu"]["accelerator"] == "nvidia-b200"
    assert entry["date"] == "2026-11-30"
    assert CliRunner().invoke(cli, ["catalog", "machine"]).exit_code == 2


@pytest.mark.parametrize(
    ("gib", "mib"),
    [
        (4, 1024),  # a quarter of the first 4 GiB
        (8, 1024 + 820),  # a fifth of the next 4 (819.2)
        (16, 1844 + 819),  # a tenth of the next 8: 1024 + 819.2 + 819.2
        (128, 9543),  # 6 % of the next 112: 2662.4 + 6881.28 = 9543.68, rounded up below
        (640, 9544 + 10486),  # 2 % above: 9543.68 + 10485.76 = 20029.44
    ],
)
def test_memory_that_gke_keeps(gib: int, mib: int) -> None:
    assert reserved_memory_mib(gib * 1024) - mib in (0, 1)


@pytest.mark.parametrize(
    ("vcpus", "millis"), [(1, 60), (2, 70), (4, 80), (8, 90), (16, 110), (32, 150), (96, 310), (224, 630)]
)
def test_cpu_that_gke_keeps(vcpus: int, millis: int) -> None:
    """The documented table: 6 % of the first, 1 % of the second, 0.5 % of the next two, 0.25 % of the rest."""
    assert reserved_cpu_millis(vcpus) == millis


def test_what_is_left_of_a_node() -> None:
    """n2-highmem-80: 655360 MiB - 20030 kept - 100 for eviction; 80 CPUs - 270 millis (and 400 more above 110 pods)."""
    machine = load_catalog().machines["n2-highmem-80"]
    assert allocatable(machine).memory_mib == 655360 - 20030 - 100
    assert allocatable(machine).cpu_millis == 80000 - 270
    assert allocatable(machine, 200).cpu_millis == 80000 - 670
