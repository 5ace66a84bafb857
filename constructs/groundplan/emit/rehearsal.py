"""groundplan's own knowledge for the staged Terraform: facts of the providers, the order of a site's stacks.

Importing this module plugs it in.
"""

from __future__ import annotations

from typing import Any

from groundplan.catalog import shipped
from groundplan.site.stacks import kind_of, rank
from staged_terraform.knowledge import Knowledge, use


def provider_facts() -> dict[str, Any]:
    """The catalog's facts (``catalog/provider_facts.yaml``)."""
    return shipped("provider_facts")


use(Knowledge(facts=provider_facts, kind_of=kind_of, rank=rank))
