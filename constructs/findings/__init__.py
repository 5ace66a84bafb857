"""Findings: the one way to say that something is wrong, with its rule, its place and its mend, for people and programs.

It knows nothing of what is judged: profiles, plans and rehearsals all speak through it.
"""

from findings.engine import (
    RULES,
    UNREADABLE,
    CheckFunction,
    Finding,
    Location,
    Problem,
    ProfileError,
    ProfilePath,
    Registry,
    Rule,
    Severity,
    Subject,
    UnavailableError,
    UserError,
    dotted,
    rule,
)

__all__ = [
    "RULES",
    "UNREADABLE",
    "CheckFunction",
    "Finding",
    "Location",
    "Problem",
    "ProfileError",
    "ProfilePath",
    "Registry",
    "Rule",
    "Severity",
    "Subject",
    "UnavailableError",
    "UserError",
    "dotted",
    "rule",
]
