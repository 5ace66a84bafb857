"""Policies on container images: in Helm values (whole manifests among them) and in resources of Kubernetes.

What floats is decided by :mod:`groundplan.kernel.images`, as for profiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from findings import Severity
from groundplan.kernel.images import parse_image
from groundplan.on_plans.protection import says_prod
from plan_review import helm_values, values
from plan_review.judgement import Breach, Category, plan_rule
from plan_review.model import Resource, Resources

_RAY = frozenset({"RayJob", "RayCluster", "RayService"})

#: What Google's manifest calls the installer, and groundplan too.
_GOOGLES_INSTALLER = "nccl-rdma-installer"

_Images = Iterator[tuple[str, str]]


@plan_rule("job-image", Severity.WARNING, Category.POLICY, on="resources")
def job_image(resources: Resources) -> Iterator[Breach]:
    """A Ray job's image is not the same one tomorrow: it has no tag, or one that moves, and no digest.

    An error in prod (label `environment: prod` on anything in the plans), else a warning.

    Source: Kubernetes documentation, "Images".

    Mend: a release's tag or a digest.
    """
    yield from _floating(resources, "job")


@plan_rule("gib-image-floating", Severity.WARNING, Category.POLICY, on="resources")
def gib_image_floating(resources: Resources) -> Iterator[Breach]:
    """The gIB installer's image has no fixed tag, and no digest.

    It runs privileged on every GPU node. An error in prod, else a warning.

    Source: GKE documentation, "Allocate network resources using GPUDirect RDMA".

    Mend: a release's tag or a digest.
    """
    yield from _floating(resources, "gib")


@plan_rule("image-floating", Severity.WARNING, Category.POLICY, on="resources")
def image_floating(resources: Resources) -> Iterator[Breach]:
    """Another container's image has no fixed tag, and no digest: an operator's, a mirror's, a chart's.

    An error in prod, else a warning. A chart's own default is not judged: its version fixes it.

    Source: Kubernetes documentation, "Images".

    Mend: a release's tag or a digest.
    """
    yield from _floating(resources, "other")


def _floating(resources: Resources, kind: str) -> Iterator[Breach]:
    found = [
        (each, image)
        for each in resources
        for image in dict.fromkeys(image for whose, image in images_of(each) if whose == kind)
        if not values.is_expression(image) and parse_image(image).floats
    ]
    severity = Severity.ERROR if found and _is_prod(resources) else None
    for each, image in found:
        yield Breach(
            each.stack,
            each.address,
            f"{each.name} runs the moving image {image} ({parse_image(image).why})",
            "name a release's tag or a digest",
            "nodes that pull it later run something else, under the same plan",
            severity,
        )


def images_of(resource: Resource) -> _Images:
    """(``job``, ``gib`` or ``other``, reference) of every image that a Helm release or Kubernetes resource names."""
    if resource.type == "helm_release":
        for text in resource.texts("values"):
            if "image" in text:
                yield from _named(helm_values.parse(text), "other")
    elif resource.type.startswith("kubernetes_"):
        yield from _named(resource.values, _kind_of(resource.text("metadata.name")))


def _named(value: Any, kind: str) -> _Images:
    """Images under the key `image`: as text, or as a chart's `repository` and `tag`."""
    if isinstance(value, list):
        for each in value:
            yield from _named(each, kind)
        return
    if not isinstance(value, dict):
        return
    if helm_values.is_object(value):
        kind = "job" if value["kind"] in _RAY else _kind_of(values.text(value, "metadata.name"))
    for key, each in value.items():
        if key == "image" and isinstance(each, str) and each:
            yield kind, each
        elif key == "image" and isinstance(each, dict) and each.get("repository") and (given := _tag(each)):
            yield kind, f"{each['repository']}{given}"
        else:
            yield from _named(each, kind)


def _tag(image: dict[str, Any]) -> str:
    """``:v1`` or ``@sha256:...`` of a chart's image; empty when the chart's own default holds."""
    if image.get("digest"):
        return f"@{image['digest']}"
    return f":{image['tag']}" if image.get("tag") else ""


def _kind_of(name: str) -> str:
    return "gib" if "gib" in name or name == _GOOGLES_INSTALLER else "other"


def _is_prod(resources: Resources) -> bool:
    """Whether anything in the plans carries the label `environment: prod`, as all of a groundplan site does."""
    return any(_prod(each) for each in resources)


def _prod(resource: Resource) -> bool:
    places = [resource.get(path) for path in ("resource_labels", "labels", "metadata.labels", "node_config.labels")]
    if resource.type == "helm_release":
        places += [values.get(each, "metadata.labels") for each in helm_values.objects(resource.values)]
    return any(says_prod(each) for each in places)
