"""The catalog's facts of the providers, as the comparison of two configurations asks for them."""

from __future__ import annotations

import functools

from groundplan.catalog import shipped
from plan_review.configurations import BUILT_IN, Known, identifying
from staged_terraform import condition, expand


@functools.cache
def known(kind: str) -> Known:
    """What the catalog knows of a type (``catalog/provider_facts.yaml``); for others what identifies them."""
    guess = identifying(kind)
    if kind in BUILT_IN:
        return guess
    types = shipped("provider_facts")["types"]
    entry = {**types.get(kind.partition("_")[0] + "_*", {}), **types.get(kind, {})}
    force_new = expand(entry["force_new"]) if "force_new" in entry else guess.force_new
    conditions = {path: condition(name) for path, name in entry.get("replaced_if", {}).items()}
    kept = expand(entry.get("computed_blocks", "")) | expand(entry.get("kept", ""))
    return Known(force_new, entry.get("defaults", {}), conditions, kept)
