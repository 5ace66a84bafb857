"""A RoCE fabric and a GPU pool in a stack of our own, for a cluster that is there already.

Run as ``python docs/examples/fabric_and_pool.py OUT``.
"""

import sys
from ipaddress import IPv4Network

from fast_bindings.loader import load

load()  # before cdktf: a second instead of sixteen; without it all works the same, slowly

from cdktf import App, TerraformStack  # noqa: E402
from cdktf_cdktf_provider_google.provider import GoogleProvider  # noqa: E402

from groundplan.gpu.constructs import GpuNodePool, GpuNodePoolProps  # noqa: E402
from groundplan.gpu.fabric_constructs import GvnicNetwork, RoceFabric, RoceFabricProps  # noqa: E402

PROJECT, REGION, ZONE = "my-project", "us-central1", "us-central1-b"

app = App(outdir=sys.argv[1])
stack = TerraformStack(app, "our-gpus")
GoogleProvider(stack, "google", project=PROJECT, region=REGION)

fabric = RoceFabric(
    stack,
    "roce",
    RoceFabricProps(
        project=PROJECT,
        region=REGION,
        zone=ZONE,
        network="our-roce",
        cidrs=tuple(IPv4Network(f"192.168.{n}.0/24") for n in range(8)),
    ),
)
second_nic = GvnicNetwork.existing(network="our-gvnic-net", subnetwork="our-gvnic-sub")
GpuNodePool(
    stack,
    "gpus",
    GpuNodePoolProps(
        name="b200",
        project=PROJECT,
        cluster="our-cluster",
        location=REGION,
        zone=ZONE,
        machine_type="a4-highgpu-8g",
        accelerator="nvidia-b200",
        gpus_per_node=8,
        networks=(second_nic, fabric.attached),
        service_account="our-nodes@my-project.iam.gserviceaccount.com",
        nodes=2,
        reservation=f"projects/{PROJECT}/reservations/our-reservation",
    ),
)
app.synth()
