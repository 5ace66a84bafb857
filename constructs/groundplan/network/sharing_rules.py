"""What can be wrong with a Shared VPC: host project and service project."""

from __future__ import annotations

from collections.abc import Iterator

from findings import Problem, ProfilePath, Severity, Subject, rule
from groundplan.site.fleet import Fleet
from groundplan.site.resolve import Site

_PROJECT: ProfilePath = ("network", "primary", "existing", "project")


@rule("host-stack-own-project")
def host_stack_own_project(site: Site) -> Iterator[Problem]:
    """A host stack is asked for, and there is no host project.

    `host_stack` writes a stack for the owner of another project. In the site's own project the network stack makes what
    is needed, and nobody has to be let in.

    Source: VPC documentation, "Shared VPC", host project and service project.

    Mend: name the host project in `network.primary.existing.project`, or leave `host_stack` out.
    """
    existing = site.profile.network.primary.existing
    if existing and existing.host_stack and not site.network.is_shared:
        named = f"is {site.project}, the site's own" if existing.project else "is not given"
        yield Problem(
            ("network", "primary", "existing", "host_stack"),
            f"`network.primary.existing.host_stack` is true, but `network.primary.existing.project` {named}",
            "name the host project there, or leave `host_stack` out",
        )


@rule("shared-vpc-unconfirmed", Severity.WARNING)
def shared_vpc_unconfirmed(site: Site) -> Iterator[Problem]:
    """GPU nodes in a Shared VPC rest on points that no public source confirms.

    Confirmed: GKE takes a Shared VPC with several networks a node from 1.28.4 on, when all networks of a node stand in
    the host project; GKENetworkParamSets name them by short names, which GKE looks for in the host project. Not
    confirmed, and so to be watched at the first apply: that the node pool takes and gives back networks by their full
    names (the API says "name"; Google's Config Connector sends full names), so that a second plan is empty; RoCE
    networks in a host project; Managed Lustre of a service project in a host project's VPC.

    Source: GKE documentation, "Set up multi-network support for Pods", General limitations; cloud-provider-gcp,
    gnpcontroller_validations.go; k8s-config-connector, issue 2775 and its later node pool controller.

    Mend: apply a smoke test in the Shared VPC first, and look at the second plan of the gpu stack; then ignore this
    rule with that as the reason.
    """
    if site.network.is_shared:
        yield Problem(
            _PROJECT,
            f"not confirmed by a source: node pools of {site.project} that name networks of {site.network.project} by "
            "full names, RoCE networks and Managed Lustre in a Shared VPC",
            "apply one small site first and look at the second plan of its gpu stack, which must be empty; then put "
            "this rule under `ignore` with that as the reason",
        )


@rule("fleet-shared-vpc", subject=Subject.FLEET)
def fleet_shared_vpc(fleet: Fleet) -> Iterator[Problem]:
    """A project would be attached to two host projects, or be host and service project at once.

    Limit: a service project has one host project, and a project is either.

    Source: VPC documentation, "Shared VPC", projects.

    Mend: sites of one project use one host project's VPC; what several host projects share needs several projects.
    """
    attached: dict[str, tuple[str, int]] = {}
    hosts: dict[str, int] = {}
    for number, member in enumerate(fleet):
        project, host = member.site.project, member.site.network.project
        if not member.site.network.is_shared:
            continue
        before, other = attached.setdefault(project, (host, number))
        hosts.setdefault(host, number)
        if before != host:
            yield Problem(
                _PROJECT,
                f"{project} would be attached to {host}, and {fleet[other]} attaches it to {before}: "
                "a service project has one host project",
                f"use a VPC of {before}, or another `project`",
                member=number,
            )
        both = next((each for each in (host, project) if each in attached and each in hosts), None)
        if both:
            other = hosts[both] if both == project else attached[both][1]
            yield Problem(
                _PROJECT,
                f"{both} would be host project and service project at once, with {fleet[other]}",
                "use a VPC of a project that is attached to none",
                member=number,
            )
