"""The cdktf app of a site. Imported only after the bindings are loaded (see :mod:`groundplan.emit.modules`)."""

from __future__ import annotations

from pathlib import Path

from cdktf import App

from groundplan.cluster.stack import ClusterStack
from groundplan.gpu.stack import GpuStack
from groundplan.network.stack import NetworkStack
from groundplan.platform.stack import PlatformStack
from groundplan.site.resolve import Site
from groundplan.storage.stack import StorageStack
from groundplan.workload.stack import WorkloadStack


def build_app(site: Site, outdir: Path) -> App:
    """Six stacks in their order: network -> (storage, cluster) -> gpu -> platform -> workload.

    The dependencies stand in the manifest only; no stack reads another's state. Annotations carry no stack traces,
    whose paths differ between machines.
    """
    app = App(outdir=str(outdir), stack_traces=False, skip_validation=False)
    network = NetworkStack(app, site)
    storage = StorageStack(app, site)
    cluster = ClusterStack(app, site)
    gpu = GpuStack(app, site)
    platform = PlatformStack(app, site)
    workload = WorkloadStack(app, site)
    storage.add_dependency(network)
    cluster.add_dependency(network)
    gpu.add_dependency(cluster)
    platform.add_dependency(storage)
    platform.add_dependency(gpu)
    workload.add_dependency(platform)
    return app
