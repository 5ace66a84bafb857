"""The base of groundplan's constructs."""

from __future__ import annotations

from constructs import Construct


class Part(Construct):
    """A construct whose resources stand in the scope that it was given, under ids that begin with its own.

    A Terraform address is made of the path of ids within the stack. Below the construct each resource would be called
    ``lustre_lustre_1A2B3C4D``, and what exists under ``google_lustre_instance.lustre`` in somebody's state would be
    destroyed and made anew. So the construct itself is an empty node, `<id>-construct`, and its resources are its
    neighbours: the main one is `<id>`, others `<id>-...`; what is called otherwise, its class says. Two parts with
    different ids do not meet; the same id twice is refused by cdktf.
    """

    def __init__(self, scope: Construct, id_: str) -> None:
        super().__init__(scope, f"{id_}-construct")
        self.scope = scope
        """Where the resources stand."""
        self.id = id_
