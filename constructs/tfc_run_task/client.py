"""Calls to Terraform Cloud: the plan is fetched, the result is sent. Bounded in size, in time and in where they go."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx

from tfc_run_task.request import origin

#: Redirects that are followed: Terraform Cloud sends to its store, which has a signed address of its own.
_REDIRECTS = 3

#: Seconds before the second and third attempt of a call that failed by no fault of ours.
_PAUSES = (1.0, 4.0)


class CallError(Exception):
    """A call that did not succeed; the message says which and why, and holds no token and no signed address."""


async def fetch(client: httpx.AsyncClient, url: str, token: str, most: int, origins: Sequence[str]) -> bytes:
    """The content at a URL of Terraform Cloud, at most `most` bytes. Raises CallError.

    The token goes to the `origins` alone: elsewhere a redirect's address is enough.
    """
    for _ in range(_REDIRECTS + 1):
        ours = origin(url) in origins
        if not ours and not url.startswith("https://"):
            raise CallError("the plan's address leads to one that is not https")
        headers = {"Authorization": f"Bearer {token}"} if ours else {}
        try:
            async with client.stream("GET", url, headers=headers, follow_redirects=False) as answer:
                if answer.is_redirect and "location" in answer.headers:
                    url = str(httpx.URL(url).join(answer.headers["location"]))
                    continue
                if answer.status_code == 204:
                    raise CallError("Terraform Cloud has no JSON of this plan (204): the plan errored, or is not done")
                if answer.status_code != 200:
                    raise CallError(f"the plan cannot be fetched: {_host(url)} answered {answer.status_code}")
                return await _bounded(answer, most)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CallError(f"the plan cannot be fetched: {_host(url)}: {type(error).__name__}") from None
    raise CallError(f"the plan's address leads on more than {_REDIRECTS} times")


async def _bounded(answer: httpx.Response, most: int) -> bytes:
    found = bytearray()
    async for part in answer.aiter_bytes():
        found += part
        if len(found) > most:
            raise CallError(f"the plan has more than {most // 2**20} MiB, and is not read")
    return bytes(found)


async def send(client: httpx.AsyncClient, url: str, token: str, document: dict[str, Any]) -> None:
    """PATCH the result; again when the other side fails. Raises CallError."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/vnd.api+json"}
    said = ""
    for pause in (0.0, *_PAUSES):
        await asyncio.sleep(pause)
        try:
            answer = await client.patch(url, json=document, headers=headers, follow_redirects=False)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            said = type(error).__name__
            continue
        if answer.status_code < 300:
            return
        said = f"{_host(url)} answered {answer.status_code}"
        if answer.status_code < 500 and answer.status_code != 429:
            break
    raise CallError(f"the result cannot be sent: {said}")


def _host(url: str) -> str:
    return origin(url) or "an address that is none"
