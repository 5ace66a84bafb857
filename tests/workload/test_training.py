"""The judge of a NeMo RL configuration knows no Kubernetes, site or profile; its rules stand in the registry."""

from __future__ import annotations

import ast

import groundplan.workload.rules  # noqa: F401  (registers them)
from findings import RULES
from groundplan.nemo_rl.training import CHECKS
from sites import ROOT


def test_the_judge_imports_nothing_of_the_site() -> None:
    above = ("groundplan.site", "groundplan.workload", "groundplan.gpu", "groundplan.platform", "groundplan.cluster")
    for file in sorted((ROOT / "constructs" / "groundplan" / "nemo_rl").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith(above), f"{file.name}:{node.lineno} imports {node.module}"


def test_every_check_is_registered_as_it_is_written() -> None:
    assert len(CHECKS) >= 18
    for check in CHECKS:
        rule = RULES.of_profiles[check.slug]
        assert (rule.severity, rule.topic, rule.check.__doc__) == (check.severity, "workload", check.run.__doc__)
