"""What is written beside the stacks: the job as YAML, the run-book."""

from __future__ import annotations

import shlex
from importlib import resources
from typing import Any

import jinja2

from groundplan.cluster.values import account_email
from groundplan.gpu import nvlink
from groundplan.gpu.transports import roce, tcpxo, transport_of
from groundplan.kernel.gke import ACCELERATOR_LABEL, RDMA_DEVICE_CLASS
from groundplan.kernel.yaml_text import to_yaml
from groundplan.platform.secrets import SECRETS, secret_name
from groundplan.site.outputs import connect_command
from groundplan.site.releases import roce_archs, site_releases
from groundplan.site.resolve import Site


def artefacts(site: Site, profile: str) -> dict[str, str]:
    """Path within the output folder -> text. `profile` is the name of the profile's file, for the run-book."""
    return {"rayjob.yaml": job_yaml(site), "runbook.md": runbook(site, profile)}


def job_yaml(site: Site) -> str:
    """The workload stack's objects as one YAML stream, for ``kubectl`` and for reading."""
    head = (
        f"# The job of site {site.name}, as its workload stack applies it. Written by groundplan; edit the profile.\n"
    )
    return head + "".join(f"---\n{to_yaml(document)}" for document in site.job_objects)


def runbook(site: Site, profile: str) -> str:
    """Order, commands and day-2 work of this very site, with its own names filled in."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: resources.files(__package__).joinpath(name).read_text("utf-8")),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown
    )
    secrets = site.secrets
    references = {kind: getattr(secrets, kind) for kind in SECRETS if getattr(secrets, kind)}
    return environment.get_template("runbook.md.j2").render(
        site=site,
        profile=site.profile,
        connect_command=connect_command(site),
        profile_file=shlex.quote(profile),
        entries=site.stacks,
        stack={entry.name: site.stack_name(entry.name) for entry in site.stacks},
        own_stacks=[site.stack_name(entry.name) for entry in site.stacks if entry.name != "host"],
        shared=_shared_vpc(site),
        fabric=_fabric(site),
        variables={k: secret_name(k, r) for k, r in references.items() if r.variable},
        existing_secrets={k: (r.secret, r.key) for k, r in references.items() if r.secret},
        releases=tuple(site_releases(site).values()),
        local_state=site.profile.backend.local is not None,
        accelerator_label=ACCELERATOR_LABEL,
        own_release="job" in site_releases(site) and site_releases(site)["job"].name != f"{site.name}-job",
        pool_names=[site.profile.cluster.cpu_pool.name, *(pool.name for pool in site.pools)],
    )


def _fabric(site: Site) -> dict[str, Any]:
    """What there is to see of the GPU nodes' fabric: installers by label, NICs a node that GKE hands out, the namespace
    of NVIDIA's driver."""
    found = {transport_of(pool.machine).name for pool in site.pools}
    installers = [roce.NAME + ("" if arch == "amd64" else f"-{arch}") for arch in roce_archs(site)]
    return {
        "installers": installers + [tcpxo.INSTALLER] * (tcpxo.TCPXO.name in found),
        "managed": max((pool.claimed_nics for pool in site.pools), default=0),
        "device_class": RDMA_DEVICE_CLASS,
        "nvlink": nvlink.NAMESPACE if any(pool.nvlink_nodes for pool in site.pools) else "",
    }


def _shared_vpc(site: Site) -> dict[str, Any]:
    """What the run-book says about the host project; empty where there is none."""
    network = site.network
    if not network.is_shared:
        return {}
    there = [network.subnetwork]
    there += [name for nics in site.nic_networks if nics.exists for name in nics.subnetworks]
    made = [f"the network `{nics.name}`" for nics in site.nic_networks if not nics.exists]
    made += [f"private service access (`{network.access_name}`)"] if network.access_created else []
    rules = [rule.name for rule in site.profile.network.firewall_rules]
    made += [f"the firewall rule{'s' if len(rules) > 1 else ''} `{'`, `'.join(rules)}`"] if rules else []
    return {
        "nodes_account": account_email(site.cluster.nodes_account, site.project),
        "nodes_exist": site.profile.cluster.service_accounts.nodes_exists,
        "subnetworks": there,
        "made": " and ".join([", ".join(made[:-1])] * (len(made) > 1) + made[-1:]),
    }
