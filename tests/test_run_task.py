"""The run task on loopback: signatures, sizes, slowness, load, where it calls, and what it answers."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from groundplan.commands import serve_run_task as command
from plan_review.approval import content_digest
from review.cases_of_risk import FIREWALL, POOL, pool
from review.plans import create, document, update
from tfc_run_task.pages import Pages
from tfc_run_task.request import BadRequestError, is_signed, origin, parse
from tfc_run_task.result import MOST_OUTCOMES, Outcome, TaskResult
from tfc_run_task.server import MOST_BODY, Settings, create_app

KEY = b"a key of the run task for tests"
TOKEN = "a-token-for-one-run"
SAFE = document(create("google_storage_bucket.b", name="b", location="US"))
DECISION = document(update("google_container_node_pool.p", POOL, pool(node_count=3)))
DANGEROUS = document(create("google_compute_firewall.f", **FIREWALL))
#: What Terraform Cloud waits for in these tests, in seconds.
PATIENCE = 30


@contextmanager
def served(app: Starlette, **options: Any) -> Iterator[str]:
    """An application on a free port of loopback; yields its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, **options))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


class TerraformCloud:
    """What is called back: plans to be fetched, and the results that came."""

    def __init__(self) -> None:
        self.plans: dict[str, Any] = {}
        self.results: list[dict[str, Any]] = []
        self.tokens: list[str] = []
        self.statuses: list[int] = []
        self.arrived = threading.Condition()
        self.url = ""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/plans/{name}", self.plan),
                Route("/callback/{name}", self.callback, methods=["PATCH"]),
            ]
        )

    async def plan(self, request: Request) -> Response:
        self.tokens.append(request.headers.get("authorization", ""))
        answer = self.plans[request.path_params["name"]]
        if callable(answer):
            return await answer(request)
        return JSONResponse(answer)

    async def callback(self, request: Request) -> Response:
        body = await request.json()
        status = self.statuses.pop(0) if self.statuses else 200
        with self.arrived:
            self.tokens.append(request.headers["authorization"])
            assert request.headers["content-type"] == "application/vnd.api+json"
            if status < 300:
                self.results.append({"name": request.path_params["name"], **body["data"]})
                self.arrived.notify_all()
        return Response(status_code=status)

    def wait(self, amount: int = 1) -> list[dict[str, Any]]:
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.results) >= amount, PATIENCE), self.results
        return self.results


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def cloud() -> Iterator[TerraformCloud]:
    cloud = TerraformCloud()
    with served(cloud.app()) as url:
        cloud.url = url
        yield cloud


def judge(fail_on: tuple[str, ...] = ("dangerous",)) -> Callable[[bytes, str], TaskResult]:
    return command._judge(fail_on, None, None, (), ())


