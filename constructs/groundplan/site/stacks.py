"""The stacks of a site: what each needs, brings and leaves, in their order.

Apart from the Site, so that a review need not load a profile's models. Whoever needs the order, the dependencies or the
words about a stack reads them here: the cdktf app, the charts, the run-book, the rehearsal, the review.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class StackEntry:
    """One Terraform root of a site."""

    name: str
    """Its kind, such as `gpu`; the stack itself is `<site>-gpu`."""
    needs: tuple[str, ...] = ()
    """Stacks that are applied before it. No stack reads another's state: it finds what they made by name."""
    providers: tuple[str, ...] = ("google",)
    """Terraform providers that it uses, all of hashicorp's."""
    optional: bool = False
    """Whether a profile decides that a site has it."""
    destroy: str = ""
    """What somebody should know who destroys it (Markdown)."""
    destroy_protected: str = ""
    """The same, said instead while `cluster.deletion_protection` is on."""

    def destroy_note(self, protected: bool) -> str:
        """What the run-book says beside it in the order of destruction; empty when there is nothing to say."""
        return (protected and self.destroy_protected) or self.destroy


_IN_CLUSTER = ("google", "helm", "kubernetes")

#: In order of creation; destroy goes the other way.
REGISTRY = (
    StackEntry(
        "host",
        optional=True,
        destroy="by the owner of the host project, once nothing of the site is left in its networks",
    ),
    StackEntry("network", needs=("host",)),
    StackEntry(
        "storage",
        needs=("network",),
        optional=True,
        destroy="**the Lustre instance and all its data**; copy what is to stay",
    ),
    StackEntry(
        "cluster",
        needs=("network",),
        destroy_protected="**protected**: set `cluster.deletion_protection: false`, synthesize and apply it first",
    ),
    StackEntry("gpu", needs=("cluster",)),
    StackEntry(
        "platform",
        needs=("storage", "gpu"),
        providers=_IN_CLUSTER,
        destroy="volumes are retained, so no data goes yet",
    ),
    StackEntry(
        "workload",
        needs=("platform",),
        providers=_IN_CLUSTER,
        optional=True,
        destroy="stops the job and removes its pods, which hold the GPU networks",
    ),
)

#: Name -> entry, in the same order.
ENTRIES: Mapping[str, StackEntry] = MappingProxyType({entry.name: entry for entry in REGISTRY})

#: The names in order of creation.
STACKS = tuple(ENTRIES)


def entries_of(asked: Collection[str] = ()) -> tuple[StackEntry, ...]:
    """The entries of one site: those that every site has, and the optional ones of `asked`; none needs another."""
    found = {entry.name: entry for entry in REGISTRY if not entry.optional or entry.name in asked}
    return tuple(replace(entry, needs=tuple(need for need in entry.needs if need in found)) for entry in found.values())


def kind_of(stack: str) -> str | None:
    """``nemo-rl-gpu`` -> ``gpu``; None for a stack that is none of a site's."""
    return next((kind for kind in STACKS if stack == kind or stack.endswith(f"-{kind}")), None)


def rank(stack: str) -> tuple[int, str]:
    """For sorting stacks in the order in which they are applied; those of other names come last, by name."""
    kind = kind_of(stack)
    return STACKS.index(kind) if kind else len(STACKS), stack
