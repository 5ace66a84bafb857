"""Text of the profile that Terraform would read as an expression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from findings import Problem, ProfilePath, dotted, rule
from groundplan.site.resolve import Site

#: Sections whose text reaches the cluster through the pass-through chart, escaped, and so may hold anything.
_ESCAPED = (("workload", "overrides"), ("workload", "environment"), ("ignore",))


@rule("terraform-template")
def terraform_template(site: Site) -> Iterator[Problem]:
    """A value holds ``${`` or ``%{``, which Terraform would evaluate.

    Values of the profile become arguments in Terraform's JSON, where ``${file(...)}`` is an expression and not text.
    Nothing that groundplan names or describes has a use for one. (`workload.overrides` and `workload.environment` may
    hold them: they are escaped on their way to the cluster.)

    Source: Terraform documentation, "JSON Configuration Syntax".

    Mend: write the value itself.
    """
    for path, text in _texts(site.profile.model_dump(mode="json"), ()):
        if ("${" in text or "%{" in text) and not any(path[: len(each)] == each for each in _ESCAPED):
            message = f"`{dotted(path)}` holds a Terraform template ({'${' if '${' in text else '%{'})"
            yield Problem(path, message, "write the value itself; expressions are not read")


def _texts(value: Any, path: ProfilePath) -> Iterator[tuple[ProfilePath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*path, str(key)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))
