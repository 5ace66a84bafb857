"""The cdktf app of a site. Imported only after the bindings are loaded (see :mod:`groundplan.emit.modules`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cdktf import App
from constructs import Construct

from groundplan.cluster.stack import ClusterStack
from groundplan.gpu.stack import GpuStack
from groundplan.network.host_stack import HostStack
from groundplan.network.stack import NetworkStack
from groundplan.platform.stack import PlatformStack
from groundplan.site.resolve import Site
from groundplan.site.stack import SiteStack
from groundplan.storage.stack import StorageStack
from groundplan.workload.stack import WorkloadStack

#: Name of the entry (:mod:`groundplan.site.stacks`) -> its class.
CLASSES: dict[str, Callable[[Construct, Site], SiteStack]] = {
    "host": HostStack,
    "network": NetworkStack,
    "storage": StorageStack,
    "cluster": ClusterStack,
    "gpu": GpuStack,
    "platform": PlatformStack,
    "workload": WorkloadStack,
}


def add_stacks(app: App, site: Site) -> dict[str, SiteStack]:
    """Build the site's stacks in `app`: name (`storage`) -> stack, in their order.

    The dependencies stand in the manifest only; no stack reads another's state.
    """
    stacks: dict[str, SiteStack] = {}
    for entry in site.stacks:
        stack = stacks[entry.name] = CLASSES[entry.name](app, site)
        for need in entry.needs:
            stack.add_dependency(stacks[need])
    return stacks


def build_app(outdir: Path) -> App:
    """The app that writes to `outdir`. Annotations carry no stack traces, whose paths differ between machines."""
    return App(outdir=str(outdir), stack_traces=False, skip_validation=False)
