"""The run-book's commands are such as gcloud, kubectl and a shell accept, by their own grammar, without a cloud."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from groundplan.emit.artefacts import runbook
from sites import ROOT, SMALL, site_of
from synth_sites import EXISTING, FULL

PROFILES = {
    "full": FULL,
    "existing": EXISTING,
    "checked": SMALL
    + "workload: {recipe: grpo-llama3.1-8b-gsm8k, preflight: {enabled: true}, prefetch: {enabled: true}, "
    + "export: {enabled: true}}\nplatform: {kueue: {enabled: true}}\n",
    "cluster": SMALL + "workload: {mode: cluster}\n",
}
TEXTS = {name: runbook(site_of(text), "p.yaml") for name, text in PROFILES.items()}


def blocks(text: str) -> list[str]:
    return re.findall(r"^ *```sh\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)


def commands(program: str) -> list[str]:
    found = []
    for text in [*TEXTS.values(), (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")]:
        found += re.findall(rf"`({program} [^`]+)`", text)
        for line in "\n".join(blocks(text)).replace("\\\n", " ").splitlines():
            for command in re.findall(rf"(?:^ *|\$\(|\| )({program} .*)", line):
                command = command.partition("   #")[0].partition(" <<")[0]
                found.append(command.removesuffix(")") if "$(" in line and command.endswith(")") else command)
    plain = (re.sub(r'"?\$HEAD"?', "pod/head", " ".join(each.split())) for each in dict.fromkeys(found))
    # Named in a sentence, as the command that does not work.
    return [re.sub(r'"?\$\w+"?', "some-name", each) for each in plain if each != "gcloud services vpc-peerings delete"]


def test_the_commands_are_found() -> None:
    assert len(commands("gcloud")) > 8
    assert len(commands("kubectl")) > 15


@pytest.mark.skipif(shutil.which("gcloud") is None, reason="gcloud is not installed")
def test_gcloud_knows_its_commands(tmp_path: Path) -> None:
    """By gcloud's own static check, which needs neither network nor account."""
    file = tmp_path / "commands.json"
    file.write_text(json.dumps([{"command_string": each} for each in [*commands("gcloud"), "gcloud storage rmm x"]]))
    done = subprocess.run(
        ["gcloud", "meta", "lint-gcloud-commands", f"--commands-file={file}"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CLOUDSDK_CORE_DISABLE_PROMPTS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    answers = json.loads(done.stdout)
    wrong = {each["command_string"]: each["error_message"] for each in answers if not each["success"]}
    assert list(wrong) == ["gcloud storage rmm x"], wrong


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("command", commands("kubectl"))
def test_kubectl_parses(command: str, tmp_path: Path) -> None:
    """It gets as far as an API that is not there."""
    words = shlex.split(command)
    options = ["--server=http://127.0.0.1:1", "--request-timeout=1s"]
    done = subprocess.run(
        [words[0], *options, *words[1:]],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        input="",
    )
    refused = re.search(r"unknown (?:shorthand )?(?:flag|command)|invalid argument|requires|must specify", done.stderr)
    assert refused is None, done.stderr


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_shell_parses_the_blocks(name: str) -> None:
    for block in blocks(TEXTS[name]):
        assert subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True, check=False).stderr == ""


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_the_pod_that_reads_results_fits_the_site(name: str) -> None:
    (text,) = re.findall(r"<<'POD'\n(.*?)^POD$", TEXTS[name], re.MULTILINE | re.DOTALL)
    pod = yaml.safe_load(text)
    site = site_of(PROFILES[name])
    assert site.job
    assert pod["spec"]["containers"][0]["image"] == site.job.image
    assert pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] == site.job.volumes.shared.claim
    assert pod["metadata"]["namespace"] == site.job.namespace


def test_what_an_operator_looks_for_is_said() -> None:
    checked, cluster, full = TEXTS["checked"], TEXTS["cluster"], TEXTS["full"]
    for words in (
        "### Stop it, and go on",
        "## Results",
        "-prefetch -f",
        "`FAILED`",
        "/checkpoints/step_N/hf",
        "workloads,localqueues",
    ):
        assert words in checked
    assert "To take it away: `terraform -chdir=stacks/nemo-rl-workload destroy`" in cluster
    assert "gcloud storage rm gs://full-checkpoints/** --recursive --all-versions" in full
    assert "export TF_VAR_hugging_face=none" in full
    assert "state list" in full
    assert "groundplan review -" in full
