"""Container image references: their parts, and whether what they name can change. The one place that decides it.

Source: the distribution project's grammar (github.com/distribution/reference): `[domain/]path[:tag][@digest]`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: Words of tags that are moved from build to build: branches, channels and "the newest".
_MOVING = frozenset({
    "latest", "nightly", "daily", "weekly", "rolling", "snapshot", "canary", "edge", "unstable", "testing",
    "master", "main", "dev", "devel", "develop", "development", "trunk", "head", "tip",
})  # fmt: skip

#: Channels that are moved too, and that some projects append to a fixed version (`1.26.3-stable`).
_CHANNELS = frozenset({"stable", "release", "current", "next", "beta", "alpha", "rc", "lts", "prod", "staging"})

_WORDS = re.compile(r"[-._]")

#: What fixes a build beside a branch's name: a day, or a commit with a digit and a letter in it.
_BUILD = re.compile(
    r"(?<![0-9])20[0-9]{2}[-.]?[01][0-9][-.]?[0-3][0-9]|"
    r"(?<![0-9a-z])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}(?![0-9a-z])"
)

_NUMBER = re.compile(r"[0-9]+\.[0-9]+")


@dataclass(frozen=True, slots=True)
class ImageReference:
    """``registry:5000/team/app:v1@sha256:...``; `tag` and `digest` are empty when they are not given."""

    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def floats(self) -> bool:
        """Whether it may name another image tomorrow: no digest, and no tag or a tag that is moved."""
        if self.digest:
            return False
        tag = self.tag.lower()
        words = set(_WORDS.split(tag))
        if not tag or tag in _MOVING | _CHANNELS:
            return True
        if words & _MOVING:
            return not _BUILD.search(tag)
        return bool(words & _CHANNELS) and not (_NUMBER.search(tag) or _BUILD.search(tag))

    @property
    def why(self) -> str:
        """``no tag`` or ``tag latest``: what is wrong with one that floats."""
        return f"tag {self.tag}" if self.tag else "no tag"


def parse_image(text: str) -> ImageReference:
    """The parts of an image reference; the port of a registry is no tag."""
    name, _, after = text.strip().partition("@")
    digest = after if ":" in after else ""
    path, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    return ImageReference(f"{path}{slash}{last}", tag, digest)


def floats(text: str) -> bool:
    """Whether the image that `text` names may be another one tomorrow."""
    return parse_image(text).floats
