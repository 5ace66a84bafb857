"""The server: answers Terraform Cloud at once, judges the plan in the background, and calls back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import anyio
import anyio.to_thread
import httpx
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from tfc_run_task.client import CallError, fetch, send
from tfc_run_task.pages import Pages
from tfc_run_task.request import SIGNATURE, STAGES, BadRequestError, TaskRequest, is_signed, parse
from tfc_run_task.result import TaskResult

#: Bytes of a request's body: Terraform Cloud's is about 2 KiB.
MOST_BODY = 2**20

#: Results that are remembered, so that a call that is made twice is answered once.
_REMEMBERED = 1_000

_LOG = logging.getLogger("tfc_run_task")

_PAGE_HEADERS = {
    "Cache-Control": "private, no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}

#: What the caller brings: the plan's JSON and the workspace's name -> the result. It runs in a thread of its own.
Judge = Callable[[bytes, str], TaskResult]


@dataclass(frozen=True, slots=True)
class Settings:
    """`keys` sign requests; `origins` are called back; `url` is where this server is reached, for links to reports.

    `at_once` plans are judged at a time and `waiting` more may wait; the next call is answered 503, and Terraform Cloud
    makes it again. Seconds: `body_s` for a request's body, `plan_s` from the request to the result.
    """

    keys: tuple[bytes, ...]
    judge: Judge
    pages: Pages | None = None
    url: str = ""
    origins: tuple[str, ...] = ("https://app.terraform.io",)
    at_once: int = 2
    waiting: int = 30
    most_plan: int = 128 * 2**20
    body_s: float = 10.0
    plan_s: float = 480.0


class RunTask:
    """The state of a server: what is being judged, and what was."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._slots = anyio.CapacityLimiter(settings.at_once)
        self._running: set[asyncio.Task[None]] = set()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._client = httpx.AsyncClient(timeout=httpx.Timeout(30.0), trust_env=True)

    async def close(self) -> None:
        """Let what was begun come to its end."""
        if self._running:
            await asyncio.wait(self._running, timeout=self.settings.plan_s)
        await self._client.aclose()

    async def take(self, request: Request) -> Response:
        """A call of Terraform Cloud."""
        try:
            body = await asyncio.wait_for(_body(request), self.settings.body_s)
        except TimeoutError:
            return PlainTextResponse("the body did not come in time\n", 408, headers={"Connection": "close"})
        except ClientDisconnect:
            return Response(status_code=400)
        if body is None:
            return PlainTextResponse("the body is too large\n", 413, headers={"Connection": "close"})
        if not is_signed(body, request.headers.get(SIGNATURE, ""), self.settings.keys):
            _LOG.warning("a request without a valid signature was refused")
            return PlainTextResponse("the signature is not that of the key\n", 401)
        try:
            task = parse(body, self.settings.origins)
        except BadRequestError as error:
            _LOG.warning("a signed request was refused: %s", error)
            return PlainTextResponse(f"{error}\n", 422)
        if task.is_verification:
            _LOG.info("the endpoint was verified by Terraform Cloud")
            return Response(status_code=200)
        if task.id and task.id in self._known:
            return Response(status_code=200)
        if len(self._running) >= self.settings.at_once + self.settings.waiting:
            _LOG.warning("%s: refused, for %d plans are being judged", task.run, len(self._running))
            return PlainTextResponse("busy; call again\n", 503, headers={"Retry-After": "30"})
        self._remember(task.id)
        running = asyncio.create_task(self._answer(task))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        return Response(status_code=200)

    def _remember(self, task_id: str) -> None:
        if task_id:
            self._known[task_id] = None
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)

    async def _answer(self, task: TaskRequest) -> None:
        began = asyncio.get_running_loop().time()
        try:
            result = await asyncio.wait_for(self._judged(task), self.settings.plan_s)
        except CallError as error:
            result = TaskResult(False, f"not reviewed: {error}")
        except TimeoutError:
            result = TaskResult(False, f"not reviewed: it took more than {self.settings.plan_s:g} seconds")
        except Exception as error:  # whatever a plan made of us: Terraform Cloud must hear that it did not pass
            _LOG.exception("%s: the review failed", task.run)
            result = TaskResult(False, f"not reviewed: {type(error).__name__} in the review; see the server's log")
        url = await self._kept(result)
        took = asyncio.get_running_loop().time() - began
        try:
            await send(self._client, task.callback, task.token, result.body(url, task.takes_outcomes))
        except CallError as error:
            _LOG.error("%s %s: %s", task.run, task.workspace, error)
            return
        _LOG.info(
            "%s %s %s: %s in %.1f s: %s",
            task.run,
            task.workspace,
            task.stage,
            "passed" if result.passed else "failed",
            took,
            result.message,
        )

    async def _judged(self, task: TaskRequest) -> TaskResult:
        if task.stage not in STAGES:
            return TaskResult(True, f"nothing to review at {task.stage or 'this stage'}: there is no plan")
        async with self._slots:
            plan = await fetch(self._client, task.plan, task.token, self.settings.most_plan, self.settings.origins)
        # The thread keeps its slot until it ends, also when nobody waits for it any more.
        return await anyio.to_thread.run_sync(
            self.settings.judge, plan, task.workspace, limiter=self._slots, abandon_on_cancel=True
        )

    async def _kept(self, result: TaskResult) -> str:
        """The address of the report; empty when there is none."""
        if not self.settings.pages or not self.settings.url or not result.pages:
            return ""
        try:
            name = await anyio.to_thread.run_sync(self.settings.pages.add, result.pages)
        except OSError as error:
            _LOG.error("the report cannot be kept: %s", error.strerror)
            return ""
        return f"{self.settings.url}/reports/{name}"

    async def report(self, request: Request) -> Response:
        """A report, to whoever has its address."""
        file = self.settings.pages.find(request.path_params["name"]) if self.settings.pages else None
        if file is None:
            return PlainTextResponse("there is no such report, or it is too old\n", 404)
        return FileResponse(file, headers=_PAGE_HEADERS)


async def _body(request: Request) -> bytes | None:
    """The body; None when it is too large."""
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > MOST_BODY:
        return None
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > MOST_BODY:
            return None
    return bytes(found)


async def _health(request: Request) -> Response:
    return PlainTextResponse("ok\n")


def create_app(settings: Settings) -> Starlette:
    """The application: POST / takes calls, GET /reports/NAME has a report, GET /healthz says ok."""
    task = RunTask(settings)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await task.close()

    routes = [
        Route("/", task.take, methods=["POST"]),
        Route("/reports/{name}", task.report, methods=["GET"]),
        Route("/healthz", _health, methods=["GET"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan)
