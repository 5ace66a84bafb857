"""Values that would be secrets, whatever they look like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from findings import Problem, ProfilePath, rule
from findings.redaction import is_secret_literal
from groundplan.site.resolve import Site


@rule("secret-value")
def secret_value(site: Site) -> Iterator[Problem]:
    """An override gives a token, password or key as a literal value.

    Overrides stand in the job's script, in the plan and in the state, where everybody who may read the site can read
    them (terraform-provider-helm#1464). What looks like a token is refused wherever it stands; here the key's name
    tells (`logger.wandb.api_key`, `HF_TOKEN` ...). The value is not shown. Numbers, switches and references (${...})
    pass.

    Source: Terraform documentation, "Manage sensitive data in your configuration"; terraform-provider-helm#1464. Which
    names mean a secret is groundplan's own list.

    Mend: a reference under `secrets:`; the job finds it in its environment.
    """
    for path, key, value in _leaves(site.profile.workload.overrides, ("workload", "overrides")):
        if isinstance(value, str) and is_secret_literal(key, value):
            yield Problem(
                path,
                f"`{key}` is given as a literal value, which would stand in plan and state",
                "take it out and revoke it, then give a reference under `secrets:`",
            )


def _leaves(value: Any, path: ProfilePath) -> Iterator[tuple[ProfilePath, str, Any]]:
    """Path, key and value of everything that is no mapping or list."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, (*path, index))
    else:
        key = next((part for part in reversed(path) if isinstance(part, str)), "").rpartition(".")[2]
        yield path, key, value
