"""Rehearsals with what groundplan knows: facts of the providers, the order of a site's stacks, its cache."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import staged_terraform
from groundplan.catalog import shipped
from groundplan.site.resolve import Site
from groundplan.site.stacks import kind_of, rank
from staged_terraform import Facts, Knowledge, Options, Progress, Report, SchemaChanges


@functools.cache
def provider_facts() -> Facts:
    """The catalog's facts (``catalog/provider_facts.yaml``), read once."""
    return Facts.from_data(shipped("provider_facts"))


@functools.cache
def schema_changes() -> SchemaChanges:
    """The providers that the output pins (``catalog/provider_changes.yaml`` and ``provider_data.yaml``), read once."""
    data = shipped("provider_changes")
    return SchemaChanges(data["versions"], data["resources"], data["ephemeral"], shipped("provider_data")["data"])


def knowledge() -> Knowledge:
    """What groundplan tells a rehearsal."""
    return Knowledge(provider_facts(), kind_of, rank, _cache(), schema_changes())


def outside_of(site: Site) -> frozenset[tuple[str, str]]:
    """What a profile says exists already, as (type, name): a rehearsal takes it to be there."""
    found = {("google_storage_bucket", bucket.name) for bucket in site.buckets if bucket.spec.exists}
    if site.network.exists:
        found |= {
            ("google_compute_network", site.network.vpc),
            ("google_compute_subnetwork", site.network.subnetwork),
        }
    for network in site.nic_networks:
        if network.exists:
            found |= {("google_compute_network", network.name)}
            found |= {("google_compute_subnetwork", name) for name in network.subnetworks}
    return frozenset(found)


def rehearse(synth_output: Path, options: Options, progress: Progress | None = None) -> Report:
    """Rehearse a site's output. Raises what `staged_terraform.rehearse` raises."""
    return staged_terraform.rehearse(synth_output, options, progress, knowledge())


def _cache() -> Path:
    """$GROUNDPLAN_CACHE, else the user's cache folder for groundplan."""
    if chosen := os.environ.get("GROUNDPLAN_CACHE"):
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "groundplan"
