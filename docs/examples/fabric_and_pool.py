"""A RoCE fabric and a GPU pool in a stack of our own, beside a pool on networks that are there already.

Run as ``python docs/examples/fabric_and_pool.py OUT``.
"""

import sys

from cdktf import App, TerraformStack
from cdktf_cdktf_provider_google.provider import GoogleProvider

from groundplan.gpu.constructs import (
    GpuNodePool,
    GpuNodePoolProps,
    GvnicNetwork,
    GvnicNetworkProps,
    RoceFabric,
    RoceFabricProps,
)

app = App(outdir=sys.argv[1])
stack = TerraformStack(app, "ours")
GoogleProvider(stack, "google", project="our-project")
gvnic = GvnicNetwork(
    stack,
    "second",
    GvnicNetworkProps(
        project="our-project",
        region="us-central1",
        network="second-net",
        subnetwork="second-sub",
        firewall="second-in",
        cidr="192.168.64.0/24",
    ),
)
fabric = RoceFabric(
    stack,
    "roce",
    RoceFabricProps(
        project="our-project",
        region="us-central1",
        zone="us-central1-b",
        network="roce-net",
        cidrs=[f"192.168.{n}.0/24" for n in range(65, 73)],
    ),
)
there = RoceFabric.existing(network="old", subnetworks=[f"old-{n}" for n in range(8)])
for name, networks in (("new", (gvnic.attached, fabric.attached)), ("old", (gvnic.attached, there))):
    made = GpuNodePool(
        stack,
        f"pool-{name}",
        GpuNodePoolProps(
            name=name,
            project="our-project",
            cluster="our-cluster",
            location="us-central1",
            zone="us-central1-b",
            machine_type="a4-highgpu-8g",
            accelerator="nvidia-b200",
            gpus_per_node=8,
            networks=networks,
            nodes=2,
            service_account="nodes@our-project.iam.gserviceaccount.com",
            local_ssds=32,
            disk_type="hyperdisk-balanced",
            reservation="projects/our-project/reservations/ours",
        ),
    )
made.node_pool.add_override("node_config.labels", {"team": "ours"})
app.synth()
