"""Text that Terraform would evaluate."""

from __future__ import annotations

from rules.support import Case


def named(name: str) -> dict[str, object]:
    return {"cluster.control_plane.authorized_networks": [{"name": name, "cidr": "10.200.0.0/24"}]}


CASES = [
    Case(
        "terraform-template",
        named("office ${file(x)}"),
        named("office $ {x} 100%"),
        "cluster.control_plane.authorized_networks[0].name",
        ("${", "the value itself"),
    ),
    Case(
        "terraform-template",
        named("a %{if true}"),
        {"workload.environment": {"NOTE": "100 %{x} ${y}"}},
        "cluster.control_plane.authorized_networks[0].name",
        ("%{",),
    ),
]