@pytest.fixture
def task(cloud: TerraformCloud, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Starts a server with settings; returns its address."""
    running: list[Any] = []

    def start(**settings: Any) -> str:
        options = {
            "keys": (KEY,),
            "judge": judge(),
            "pages": Pages(tmp_path / "reports"),
            "url": "https://review.example.com",
            "origins": (cloud.url,),
            **settings,
        }
        context = served(create_app(Settings(**options)))
        running.append(context)
        return context.__enter__()

    yield start
    for context in running:
        context.__exit__(None, None, None)


def payload(cloud: TerraformCloud, name: str = "one", **more: Any) -> dict[str, Any]:
    return {
        "payload_version": 1,
        "access_token": TOKEN,
        "capabilities": {"outcomes": True},
        "stage": "post_plan",
        "task_result_id": f"taskrs-{name}",
        "task_result_callback_url": f"{cloud.url}/callback/{name}",
        "plan_json_api_url": f"{cloud.url}/plans/{name}",
        "run_id": f"run-{name}",
        "workspace_name": "my-site-gpu",
        "organization_name": "my-organization",
        **more,
    }


def call(url: str, body: Any, key: bytes = KEY, **headers: str) -> httpx.Response:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    signed = {"X-TFC-Task-Signature": hmac.new(key, data, hashlib.sha512).hexdigest(), **headers}
    return httpx.post(url, content=data, headers=signed, timeout=PATIENCE)


@pytest.mark.parametrize(
    ("plan", "status", "said"),
    [
        (SAFE, "passed", "SAFE: 1 to create in 1 stack; approval sha256:"),
        (DECISION, "passed", "NEEDS A DECISION: 1 to update in 1 stack; approval sha256:"),
        (DANGEROUS, "failed", "DANGEROUS: 1 to create in 1 stack; failing on dangerous; approval sha256:"),
    ],
)
def test_a_plan_is_fetched_judged_and_answered(
    cloud: TerraformCloud, task: Callable[..., str], tmp_path: Path, plan: Any, status: str, said: str
) -> None:
    cloud.plans["one"] = plan
    url = task()
    assert call(url, payload(cloud)).status_code == 200
    (result,) = cloud.wait()
    assert result["type"] == "task-results"
    assert result["attributes"]["status"] == status
    assert result["attributes"]["message"].startswith(said)
    assert set(cloud.tokens) == {f"Bearer {TOKEN}"}
    link = result["attributes"]["url"]
    page = httpx.get(link.replace("https://review.example.com", url))
    assert page.status_code == 200
    assert "To sign" in page.text
    assert page.headers["cache-control"] == "private, no-store"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    data = httpx.get(link.replace("https://review.example.com", url).replace(".html", ".json")).json()
    assert data["approval"]["plans"][0]["content"] == content_digest(plan)
    assert data["stacks"][0]["stack"] == "my-site-gpu"


def test_findings_are_outcomes_where_they_are_taken(cloud: TerraformCloud, task: Callable[..., str]) -> None:
    cloud.plans["one"] = cloud.plans["two"] = DANGEROUS
    url = task()
    call(url, payload(cloud))
    (result,) = cloud.wait()
    (outcome,) = result["relationships"]["outcomes"]["data"]
    assert outcome["type"] == "task-result-outcomes"
    assert outcome["attributes"]["outcome-id"] == "firewall-open"
    assert outcome["attributes"]["tags"] == {"Status": [{"label": "Dangerous", "level": "error"}]}
    assert "What to do: " in outcome["attributes"]["body"]
    assert (
        "google\\_compute" in outcome["attributes"]["body"]
        or "google_compute_firewall.f" in outcome["attributes"]["body"]
    )
    call(url, payload(cloud, "two", capabilities={}))
    assert "relationships" not in cloud.wait(2)[1]


def test_the_verification_of_an_endpoint_is_answered_and_nothing_called(
    cloud: TerraformCloud, task: Callable[..., str]
) -> None:
    url = task()
    body = payload(cloud, access_token="test-token", task_result_callback_url="https://example.com", stage="test")
    assert call(url, body).status_code == 200
    cloud.plans["one"] = SAFE
    call(url, payload(cloud))
    cloud.wait()
    assert set(cloud.tokens) == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    "headers",
    [
        {"X-TFC-Task-Signature": ""},
        {"X-TFC-Task-Signature": "0" * 128},
        {"X-TFC-Task-Signature": "not hex: ü".encode("latin-1").decode("latin-1")},
        {"X-TFC-Task-Signature": "a" * 5_000},
    ],
)
def test_an_unsigned_request_is_refused(
    cloud: TerraformCloud, task: Callable[..., str], headers: dict[str, str]
) -> None:
    url = task()
    encoded = {key: value.encode("latin-1") for key, value in headers.items()}
    data = json.dumps(payload(cloud)).encode()
    assert httpx.post(url, content=data, headers=encoded).status_code == 401
    assert httpx.post(url, content=data).status_code == 401
    assert call(url, payload(cloud), key=b"another key than that of the task").status_code == 401
    assert cloud.tokens == []


def test_a_signature_is_of_the_very_bytes_and_of_any_key(cloud: TerraformCloud) -> None:
    body = json.dumps(payload(cloud)).encode()
    signature = hmac.new(KEY, body, hashlib.sha512).hexdigest()
    assert is_signed(body, signature, [KEY])
    assert is_signed(body, signature.upper(), [b"a key that is new", KEY])
    assert not is_signed(body + b" ", signature, [KEY])
    assert not is_signed(body, signature, [])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"task_result_callback_url": "https://evil.example.com/x"}, "task_result_callback_url is not of http"),
        ({"plan_json_api_url": "http://169.254.169.254/computeMetadata/v1/"}, "plan_json_api_url is not of http"),
        ({"plan_json_api_url": None}, "plan_json_api_url is not of http"),
        ({"payload_version": 2}, "payload_version is not 1"),
        ({"access_token": ""}, "access_token is missing"),
        ({"access_token": "a\nb"}, "access_token is missing"),
    ],
)
def test_nothing_but_terraform_cloud_is_called(
    cloud: TerraformCloud, task: Callable[..., str], changed: dict[str, Any], said: str
) -> None:
    answer = call(task(), payload(cloud, **changed))
    assert (answer.status_code, said in answer.text) == (422, True)
    assert TOKEN not in answer.text
    assert cloud.tokens == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://app.terraform.io/api/v2/x", "https://app.terraform.io"),
        ("https://APP.terraform.io:443/x", "https://app.terraform.io"),
        ("https://app.terraform.io:8443", "https://app.terraform.io:8443"),
        ("https://app.terraform.io@evil.com/", ""),
        ("https://app.terraform.io.evil.com/", "https://app.terraform.io.evil.com"),
        ("file:///etc/passwd", ""),
        ("https://host:port/", ""),
        ("https:///x", ""),
        ("", ""),
    ],
)
def test_the_origin_of_a_url(url: str, expected: str) -> None:
    assert origin(url) == expected


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff\xfe", b"[" * 200_000])
def test_a_signed_body_that_is_no_payload(cloud: TerraformCloud, task: Callable[..., str], body: bytes) -> None:
    assert call(task(), body).status_code == 422
    with pytest.raises(BadRequestError):
        parse(body, ("https://app.terraform.io",))


def test_an_oversized_body_is_refused_declared_or_not(cloud: TerraformCloud, task: Callable[..., str]) -> None:
    url = task()
    assert call(url, b" " * (MOST_BODY + 1)).status_code == 413

    def endless() -> Iterator[bytes]:
        for _ in range(MOST_BODY // 1024 + 10):
            yield b" " * 1024

    try:
        answer = httpx.post(url, content=endless(), headers={"X-TFC-Task-Signature": "0" * 128})
        assert answer.status_code == 413
    except httpx.WriteError:  # the answer came, and the connection went, while the body was being sent
        pass
    assert httpx.get(f"{url}/healthz").text == "ok\n"


def test_a_slow_body_is_refused_while_others_are_served(cloud: TerraformCloud, task: Callable[..., str]) -> None:
    url = task(body_s=0.3)
    cloud.plans["one"] = SAFE
    address = url.removeprefix("http://").split(":")
    slow = [socket.create_connection((address[0], int(address[1])), PATIENCE) for _ in range(20)]
    for each in slow:
        each.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    assert call(url, payload(cloud)).status_code == 200
    assert cloud.wait()[0]["attributes"]["status"] == "passed"
    for each in slow:
        assert each.recv(100).startswith(b"HTTP/1.1 408")
        each.close()


def test_a_plan_that_is_too_large_or_too_slow_does_not_pass(cloud: TerraformCloud, task: Callable[..., str]) -> None:
    async def large(request: Request) -> Response:
        return StreamingResponse((b" " * 2**16 for _ in range(64)), media_type="application/json")

    async def slow(request: Request) -> Response:
        await asyncio.sleep(3)
        return Response(b"{}")

    cloud.plans |= {"large": large, "slow": slow}
    url = task(most_plan=2**20, plan_s=0.5)
    call(url, payload(cloud, "large"))
    call(url, payload(cloud, "slow"))
    said = {each["name"]: each["attributes"] for each in cloud.wait(2)}
    assert said["large"] == {
        "status": "failed",
        "message": "not reviewed: the plan has more than 1 MiB, and is not read",
    }
    assert said["slow"] == {"status": "failed", "message": "not reviewed: it took more than 0.5 seconds"}


def test_what_is_no_plan_does_not_pass(cloud: TerraformCloud, task: Callable[..., str]) -> None:
    async def none(request: Request) -> Response:
        return Response(status_code=204)

    async def refused(request: Request) -> Response:
        return Response(status_code=404)

    cloud.plans |= {
        "state": {"version": 4, "serial": 1, "lineage": "x", "resources": []},
        "none": none,
        "gone": refused,
    }
    url = task()
    for name in ("state", "none", "gone"):
        call(url, payload(cloud, name))
    said = {each["name"]: each["attributes"] for each in cloud.wait(3)}
    assert {each["status"] for each in said.values()} == {"failed"}
    assert "is a Terraform state, not a plan" in said["state"]["message"]
    assert "has no JSON of this plan (204)" in said["none"]["message"]
    assert "answered 404" in said["gone"]["message"]


def test_an_error_in_the_review_does_not_pass(cloud: TerraformCloud, task: Callable[..., str]) -> None:
    def broken(plan: bytes, workspace: str) -> TaskResult:
        raise ZeroDivisionError("secret-of-the-plan")

    cloud.plans["one"] = SAFE
    call(task(judge=broken), payload(cloud))
    (result,) = cloud.wait()
    assert result["attributes"] == {
        "status": "failed",
        "message": "not reviewed: ZeroDivisionError in the review; see the server's log",
    }


def test_a_redirect_to_the_store_gets_no_token(cloud: TerraformCloud, task: Callable[..., str]) -> None:
    """Terraform Cloud sends to a signed address of its store, on another host."""
    store = TerraformCloud()
    store.plans["kept"] = SAFE
    with served(store.app()) as elsewhere:

        async def moved(request: Request) -> Response:
            return RedirectResponse(f"{elsewhere}/plans/kept", 307)

        async def home(request: Request) -> Response:
            return RedirectResponse("/plans/real", 302)

        async def circle(request: Request) -> Response:
            return RedirectResponse("/plans/circle", 302)

        cloud.plans |= {"moved": moved, "home": home, "real": SAFE, "circle": circle}
        url = task()
        for number, name in enumerate(("moved", "home", "circle"), 1):
            call(url, payload(cloud, name))
            cloud.wait(number)
    said = {each["name"]: each["attributes"]["message"] for each in cloud.results}
    assert said["moved"] == "not reviewed: the plan's address leads to one that is not https"
    assert store.tokens == []
    assert said["home"].startswith("SAFE")
    assert said["circle"] == "not reviewed: the plan's address leads on more than 3 times"


def test_a_token_stays_with_its_origin(cloud: TerraformCloud) -> None:
    """The store over https: a transport stands for it."""
    from tfc_run_task.client import fetch

    seen: list[tuple[str, str]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.url.host, request.headers.get("authorization", "")))
        if request.url.host == "app.terraform.io":
            return httpx.Response(307, headers={"location": "https://archivist.terraform.io/v1/object/signed"})
        return httpx.Response(200, content=b"{}")

    async def get() -> bytes:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            return await fetch(client, "https://app.terraform.io/p", TOKEN, 100, ("https://app.terraform.io",))

    assert asyncio.run(get()) == b"{}"
    assert seen == [("app.terraform.io", f"Bearer {TOKEN}"), ("archivist.terraform.io", "")]


def test_a_result_is_sent_again_when_the_other_side_fails(
    cloud: TerraformCloud, task: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfc_run_task.client._PAUSES", (0.0, 0.0))
    cloud.plans["one"] = SAFE
    cloud.statuses = [500, 429]
    call(task(), payload(cloud))
    assert cloud.wait()[0]["attributes"]["status"] == "passed"


def test_a_call_that_is_made_twice_is_answered_once(cloud: TerraformCloud, task: Callable[..., str]) -> None:
    cloud.plans["one"] = cloud.plans["two"] = SAFE
    url = task()
    for name in ("one", "one", "two"):
        assert call(url, payload(cloud, name)).status_code == 200
    cloud.wait(2)
    assert sorted(each["name"] for each in cloud.results) == ["one", "two"]


def test_load_waits_in_line_and_what_is_too_much_is_told_to_come_again(
    cloud: TerraformCloud, task: Callable[..., str]
) -> None:
    free = threading.Event()
    at_once: list[int] = []
    running = threading.Semaphore(0)

    def slow(plan: bytes, workspace: str) -> TaskResult:
        at_once.append(1)
        running.release()
        assert free.wait(PATIENCE)
        return TaskResult(True, "done")

    names = [f"n{number}" for number in range(12)]
    cloud.plans |= dict.fromkeys(names, SAFE)
    url = task(judge=slow, at_once=2, waiting=6)
    codes = [call(url, payload(cloud, name)).status_code for name in names]
    assert codes == [200] * 8 + [503] * 4
    for _ in range(2):
        assert running.acquire(timeout=PATIENCE)
    assert len(at_once) == 2  # the others wait
    assert httpx.get(f"{url}/healthz").text == "ok\n"
    free.set()
    assert {each["attributes"]["status"] for each in cloud.wait(8)} == {"passed"}
    assert call(url, payload(cloud, names[-1])).status_code == 200  # which was refused, and is made again
    cloud.wait(9)


def test_a_stage_without_a_plan_passes_and_says_so(cloud: TerraformCloud, task: Callable[..., str]) -> None:
    body = payload(cloud, stage="pre_plan", plan_json_api_url=None)
    assert call(task(), body).status_code == 200
    assert cloud.wait()[0]["attributes"] == {
        "status": "passed",
        "message": "nothing to review at pre_plan: there is no plan",
    }


def test_pages_are_found_by_their_names_alone(tmp_path: Path) -> None:
    pages = Pages(tmp_path / "reports", most=2)
    names = [pages.add({".html": f"page {number}", ".json": "{}"}) for number in range(3)]
    assert len(set(names)) == 3
    assert pages.find(names[2]) is not None
    (tmp_path / "secret.html").write_text("x")
    for name in ("../secret.html", "", ".", "a.html", names[2] + "/", names[2].replace(".html", ".txt")):
        assert pages.find(name) is None
    assert pages.find(names[0]) is None  # too many: the oldest went
    assert [oct(file.stat().st_mode)[-3:] for file in pages.folder.iterdir()] == ["600"] * 4


def test_a_long_result_is_cut_to_what_terraform_cloud_shows() -> None:
    outcomes = tuple(Outcome(f"r{n}", "d" * 1_000, "b" * 50_000, "error", "Dangerous") for n in range(80))
    data = TaskResult(False, "m" * 1_000, outcomes).body("", takes_outcomes=True)["data"]
    assert len(data["attributes"]["message"]) == 500
    assert len(data["relationships"]["outcomes"]["data"]) == MOST_OUTCOMES
    assert len(json.dumps(data)) < 5 * 2**20
    assert "url" not in data["attributes"]


@pytest.mark.parametrize(
    ("arguments", "key", "said"),
    [
        ([], "", "there is no HMAC key: give --key-file, or set GROUNDPLAN_RUN_TASK_KEY"),
        ([], "too short", "is shorter than 16 characters; make one with `openssl rand -hex 32`"),
        (["--key-file", "absent"], "", "absent cannot be read as the key: No such file"),
        (["--terraform", "app.terraform.io"], "k" * 32, "app.terraform.io is no address of a server"),
        (["--url", "https://x/y"], "k" * 32, "https://x/y is no address of a server"),
        (["--url", "https://x"], "k" * 32, "--url and --reports belong together"),
        (["--tls-cert", "x"], "k" * 32, "--tls-cert and --tls-key belong together"),
        (["--fail-on", "nothing"], "k" * 32, "nothing is no verdict, kind of trouble or rule"),
    ],
)
def test_a_server_that_cannot_be_started_says_why(
    arguments: list[str], key: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(command.KEY, key)
    result = CliRunner().invoke(command.serve_run_task, arguments)
    output = result.output + str(result.exception or "")
    assert result.exit_code != 0
    assert said in output
    if key:
        assert key not in output


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = CliRunner().invoke(command.serve_run_task, [])
    assert str(result.exception) == (
        "serve-run-task needs uvicorn, which is not installed: pip install 'groundplan[run-task]'"
    )


def test_the_command_serves(cloud: TerraformCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all options, up to where uvicorn takes over."""
    started: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: started.update(options, app=app))
    key = tmp_path / "key"
    key.write_text(f"an older key of the task\n{KEY.decode()}\n")
    arguments = ["--key-file", str(key), "--reports", str(tmp_path / "reports"), "--url", "https://r.example.com/"]
    arguments += ["--terraform", cloud.url, "--fail-on", "decision", "--port", "9000"]
    result = CliRunner().invoke(command.serve_run_task, arguments, catch_exceptions=False)
    assert (result.exit_code, result.output) == (0, "")
    assert (started["host"], started["port"], started["access_log"]) == ("127.0.0.1", 9000, False)
    cloud.plans["one"] = DECISION
    with served(started["app"]) as url:
        assert call(url, payload(cloud)).status_code == 200
        (answer,) = cloud.wait()
    assert answer["attributes"]["status"] == "failed"
    assert "failing on decision" in answer["attributes"]["message"]
    assert answer["attributes"]["url"].startswith("https://r.example.com/reports/")
