"""The Ray jobs and clusters that a Helm release brings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plan_review import values
from plan_review.helm_values import objects


@dataclass(frozen=True, slots=True)
class RayWork:
    """A RayJob or RayCluster: its name, and the workers that hold GPUs."""

    kind: str
    name: str
    workers: int
    gpus: int
    image: str


def ray_work(release: dict[str, Any]) -> tuple[RayWork, ...]:
    """The RayJobs and RayClusters in a release's values."""
    return tuple(_ray(each) for each in objects(release) if str(each.get("kind")) in ("RayJob", "RayCluster"))


def _ray(manifest: dict[str, Any]) -> RayWork:
    cluster = "spec.rayClusterSpec" if manifest.get("kind") == "RayJob" else "spec"
    workers = gpus = 0
    for group in values.blocks(manifest, f"{cluster}.workerGroupSpecs"):
        replicas = values.number(group.get("replicas")) or 0
        each = sum(
            values.number(limit.get("nvidia.com/gpu")) or 0
            for limit in values.blocks(group, "template.spec.containers.resources.limits")
        )
        workers, gpus = workers + replicas, gpus + replicas * each
    image = values.text(manifest, f"{cluster}.headGroupSpec.template.spec.containers.image")
    return RayWork(str(manifest["kind"]), values.text(manifest, "metadata.name"), workers, gpus, image)
