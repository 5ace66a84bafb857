"""The stacks of a site and their order; apart from the Site, so that a review need not load a profile's models."""

from __future__ import annotations

#: The stacks in order of creation; destroy goes the other way.
STACKS = ("network", "storage", "cluster", "gpu", "platform", "workload")


def kind_of(stack: str) -> str | None:
    """``nemo-rl-gpu`` -> ``gpu``; None for a stack that is none of a site's."""
    return next((kind for kind in STACKS if stack == kind or stack.endswith(f"-{kind}")), None)


def rank(stack: str) -> tuple[int, str]:
    """For sorting stacks in the order in which they are applied; those of other names come last, by name."""
    kind = kind_of(stack)
    return STACKS.index(kind) if kind else len(STACKS), stack
