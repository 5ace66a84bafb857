"""Ports of firewall rules: which protocols have them, and what opens all of them."""

from __future__ import annotations

#: Protocols with ports, by name and by IANA number: without ports written out, all of them are open.
WITH_PORTS = frozenset({"tcp", "udp", "sctp", "6", "17", "132"})


def is_every_port(text: str) -> bool:
    """``0-65535`` or ``1-65535``, however it is spaced."""
    first, dash, last = (part.strip() for part in text.partition("-"))
    return bool(dash) and first.isdigit() and last.isdigit() and int(first) <= 1 and int(last) >= 65535
