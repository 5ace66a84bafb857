"""The job is planned once, its objects are built once, and the user's profile stays what it was."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from groundplan.emit.app import write_site
from groundplan.site import job as job_resolve
from groundplan.site import resolve as site_resolve
from groundplan.site.profile import Profile, parse_profile
from groundplan.workload import rayjob
from workload.jobs import profile_data

GATED = {"recipe": "grpo-gemma3-27b-gsm8k"}


def _profile(**sections: Any) -> Profile:
    data = profile_data(workload=GATED)
    del data["secrets"]
    return parse_profile(yaml.safe_dump(data | sections))[0]


def test_the_job_is_planned_once_and_its_objects_are_built_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: Counter[str] = Counter()

    def counted(module: Any, name: str) -> None:
        original = getattr(module, name)

        def call(*arguments: Any) -> Any:
            calls[name] += 1
            return original(*arguments)

        monkeypatch.setattr(module, name, call)

    counted(site_resolve, "resolve_job")
    counted(job_resolve, "_plan")
    counted(rayjob, "digest")
    counted(rayjob, "documents")
    site = site_resolve.resolve(_profile())
    assert calls == {"resolve_job": 1, "_plan": 1, "digest": 1}
    write_site(site, tmp_path / "out")
    assert calls == {"resolve_job": 1, "_plan": 1, "digest": 1, "documents": 1}


def test_a_gated_model_gets_its_token_without_a_change_of_the_profile() -> None:
    profile = _profile()
    before = copy.deepcopy(profile)
    site = site_resolve.resolve(profile)
    assert site.profile is profile
    assert profile == before
    assert profile.secrets.hugging_face is None
    assert profile.secrets.model_fields_set == set()
    assert site.secrets.hugging_face is not None
    assert site.secrets.hugging_face.variable
    assert site.job is not None
    assert [secret.variable for secret in site.job.secrets] == ["HF_TOKEN"]


def test_an_explicit_null_stays_none() -> None:
    site = site_resolve.resolve(_profile(secrets={"hugging_face": None}))
    assert site.secrets is site.profile.secrets
    assert site.secrets.hugging_face is None


def test_a_user_s_own_folder_and_run_name_are_kept() -> None:
    own = {"logger.log_dir": "/mnt/elsewhere/jobs/job/logs", "logger.wandb.name": "job"}
    site = site_resolve.resolve(_profile(workload={**GATED, "overrides": own}, secrets={"wandb": {"variable": True}}))
    assert site.job is not None
    assert {path: site.job.config.get(path) for path in own} == own
    assert {o.path: o.value for o in site.job.overrides if o.path in own} == own
    assert site.job.config.get("checkpointing.checkpoint_dir") == f"{site.job.folder}/checkpoints"
    assert site.job.folder.endswith(f"/jobs/{site.job.name}")
