"""Firewall rules as constructs, for a site and for any other cdktf program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_google.compute_firewall import ComputeFirewall, ComputeFirewallAllow
from constructs import Construct
from pydantic import Field
from pydantic.dataclasses import dataclass

from groundplan.kernel.constructs import Part
from groundplan.kernel.fields import Cidr
from groundplan.kernel.props import PROPS, ResourceName, Several, Text
from groundplan.network.spec import FirewallRule


@dataclass(frozen=True, kw_only=True, config=PROPS)
class AllowedPorts:
    """One protocol and its ports."""

    protocol: Text
    """``tcp``, ``udp``, ``icmp`` or another that Google's firewall knows."""
    ports: Several[Text] = ()
    """Ports and ranges of ports as text: "443", "8000-8080". Default: all; none for protocols without ports."""


@dataclass(frozen=True, kw_only=True, config=PROPS)
class IngressRuleProps:
    """Who may come in."""

    name: ResourceName
    """Name of the rule."""
    project: Text
    """Project of the network."""
    network: Text
    """The network, by name or full name."""
    source_ranges: Annotated[Several[Cidr], Field(min_length=1)]
    """Ranges that are admitted."""
    allow: Annotated[Several[AllowedPorts], Field(min_length=1)]
    """Protocols and ports that are admitted."""
    description: str = ""
    """Description of the rule. Default: none."""

    @classmethod
    def of(cls, rule: FirewallRule, *, project: str, network: str) -> Self:
        """A rule of a profile's own."""
        return cls(
            name=rule.name,
            project=project,
            network=network,
            source_ranges=tuple(rule.source_ranges),
            allow=tuple(AllowedPorts(protocol=each.protocol, ports=tuple(each.ports)) for each in rule.allow),
        )


class IngressRule(Part):
    """A firewall rule that admits named ranges to named ports: ``google_compute_firewall.<id>``.

    `depends_on` is what must be there first, such as the project's services.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        props: IngressRuleProps,
        *,
        depends_on: Sequence[ITerraformDependable] = (),
    ) -> None:
        super().__init__(scope, id_)
        self.firewall = ComputeFirewall(
            scope,
            id_,
            name=props.name,
            project=props.project,
            network=props.network,
            description=props.description or None,
            direction="INGRESS",
            priority=1000,
            source_ranges=[str(each) for each in props.source_ranges],
            allow=[
                ComputeFirewallAllow(protocol=each.protocol, ports=list(each.ports) or None) for each in props.allow
            ],
            depends_on=list(depends_on) or None,
        )
