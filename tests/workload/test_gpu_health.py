"""The checks of one machine, on what nvidia-smi said of a real H200 and on edits of it that each break one thing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from groundplan.cli import cli
from groundplan.workload import gpu_health
from groundplan.workload.gpu_health import Check, options

HEALTHY = Path(__file__).with_name("nvidia_smi_h200.xml").read_text("utf-8")
#: As `nvidia-smi nvlink -s` prints them; written in its form, not recorded (the recorded machine has no links).
LINKS = "GPU 0: NVIDIA H200 (UUID: GPU-0)\n" + "".join(f"\t Link {n}: 26.562 GB/s\n" for n in range(18))


def expected(*arguments: str) -> Namespace:
    return options().parse_args(arguments)


def of_gpu(listing: str, *arguments: str) -> dict[str, Check]:
    return {check.name: check for check in gpu_health.gpu_checks(listing, expected(*arguments))}


def test_a_real_h200_passes() -> None:
    found = of_gpu(HEALTHY, "--gpus", "1", "--min-driver", "570")
    assert [check.passed for check in found.values()] == [True] * 5
    assert found["count"].found == "1 x NVIDIA H200"
    assert found["driver"].found == "580.159.04"
    assert found["clocks"].found == "SM 345 MHz of 1980 MHz, 42 C"


BROKEN = [
    ("<dram_uncorrectable>0", "<dram_uncorrectable>3", "ECC", "dram_uncorrectable 3", 10),
    ("<sram_uncorrectable_secded>0", "<sram_uncorrectable_secded>1", "ECC", "sram_uncorrectable_secded 1", 10),
    ("<unrepairable_memory>No", "<unrepairable_memory>Yes", "ECC", "unrepairable_memory", 10),
    ("<current_ecc>Enabled", "<current_ecc>Disabled", "ECC", "Disabled", 10),
    ("<remapped_row_pending>No", "<remapped_row_pending>Yes", "remapped rows", "pending", 10),
    ("<remapped_row_failure>No", "<remapped_row_failure>Yes", "remapped rows", "failure", 10),
    ("hw_thermal_slowdown>Not Active", "hw_thermal_slowdown>Active", "clocks", "hw_thermal_slowdown", 10),
    ("hw_power_brake_slowdown>Not Active", "hw_power_brake_slowdown>Active", "clocks", "hw_power_brake_slowdown", 10),
    ("<driver_version>580", "<driver_version>550", "driver", "550.159.04", 12),
]


@pytest.mark.parametrize(("good", "bad", "name", "said", "code"), BROKEN, ids=[each[1] for each in BROKEN])
def test_each_fault_of_a_gpu_is_found(good: str, bad: str, name: str, said: str, code: int) -> None:
    assert good in HEALTHY
    listing = HEALTHY.replace(good, bad, 1)
    found = of_gpu(listing, "--gpus", "1", "--min-driver", "570")
    assert [check.name for check in found.values() if not check.passed] == [name]
    assert said in found[name].found
    assert gpu_health.exit_code(list(found.values())) == code


def test_aggregate_errors_of_the_past_and_correctable_ones_are_no_fault() -> None:
    before, volatile, rest = HEALTHY.partition("</volatile>")
    listing = before.replace("<dram_correctable>0", "<dram_correctable>9") + volatile
    listing += rest.replace("<dram_uncorrectable>0", "<dram_uncorrectable>4")
    assert all(check.passed for check in of_gpu(listing).values())


def test_a_gpu_that_is_missing() -> None:
    count = of_gpu(HEALTHY, "--gpus", "8")["count"]
    assert not count.passed and count.line().startswith(
        "FAILED  node    count           1 x NVIDIA H200; expected 8 GPUs"
    )
    with pytest.raises(ValueError, match="no XML"):
        of_gpu("NVIDIA-SMI has failed")


@pytest.mark.parametrize(
    ("listing", "said"),
    [
        (LINKS, ""),
        (LINKS.replace("Link 3: 26.562 GB/s", "Link 3: <inactive>"), "17 links, 452 GB/s in all, 1 inactive"),
        (LINKS.replace("Link 3: 26.562 GB/s", "Link 3: 13.281 GB/s"), "18 links, 465 GB/s in all"),
        ("", "none"),
    ],
)
def test_links(listing: str, said: str) -> None:
    (check,) = gpu_health.link_checks(listing, 1, 18)
    assert check.passed is not bool(said)
    assert said in check.found
    (shown,) = gpu_health.link_checks(listing, 1, 0)
    assert shown.passed


def test_rdma_ports(tmp_path: Path) -> None:
    for n, state in enumerate(("4: ACTIVE", "1: DOWN")):
        port = tmp_path / f"sys/class/infiniband/mlx5_{n}/ports/1"
        port.mkdir(parents=True)
        (port / "state").write_text(f"{state}\n")
    (check,) = gpu_health.nic_checks(2, tmp_path)
    assert not check.passed and check.found == "2 RDMA devices, not active: mlx5_1 DOWN"
    (tmp_path / "sys/class/infiniband/mlx5_1/ports/1/state").write_text("4: ACTIVE\n")
    assert [each.passed for each in gpu_health.nic_checks(2, tmp_path)] == [True]
    assert [each.passed for each in gpu_health.nic_checks(8, tmp_path)] == [False]


#: As gpu_speed.py printed it on one H200, 2026-12-04.
MEASURED: dict[str, Any] = {"gpu": 0, "hbm_tb_per_s": 4.27, "bf16_tflops": 789.7, "nccl": "2.28.9"}


@pytest.mark.parametrize(
    ("edit", "failed", "code"),
    [
        ({}, [], 0),
        ({"hbm_tb_per_s": 3.5}, ["HBM"], 13),
        ({"bf16_tflops": 450.0}, ["bf16"], 13),
        ({"nccl": "2.27.5"}, ["NCCL"], 12),
        ({"error": "no answer within 30 s"}, ["measurement"], 2),
    ],
)
def test_speeds(edit: dict[str, Any], failed: list[str], code: int) -> None:
    wanted = expected("--hbm-tb-per-s", "4.8", "--bf16-tflops", "989", "--nccl", "2.28.9")
    checks = list(gpu_health.speed_checks([MEASURED | edit], wanted))
    assert [check.name for check in checks if not check.passed] == failed
    assert gpu_health.exit_code(checks) == code


def test_speeds_are_told_as_shares_of_the_published_ones() -> None:
    hbm, bf16, _ = gpu_health.speed_checks([MEASURED], expected("--hbm-tb-per-s", "4.8", "--bf16-tflops", "989"))
    assert (hbm.found, bf16.found) == ("4.3 TB/s, 89% of the published 4.8", "789.7 TFLOP/s, 80% of the published 989")
    plain = gpu_health.speed_checks([MEASURED], expected())
    assert all(check.passed and "published" not in check.found for check in plain)


def test_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mount = tmp_path / "lustre"
    mount.mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) in (mount, Path("/")))
    (good,) = gpu_health.storage_checks(str(mount / "job"), "", 0)
    assert good.passed and f"{mount / 'job'} on {mount}: written and read" in good.found
    assert list((mount / "job").iterdir()) == []
    (elsewhere,) = gpu_health.storage_checks(str(tmp_path / "job"), "", 0)
    assert not elsewhere.passed and "the machine's own disk" in elsewhere.found
    (mount / "file").touch()
    (blocked,) = gpu_health.storage_checks(str(mount / "file" / "job"), "", 0)
    assert not blocked.passed and "Not a directory" in blocked.found
    assert [each.passed for each in gpu_health.storage_checks("", str(tmp_path / "new"), 0)] == [True]
    assert [each.passed for each in gpu_health.storage_checks("", str(tmp_path), 1 << 40)] == [False]


def machine(folder: Path, listing: str = HEALTHY, links: str = LINKS) -> dict[str, str]:
    """An environment whose nvidia-smi prints these."""
    (folder / "q.xml").write_text(listing)
    (folder / "links").write_text(links)
    tool = folder / "nvidia-smi"
    tool.write_text(f'#!/bin/sh\n[ "$1" = nvlink ] && exec cat {folder}/links\nexec cat {folder}/q.xml\n')
    tool.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_the_program_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    program = [sys.executable, gpu_health.__file__, "--gpus", "2", "--nvlinks", "18", "--quick"]
    found = tmp_path / "new" / "node.json"
    done = subprocess.run(
        [*program, "--json", str(found)], env=machine(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 10, done.stderr
    assert "ok      GPU 0   NVLink          18 links, 478 GB/s in all" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("1 failed")
    result = json.loads(found.read_text())
    assert (result["passed"], result["exit_code"]) == (False, 10)
    assert [check["name"] for check in result["checks"] if not check["passed"]] == ["count"]
    (tmp_path / "file").touch()
    done = subprocess.run(
        [*program, "--json", str(tmp_path / "file" / "x")],
        env=machine(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == f"{tmp_path / 'file' / 'x'}: File exists\n"


def test_without_torch_the_measurement_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, gpu_health.__file__], env=machine(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "FAILED  GPU 0   measurement     ModuleNotFoundError: No module named 'torch'" in done.stdout


def test_without_a_driver_the_tool_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = gpu_health.all_checks(expected())
    assert found.kind == "tools" and found.found.startswith("nvidia-smi is not here")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--machine-type", "a3-ultragpu-8"], "did you mean a3-ultragpu-8g?"),
        (["--machine-type", "n2-standard-8"], "no GPU machine of the catalog"),
        (["--accelerator", "nvidia-h300"], "is not known; known: nvidia-b200"),
        (["--python", "no-such-python"], "no such interpreter"),
    ],
)
def test_the_command_refuses_what_it_does_not_know(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(cli, ["node-check", *arguments])
    assert said in str(result.exception)


def test_the_command_gives_the_program_what_the_catalog_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []

    def run(command: list[str], **_: object) -> Namespace:
        called.append(command)
        return Namespace(returncode=13)

    monkeypatch.setattr(subprocess, "run", run)
    result = CliRunner().invoke(cli, ["node-check", "--machine-type", "a3-ultragpu-8g", "--quick", "--json", "x"])
    assert result.exit_code == 13
    words = called[0][3:]
    given = dict(zip(words[:-1:2], words[1:-1:2], strict=True))
    assert given == {
        "--gpus": "8",
        "--json": "x",
        "--rdma": "8",
        "--min-driver": "550",
        "--hbm-tb-per-s": "4.8",
        "--bf16-tflops": "989",
        "--nvlinks": "18",
    }
    CliRunner().invoke(cli, ["node-check", "--accelerator", "nvidia-h200"])
    assert "--gpus" not in called[1] and "--nvlinks" not in called[1] and "4.8" in called[1]
