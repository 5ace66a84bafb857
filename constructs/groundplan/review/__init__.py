"""The documented import path of policies (docs/policy.md); what it names stands in `plan_review`."""
