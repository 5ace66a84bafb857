"""Policy on container images: the same judgement of a reference as `groundplan check` makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from findings import Severity
from groundplan.kernel.images import parse_image
from groundplan.review import charts
from groundplan.review.judgement import Breach, Category, plan_rule
from groundplan.review.model import Resource, Resources


@plan_rule("image-moving", Severity.ERROR, Category.POLICY, on="resources")
def image_moving(resources: Resources) -> Iterator[Breach]:
    """A container's image has no tag, or one that moves, such as `latest`, `dev` or `master`.

    What runs then changes without a plan, and a pod that is moved to another node may run something else than its
    peers. Refused for what is labelled `environment: prod`, a warning elsewhere.

    Source: Kubernetes documentation, "Images", "Image names".

    Mend: a tag of a release, or a digest.
    """
    severity = Severity.ERROR if any(map(_is_prod, resources)) else Severity.WARNING
    for each in resources:
        for image in dict.fromkeys(_images(each)):
            reference = parse_image(image)
            if reference.moves:
                yield Breach(
                    each.stack,
                    each.address,
                    f"{each.name} runs the moving image {image} ({reference.how})",
                    "name a release's tag or a digest",
                    "another image may run after the next start of a pod",
                    severity,
                )


def _images(each: Resource) -> Iterator[str]:
    if each.type == "helm_release":
        for manifest in charts.objects(each.values):
            yield from _of_containers(manifest)
    elif each.type.startswith("kubernetes_"):
        yield from _of_containers(each.values)


def _of_containers(value: Any) -> Iterator[str]:
    """The images of everything that has both a name and an image, as a container does."""
    if isinstance(value, dict):
        image = value.get("image")
        if isinstance(image, str) and image and isinstance(value.get("name"), str):
            yield image
        for inner in value.values():
            yield from _of_containers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _of_containers(inner)


def _is_prod(each: Resource) -> bool:
    """By the label that groundplan puts on everything: Google's, or Kubernetes' in a release's objects."""
    labels = [each.get("resource_labels"), each.get("labels"), each.get("metadata.labels")]
    if each.type == "helm_release":
        labels += [(manifest.get("metadata") or {}).get("labels") for manifest in charts.objects(each.values)]
    return any(isinstance(found, dict) and found.get("environment") == "prod" for found in labels)
