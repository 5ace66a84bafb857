"""What the tests of the command `check` share: profiles, and a run of it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from groundplan.cli import cli
from rules.support import text_of

GOOD = text_of({})
#: Two errors and a warning, and one finding that is ignored.
BAD = """\
project: my-project
zone: us-central1-b
reservation: my-reservation
network:
  primary:
    nat: {enabled: false}
storage:
  lustre:
    capacity_gib: 9000    # too small
    zone: us-central1-a
gpu:
  rdma: {mtu: 1460}
ignore:
  - rule: nat-off
    reason: images and models come from a mirror
"""
TOKEN = "hf_" + "A1b2" * 9


def check(folder: Path, *arguments: str, **profiles: str) -> Result:
    """Run check in `folder` on profiles given by name and text."""
    files = []
    for name, text in profiles.items():
        file = folder / f"{name}.yaml"
        file.write_text(text, "utf-8")
        files.append(str(file))
    return CliRunner().invoke(cli, ["check", *files, *arguments])
