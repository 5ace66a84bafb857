"""`groundplan check` as people meet it: text, exit codes, several profiles, ignores, the pages of rules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from checking import BAD, GOOD, check
from groundplan.cli import cli
from rules.support import text_of


def test_a_clean_profile_says_so_in_one_line(tmp_path: Path) -> None:
    result = check(tmp_path, a=GOOD)
    assert result.exit_code == 0
    assert result.output == f"{tmp_path}/a.yaml: ok, no findings\n"


def test_text_shows_place_line_caret_and_mend(tmp_path: Path) -> None:
    result = check(tmp_path, a=BAD)
    assert result.exit_code == 1
    assert (
        f"""\
error[lustre-capacity-least]: `storage.lustre.capacity_gib` 9000 is below 18000, the least for 500 MB/s per TiB
  --> {tmp_path}/a.yaml:9:19
   |
 9 |     capacity_gib: 9000    # too small
   |                   ^
  help: use `capacity_gib: 18000` or `throughput: 1000`
"""
        in result.output
    )
    assert "ignored[nat-off]" in result.output
    assert "reason: images and models come from a mirror" in result.output
    assert result.output.endswith("a.yaml: 2 errors, 1 warning, 1 ignored\n")


def test_findings_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    lines = [int(n) for n in re.findall(r"-->.*:(\d+):\d+", check(tmp_path, a=BAD).output)]
    assert lines == sorted(lines)
    assert len(lines) == 4


def test_what_is_not_written_shows_no_line_of_the_file(tmp_path: Path) -> None:
    """No caret under a comment or an unrelated key for a value that is a default."""
    text = "# a comment\nproject: my-project\nzone: us-central1-b\nreservation: {name: r}\nenvironment: prod\n"
    result = check(tmp_path, a=text)
    assert "error[backend-local-prod]" in result.output
    assert "a comment" not in result.output


def test_strict_refuses_warnings(tmp_path: Path) -> None:
    warn = text_of({"network.primary.nat.enabled": False})
    assert check(tmp_path, a=warn).exit_code == 0
    assert check(tmp_path, "--strict", a=warn).exit_code == 1
    ignored = text_of(
        {"network.primary.nat.enabled": False, "ignore": [{"rule": "nat-off", "reason": "a mirror is there"}]}
    )
    assert check(tmp_path, "--strict", a=ignored).exit_code == 0


def test_an_error_can_be_ignored_with_a_reason(tmp_path: Path) -> None:
    text = BAD + "".join(
        f"  - {{rule: {rule}, reason: tried in the cloud}}\n" for rule in ("lustre-capacity-least", "roce-mtu")
    )
    assert check(tmp_path, a=text).exit_code == 0


def test_an_ignore_without_a_reason_is_refused(tmp_path: Path) -> None:
    result = check(tmp_path, a=GOOD + "ignore: [{rule: nat-off}]\n")
    assert result.exit_code == 1
    assert "`ignore[0].reason` is missing" in result.output


def test_as_of(tmp_path: Path) -> None:
    exclusion = {"name": "run", "start": "2026-01-01T00:00:00Z", "end": "2026-01-16T00:00:00Z"}
    text = text_of({"cluster.maintenance.exclusions": [exclusion]})
    assert check(tmp_path, a=text).exit_code == 0
    assert check(tmp_path, "--as-of", "2026-01-16", a=text).exit_code == 0
    assert "exclusion-expired" in check(tmp_path, "--as-of", "2026-01-17", a=text).output
    assert check(tmp_path, "--as-of", "tomorrow", a=text).exit_code == 2


def test_usage_errors_exit_2(tmp_path: Path) -> None:
    assert check(tmp_path, "--format", "xml", a=GOOD).exit_code == 2
    assert check(tmp_path, "--stric", a=GOOD).exit_code == 2


def test_several_profiles_all_findings_in_one_go(tmp_path: Path) -> None:
    result = check(tmp_path, a=BAD, b="project: p\nzome: x\n", c=GOOD.replace("my-project", "other-project"))
    assert result.exit_code == 1
    for words in ("a.yaml:9:19", "b.yaml:2:1", "unknown key `zome`", "did you mean `zone`", "c.yaml"):
        assert words in result.output
    assert "3 profiles: " in result.output


def test_the_same_file_twice_is_one_profile(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(GOOD)
    result = CliRunner().invoke(cli, ["check", str(file), str(file)])
    assert result.output == f"{file}: ok, no findings\n"


def test_no_profile_takes_that_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD)
    monkeypatch.setenv("GROUNDPLAN_PROFILE", str(tmp_path / "mine.yaml"))
    assert "mine.yaml: ok" in CliRunner().invoke(cli, ["check"]).output


def test_missing_file_is_a_finding_without_traceback(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["check", str(tmp_path / "none.yaml")])
    assert result.exit_code == 2
    assert "no such file" in result.output


def test_rules_explain_and_markdown() -> None:
    listed = CliRunner().invoke(cli, ["rules"]).output
    assert "pod-range-size" in listed
    page = CliRunner().invoke(cli, ["explain", "pod-range-size"])
    assert page.exit_code == 0
    for part in ("IP_SPACE_EXHAUSTED", "Source:", "Mend:"):
        assert part in page.output
    wrong = CliRunner().invoke(cli, ["explain", "pod-range-sice"])
    assert wrong.exit_code == 2
    assert "did you mean pod-range-size" in wrong.output


def test_the_docs_page_of_the_rules_is_current() -> None:
    written = (Path(__file__).parent.parent / "docs" / "rules.md").read_text("utf-8")
    assert CliRunner().invoke(cli, ["rules", "--markdown"]).output == written, "run scripts/docs-rules"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "groundplan", *arguments], capture_output=True, text=True, check=False)


def test_check_loads_neither_cdktf_nor_node(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(BAD)
    program = (
        "import sys\n"
        "from groundplan.site.check import check_files\n"
        "from pathlib import Path\n"
        "import groundplan.commands.check, groundplan.emit.check_reports\n"
        f"assert check_files([Path({str(file)!r})])[0].findings\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'cdktf', 'jsii', 'constructs', 'grpc', 'jinja2', 'cdktf_cdktf_provider_google'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_check_of_200_profiles(tmp_path: Path) -> None:
    for number in range(200):
        edits = {"site": f"site-{number}", "project": f"project-{number % 20}", "gpu.pools[0].nodes": number + 1}
        (tmp_path / f"{number}.yaml").write_text(text_of(edits), "utf-8")
    files = [str(file) for file in sorted(tmp_path.glob("*.yaml"))]
    done = run("check", *files)
    assert done.returncode in (0, 1), done.stderr
    assert "200 profiles" in done.stdout
    clashes = re.findall(r"^warning\[fleet-ranges-alike\]", done.stdout, re.MULTILINE)
    assert len(clashes) == 180, "the first site of each of 20 projects has nothing to clash with"


def test_one_profile_with_512_pools(tmp_path: Path) -> None:
    pools = [{"name": f"pool-{n}", "nodes": 2, "max_pods_per_node": 32} for n in range(512)]
    wide = {"network.primary.nodes": "10.0.0.0/20", "gpu.gvnic.cidr": "10.32.0.0/20"}
    rdma = {"gpu.rdma.cidrs": [f"10.{33 + n}.0.0/20" for n in range(8)]}
    (tmp_path / "a.yaml").write_text(text_of({"gpu.pools": pools, **wide, **rdma}))
    done = run("check", str(tmp_path / "a.yaml"))
    assert done.returncode == 0, done.stdout
