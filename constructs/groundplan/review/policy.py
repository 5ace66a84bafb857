"""Rules of your own on plans: the names that docs/policy.md promises, kept wherever they stand inside."""

from __future__ import annotations

from plan_review.policy import Breach, Category, Change, Plan, Resource, Resources, Severity, breach, policy

__all__ = ["Breach", "Category", "Change", "Plan", "Resource", "Resources", "Severity", "breach", "policy"]
