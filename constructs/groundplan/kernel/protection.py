"""What a prod site is, and which guard it must keep. The one place that decides it, for profiles and for plans."""

from __future__ import annotations


def is_prod(environment: str) -> bool:
    """Whether an environment is production: `prod`, or a name that begins so (`production`, `prod-eu`).

    A profile knows `prod` alone; labels in a plan of somebody else's say the longer ones.
    """
    return environment.startswith("prod")


def is_unprotected(environment: str, deletion_protection: bool | None) -> bool:
    """Whether a prod cluster gives up deletion protection; None, left out, is the provider's default: on."""
    return is_prod(environment) and deletion_protection is False
