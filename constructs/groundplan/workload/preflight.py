"""Checks on every GPU node before Ray starts there, as an init container of the worker pods."""

from __future__ import annotations

from typing import Any

from groundplan.workload.job import JobPlan


def preflight_scripts() -> dict[str, str]:
    """File name -> text."""
    return {}


def init_container(
    job: JobPlan, resources: dict[str, str], security: dict[str, Any], mounts: list[dict[str, Any]]
) -> dict[str, Any]:
    """The container."""
    return {}
