"""Profiles that the tests of synth share: the shipped ones, one that uses everything, one on existing networks."""

from __future__ import annotations

from pathlib import Path

from sites import ROOT, SHIPPED, SMALL

TUTORIAL = (ROOT / "profiles" / "nemo-rl-b200.yaml").read_text("utf-8")

#: A site that uses as many options as fit together.
FULL = """\
site: full
environment: prod
project: my-project
zone: europe-west4-b
labels: {team: research}
reservation: {name: res, project: owner-project, block: blk, sub_block: sub}
network:
  primary: {flow_logs: true}
  firewall_rules:
    - {name: full-ssh, source_ranges: [10.0.0.0/20], allow: [{protocol: tcp, ports: ["22"]}]}
    - {name: full-probe, network: gvnic, source_ranges: [192.168.0.0/24], allow: [{protocol: icmp}]}
storage:
  lustre: {capacity_gib: 36000}
  buckets: [{name: full-checkpoints}]
cluster:
  version: "1.35.2-gke.1842000"
  control_plane:
    public_endpoint: true
    authorized_networks: [{name: office, cidr: 203.0.113.0/24}]
  maintenance:
    exclusions: [{name: long run, start: "2027-01-01T00:00:00Z", end: "2027-03-01T00:00:00Z"}]
gpu:
  pools:
    - {name: reserved, nodes: 2, drain_hours: 24, labels: {tier: gold}, taints: [{key: team, value: rl}]}
    - {name: spot, machine_type: a4-highgpu-8g, capacity: spot, autoscaling: {min: 0, max: 2}}
    - {name: flex, capacity: flex_start, autoscaling: {max: 2}, max_run_hours: 24}
    - {name: queued, capacity: queued, autoscaling: {max: 2}}
secrets:
  hugging_face: {variable: true, revision: 3}
  wandb: {secret: team-wandb, key: api-key}
backend:
  gcs: {bucket: my-states}
"""

TERRAFORM_CLOUD = SMALL + "backend:\n  cloud: {organization: acme, project: rl-sites}\n"
EXISTING = """\
site: shared
project: my-project
zone: us-central1-b
reservation: my-reservation
network:
  primary:
    existing: {project: host-project, network: shared-vpc, subnetwork: gke-nodes, pods_range: gke-pods,
               services_range: gke-services}
gpu:
  gvnic: {existing: {network: old-gvnic, subnetwork: old-gvnic-sub}}
  rdma:
    existing:
      network: old-rdma
      subnetworks: [r-0, r-1, r-2, r-3, r-4, r-5, r-6, r-7]
"""
SITES = {path.stem: path.read_text("utf-8") for path in SHIPPED}
SITES |= {"small": SMALL, "full": FULL, "terraform-cloud": TERRAFORM_CLOUD, "existing": EXISTING}


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
