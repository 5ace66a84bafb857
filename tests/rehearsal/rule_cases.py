"""What each rule of rehearsals is given, as YAML: an input that trips it, and a near twin that does not."""

from __future__ import annotations

_PINS = """\
# a stack's cdk.tf.json
terraform:
  required_providers:
    {name}: {{source: {source}, version: {version}}}
"""


def _run(command: str, diagnostic: str = "") -> tuple[str, str]:
    bad = f"# terraform {command}\ncode: 1\nmessages:\n- {{severity: error, summary: {diagnostic}}}\n"
    return bad, f"# terraform {command}\ncode: 0\nmessages: []\n"


REHEARSAL_CASES: dict[str, tuple[str, str]] = {
    "rehearsal-provider": (
        _PINS.format(name="aws", source="hashicorp/aws", version="6.0.0"),
        _PINS.format(name="helm", source="hashicorp/helm", version="3.1.1"),
    ),
    "rehearsal-version": (
        _PINS.format(name="helm", source="hashicorp/helm", version="2.17.0"),
        _PINS.format(name="helm", source="hashicorp/helm", version="3.1.1"),
    ),
    "rehearsal-fault": (
        "# faults that hit nothing\n- stock-out:google_tpu_v2_vm\n",
        "# faults that hit nothing\n[]\n",
    ),
    "rehearsal-perpetual-diff": (
        "# terraform plan -detailed-exitcode, after the apply\ncode: 2\nchanges: {google_compute_network.n: update}\n",
        "# terraform plan -detailed-exitcode, after the apply\ncode: 0\nchanges: {}\n",
    ),
    "rehearsal-left-behind": (
        "# what is there after the destroy\n- [google_compute_network, projects/p/global/networks/n]\n",
        "# what is there after the destroy\n- [google_project_service, p/compute.googleapis.com]\n",
    ),
    "rehearsal-init": _run("init", "Failed to query available provider packages"),
    "rehearsal-validate": _run("validate", "Unsupported argument"),
    "rehearsal-plan": _run("plan", "Provider configuration not present"),
    "rehearsal-apply": _run("apply", "The Compute Engine API is not enabled"),
    "rehearsal-re-plan": _run("plan", "Reference to undeclared resource"),
    "rehearsal-lift": _run("apply, deletion_protection false", "Error updating Cluster"),
    "rehearsal-destroy": _run("destroy", "The network resource is already being used"),
}
