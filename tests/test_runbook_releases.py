"""What the run-book says of Helm releases: on this very site's names, which are those that the stacks install."""

from __future__ import annotations

import re

import pytest
import yaml

from groundplan.emit.artefacts import runbook as written
from groundplan.site.profile import parse_profile
from groundplan.site.releases import site_releases
from groundplan.site.resolve import resolve
from sites import SMALL, Synthesized, synthesized
from test_synth import SITES, TERRAFORM_CLOUD

GROWS = "autoscaling: {min: 0, max: 4}"
KUEUE = SMALL + "platform: {namespace: training, kueue: {enabled: true}}\n"


def runbook(site: Synthesized) -> str:
    return (site.folder / "runbook.md").read_text("utf-8")


@pytest.mark.parametrize("text", [*SITES.values(), KUEUE], ids=[*SITES, "kueue"])
def test_each_release_can_be_imported_again_by_its_own_name(text: str) -> None:
    site = synthesized(text)
    installed = {
        f"terraform -chdir=stacks/{site.site.stack_name(stack)} "
        f"import helm_release.{id_} {each['namespace']}/{each['name']}"
        for stack in ("platform", "workload")
        for id_, each in site.stacks[stack]["resource"].get("helm_release", {}).items()
    }
    assert set(re.findall(r"^ +(terraform \S+ import helm_release\..*)$", runbook(site), re.MULTILINE)) == installed


def test_the_names_of_a_site_with_a_queue() -> None:
    text = runbook(synthesized(KUEUE))
    table = re.findall(r"^\| nemo-rl-\w+ \| `(helm_release\.\w+)` \| `(\S+)` \|$", text, re.MULTILINE)
    assert table == [
        ("helm_release.networks", "training/nemo-rl-networks"),
        ("helm_release.gib", "kube-system/nemo-rl-gib"),
        ("helm_release.kuberay", "kuberay-system/kuberay-operator"),
        ("helm_release.kueue", "kueue-system/kueue"),
        ("helm_release.queue", "training/nemo-rl-queue"),
        ("helm_release.job", "training/nemo-rl-job"),
    ]


@pytest.mark.parametrize(
    ("pool", "kueue", "own"), [("nodes: 2", False, False), (GROWS, False, True), (GROWS, True, False)]
)
def test_a_job_on_a_pool_that_grows_has_a_release_of_its_own(pool: str, kueue: bool, own: bool) -> None:
    """Helm would make the new job's pods beside the old one's, and the autoscaler nodes for both; Terraform destroys
    a release of another name first. On nodes that are there, and under Kueue, the new job waits by itself."""
    text = (
        f"{SMALL}gpu: {{pools: [{{{pool}}}]}}\nplatform: {{kueue: {{enabled: {str(kueue).lower()}, topology: none}}}}\n"
    )
    releases = {}
    for run in (1, 2):
        of = resolve(parse_profile(f"{text}workload: {{run: {run}}}\n")[0])
        assert of.job
        releases[of.job.name] = site_releases(of)["job"].name
        assert (releases[of.job.name] == f"nemo-rl-job-{of.job.name[-8:]}") == own
    assert len(set(releases.values())) == (2 if own else 1)


def test_the_finalizer_is_taken_off_the_job() -> None:
    """K4: it is KubeRay's on the RayJob; the RayCluster has none, and goes with its owner."""
    site = synthesized(SMALL)
    job = next(each for each in site.manifests("workload", "job").values() if each["kind"] == "RayJob")
    (patch,) = (line for line in re.findall(r"kubectl \S+ \S+ patch .*", runbook(site)) if "finalizers" in line)
    assert f" patch rayjob {job['metadata']['name']} --type=merge" in patch
    assert "patch raycluster" not in runbook(site)


def test_the_log_is_the_first_command_and_is_read_after_the_pods_have_gone() -> None:
    site = synthesized(SMALL)
    job = site.site.job
    assert job
    followed = runbook(site).partition("## Follow the job")[2]
    _, first, _, second = followed.split("```sh\n")[1].splitlines()[:4]
    assert f' "$HEAD" -c ray-head -- tail -n 100 -F /data/jobs/{job.name}/train.log ' in first
    assert "-c ray-head -- ray job logs --follow " in second
    assert f"exec lustre-shell -- tail -n 1000 /data/jobs/{job.name}/train.log" in followed


def test_how_to_see_that_asynchronous_grpo_stands_still() -> None:
    asynchronous = {"grpo.async_grpo.enabled": True}
    of = resolve(parse_profile(SMALL + yaml.safe_dump({"workload": {"overrides": asynchronous}}))[0])
    assert "Wait iteration" in written(of, "site.yaml")
    assert "Wait iteration" not in runbook(synthesized(SMALL))


def test_the_way_out_of_a_killed_install_and_of_an_emptied_state() -> None:
    text = runbook(synthesized(SMALL))
    assert "`pending-install`" in text and "`helm -n NAMESPACE uninstall NAME --wait`" in text
    assert "cp ../terraform.STACK.tfstate.backup ../terraform.STACK.tfstate" in text
    assert "tfstate.backup" not in runbook(synthesized(TERRAFORM_CLOUD)), "its states are Terraform Cloud's"


def test_the_local_state_is_where_the_run_book_looks() -> None:
    """It stands two folders above the stack's parent, so beside the output folder, which the commands run in."""
    site = synthesized(SMALL)
    backend = site.stacks["workload"]["terraform"]["backend"]["local"]
    assert backend == {"path": "../../../terraform.nemo-rl-workload.tfstate"}


def test_kueue_is_switched_off_when_no_job_is_in_it() -> None:
    row = "| Kueue off, or another queue | `platform.kueue` | destroy nemo-rl-workload, apply nemo-rl-platform, apply"
    assert row in runbook(synthesized(KUEUE))
    assert "Kueue" not in runbook(synthesized(SMALL))
