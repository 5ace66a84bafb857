"""Labels of Google Cloud resources."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, rule
from groundplan.site.resolve import Site

_MOST = 64

#: Labels that groundplan puts on everything itself.
_OWN = ("environment", "managed-by", "site")


@rule("label-reserved")
def label_reserved(site: Site) -> Iterator[Problem]:
    """A label's key belongs to Google or to groundplan.

    Keys that start with `goog` are Google's (goog-gke-node, goog-terraform-provisioned ...), and the API refuses them.
    `site`, `environment` and `managed-by` are groundplan's own, and a value given here would be lost.

    Source: Resource Manager, "Requirements for labels"; GKE, "Label requirements".

    Mend: use another key for the label.
    """
    for key in site.profile.labels:
        if key in _OWN:
            yield Problem(("labels", key), f"the label {key} is set by groundplan itself", "use another key")
        elif key.startswith("goog"):
            yield Problem(("labels", key), f"the label {key} starts with goog, which is Google's", "use another key")


@rule("label-count")
def label_count(site: Site) -> Iterator[Problem]:
    """There are more labels than a resource takes.

    A resource takes 64, and groundplan sets three of them.

    Source: Resource Manager, "Requirements for labels".

    Mend: use fewer labels: at most 61 of your own.
    """
    count = len(site.labels)
    if count > _MOST:
        yield Problem(
            ("labels",),
            f"{count} labels, {len(_OWN)} of groundplan's own among them, are more than {_MOST}, the most a "
            "resource takes",
            f"remove {count - _MOST}",
        )
