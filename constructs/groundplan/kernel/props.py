"""What the Props of constructs share: wrong values are refused, with field, value and limit, before anything is made.

Props are frozen dataclasses by keyword. A pydantic dataclass with :data:`PROPS` checks its types too; the functions are
for limits that a plain dataclass checks itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NoReturn

from pydantic import ConfigDict

PROPS = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

#: Limits of names, as (pattern, words): Google Cloud's resources, Kubernetes' objects, service account ids.
RESOURCE_NAME = (r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", "1 to 63 lower-case letters, digits and -, a letter first")
CLUSTER_NAME = (r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", "1 to 40 lower-case letters, digits and -, a letter first")
KUBERNETES_NAME = (r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", "1 to 63 lower-case letters, digits and -")
ACCOUNT_ID = (r"[a-z][-a-z0-9]{4,28}[a-z0-9]", "6 to 30 lower-case letters, digits and -, a letter first")
ZONE = (r"[a-z]+-[a-z]+[0-9]+-[a-z]", "a zone such as us-central1-b")
RELEASE_NAME = (r"[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?", "1 to 53 lower-case letters, digits and -")

#: A reference that Terraform resolves, or cdktf's own mark for one: known too late to be checked here.
_REFERENCE = re.compile(r"\$\{|TfToken\[")


def refuse(props: object, field: str, limit: str) -> NoReturn:
    """Raise the ValueError of one field."""
    raise ValueError(f"{type(props).__name__}.{field}: {getattr(props, field)!r} is not {limit}")


def require_pattern(props: object, field: str, rule: tuple[str, str]) -> None:
    """The field's text must match a (pattern, words) rule; references pass. Raises ValueError."""
    value = getattr(props, field)
    if not isinstance(value, str):
        refuse(props, field, "text")
    if not _REFERENCE.search(value) and not re.fullmatch(rule[0], value):
        refuse(props, field, rule[1])


def require_number(props: object, field: str, least: int, most: int | None = None) -> None:
    """The field must be a whole number within limits. Raises ValueError."""
    value = getattr(props, field)
    if not isinstance(value, int) or isinstance(value, bool) or value < least or (most is not None and value > most):
        refuse(props, field, f"a whole number of at least {least}" + (f" and at most {most}" if most else ""))


def require_one_of(props: object, field: str, known: Collection[object]) -> None:
    """The field must be one of a few values. Raises ValueError."""
    if getattr(props, field) not in known:
        refuse(props, field, "one of " + ", ".join(map(str, known)))


def require_text(props: object, *fields: str) -> None:
    """The fields must be text that is not empty. Raises ValueError."""
    for field in fields:
        value = getattr(props, field)
        if not isinstance(value, str) or not value:
            refuse(props, field, "text of at least one letter")
