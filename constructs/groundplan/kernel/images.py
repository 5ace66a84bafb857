"""Container image references: their tag, their digest, and whether they are the same image tomorrow.

Source: the reference grammar of github.com/distribution/reference: ``[registry[:port]/]path[:tag][@algorithm:hex]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Words of a tag that say that it moves: whoever publishes the image points it at another one from time to time.
MOVING_WORDS = frozenset(
    (
        *("latest", "nightly", "main", "master", "trunk", "head", "tip", "current", "rolling"),
        *("dev", "devel", "develop", "development", "edge", "canary", "snapshot", "preview"),
        *("stable", "unstable", "testing"),
    )
)

_REFERENCE = re.compile(
    r"(?P<name>[^@]*?)(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(?P<digest>[a-z0-9+._-]+:[0-9a-fA-F]{32,}))?"
)


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image as a pod names it. `tag` and `digest` are empty when they are not written."""

    name: str
    tag: str
    digest: str

    @property
    def moves(self) -> bool:
        """Whether another image may stand under this reference tomorrow: no digest, and no tag or a moving one."""
        return not self.digest and (not self.tag or bool(MOVING_WORDS & set(re.split(r"[-._]", self.tag.lower()))))

    @property
    def how(self) -> str:
        """``no tag``, ``tag latest``: what of it is written, for a message."""
        return f"tag {self.tag}" if self.tag else "no tag"


def parse_image(reference: str) -> ImageReference:
    """``registry:5000/team/nemo-rl:v0.7.0@sha256:...`` in parts. A colon before the last slash is a registry's port."""
    head, slash, last = reference.strip().rpartition("/")
    match = _REFERENCE.fullmatch(last)
    if not match:  # no reference at all: nothing of it is fixed
        return ImageReference(reference, "", "")
    return ImageReference(f"{head}{slash}{match['name']}", match["tag"] or "", match["digest"] or "")
