"""What Terraform Cloud sends: its signature, and the fields that are needed of its payload."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

#: The header of the signature: HMAC-SHA512 of the body, in hex.
SIGNATURE = "X-TFC-Task-Signature"

#: The token of the request by which Terraform Cloud tries an endpoint when a run task is made.
VERIFICATION_TOKEN = "test-token"

#: Stages at which there is a plan.
STAGES = ("post_plan", "pre_apply")

#: A name as Terraform Cloud gives it; for logs and messages.
_NAME = re.compile(r"[\w.-]{1,128}")


class BadRequestError(Exception):
    """A payload that cannot be answered; the message says why."""


def is_signed(body: bytes, signature: str, keys: Sequence[bytes]) -> bool:
    """Whether one of the keys signed the body; takes the same time whatever is wrong."""
    given = signature.strip().lower().encode("ascii", "replace")
    matches = [hmac.compare_digest(hmac.new(key, body, hashlib.sha512).hexdigest().encode(), given) for key in keys]
    return any(matches)


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """One call. `token` is for this run alone; it is never printed."""

    id: str
    stage: str
    token: str
    callback: str
    plan: str
    run: str
    workspace: str
    organization: str
    takes_outcomes: bool
    is_verification: bool

    def __repr__(self) -> str:
        return f"TaskRequest({self.id}, {self.run}, {self.workspace}, {self.stage})"


def parse(body: bytes, origins: Sequence[str]) -> TaskRequest:
    """The payload of version 1. Raises BadRequestError.

    `origins` are the addresses of Terraform Cloud and Enterprise that are called back: ``https://app.terraform.io``.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequestError("the body is not JSON") from None
    if not isinstance(data, dict):
        raise BadRequestError("the body is no JSON object")
    if data.get("payload_version") != 1:
        raise BadRequestError("payload_version is not 1")
    token = data.get("access_token")
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise BadRequestError("access_token is missing")
    verification = token == VERIFICATION_TOKEN
    stage = _name(data, "stage")
    callback, plan = data.get("task_result_callback_url"), data.get("plan_json_api_url")
    if not verification:
        _is_of(callback, "task_result_callback_url", origins)
        if stage in STAGES:
            _is_of(plan, "plan_json_api_url", origins)
    capabilities = data.get("capabilities")
    return TaskRequest(
        id=_name(data, "task_result_id"),
        stage=stage,
        token=token,
        callback=callback if isinstance(callback, str) else "",
        plan=plan if isinstance(plan, str) else "",
        run=_name(data, "run_id"),
        workspace=_name(data, "workspace_name"),
        organization=_name(data, "organization_name"),
        takes_outcomes=isinstance(capabilities, dict) and capabilities.get("outcomes") is True,
        is_verification=verification,
    )


def _name(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) and _NAME.fullmatch(value) else ""


def _is_of(url: Any, key: str, origins: Sequence[str]) -> None:
    """Nothing but Terraform Cloud is called, whoever signed the request."""
    if not isinstance(url, str) or origin(url) not in origins:
        raise BadRequestError(f"{key} is not of {' or '.join(origins)}")


def origin(url: str) -> str:
    """``https://HOST[:PORT]`` of a URL, in lower case; empty for what is none, or holds a user."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in ("https", "http") or not parts.hostname or "@" in parts.netloc:
        return ""
    default = {"https": 443, "http": 80}[parts.scheme]
    return f"{parts.scheme}://{parts.hostname}" + (f":{port}" if port not in (None, default) else "")
