"""Runs the real Terraform in a scratch folder: init, validate, plan, show, apply, destroy, import.

The user's folder, state, lock file and CLI configuration are never touched: a synth output is copied without state,
every stack gets a local backend by an override file, and Terraform's environment is built from scratch.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from findings import UnavailableError

#: Merged by Terraform over what a stack says of its backend, `cloud` blocks included.
OVERRIDE = "rehearsal_override.tf.json"
#: Written while a destroy lifts deletion protection, in the scratch copy only.
UNPROTECT = "rehearsal_unprotect_override.tf.json"

_LEFT_BEHIND = shutil.ignore_patterns(
    ".terraform", ".terraform.lock.hcl", "*.tfstate", "*.tfstate.*", ".*.tfstate.lock.info", "*.tfvars", "*.tfvars.json"
)

#: Passed on from the caller's environment; anything else (TF_*, GOOGLE_*, KUBE_*) would reach into the real world.
_KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "SYSTEMROOT")

Listener = Callable[[dict[str, Any]], None]


class TerraformMissing(UnavailableError):
    """No terraform on PATH, or one that is too old."""


@dataclass(frozen=True, slots=True)
class Message:
    """A diagnostic of Terraform: severity ``error`` or ``warning``, summary, detail, and the resource if known."""

    severity: str
    summary: str
    detail: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """One run: exit code, diagnostics, the changes it planned or made, and wall-clock seconds.

    `changes` maps a resource address to ``create``, ``update``, ``delete`` or ``replace``, planned or applied.
    """

    command: str
    code: int
    seconds: float
    messages: tuple[Message, ...] = ()
    changes: dict[str, str] = field(default_factory=dict)
    output: str = ""

    @property
    def ok(self) -> bool:
        return self.code == 0

    @property
    def errors(self) -> list[Message]:
        return [each for each in self.messages if each.severity == "error"]

    @property
    def warnings(self) -> list[Message]:
        return [each for each in self.messages if each.severity == "warning"]


def executable() -> str:
    """The path of terraform. Raises TerraformMissing with one line that says what to do."""
    found = shutil.which("terraform")
    if found is None:
        raise TerraformMissing("terraform is not on PATH: a rehearsal runs the real one, 1.11 or later; install it")
    return found


def scratch_copy(synth_output: Path, scratch: Path) -> Path:
    """Copy a synth output without state, lock files or downloaded plugins."""
    shutil.copytree(synth_output, scratch, ignore=_LEFT_BEHIND, dirs_exist_ok=True)
    return scratch


@dataclass(slots=True)
class Terraform:
    """One stack folder in the scratch copy. `environment` carries the simulated providers' address."""

    folder: Path
    environment: dict[str, str]
    listener: Listener | None = None
    binary: str = field(default_factory=executable)
    on_start: Callable[[subprocess.Popen[bytes]], None] | None = None

    def prepare(self) -> None:
        """Give the stack its local backend, and dummies for its required variables."""
        self._write(OVERRIDE, {"terraform": {"backend": {"local": {"path": "rehearsal.tfstate"}}}})
        for name, spec in self.configuration().get("variable", {}).items():
            body = spec[0] if isinstance(spec, list) else spec
            if "default" not in body:
                self.environment = {**self.environment, f"TF_VAR_{name}": dummy(str(body.get("type", "string")))}

    def configuration(self) -> dict[str, Any]:
        """The stack's ``cdk.tf.json``."""
        loaded: dict[str, Any] = json.loads((self.folder / "cdk.tf.json").read_text("utf-8"))
        return loaded

    def init(self) -> Result:
        return self._plain("init", "-input=false", "-no-color")

    def validate(self) -> Result:
        ran = self._run(["validate", "-json"])
        report = _json(ran.output) or {}
        found = tuple(_message(each) for each in report.get("diagnostics", []))
        return Result("validate", ran.code, ran.seconds, found, {}, ran.output)

    def plan(self, *options: str) -> Result:
        """Plan into ``rehearsal.tfplan``. `changes` leaves out what stays as it is."""
        (self.folder / "rehearsal.tfplan").unlink(missing_ok=True)
        return self._streamed("plan", "-out=rehearsal.tfplan", "-input=false", *options)

    def show(self) -> dict[str, Any]:
        """The saved plan as Terraform's JSON."""
        ran = self._run(["show", "-json", "rehearsal.tfplan"])
        loaded: dict[str, Any] = _json(ran.output) or {}
        return loaded

    def apply(self, *options: str) -> Result:
        """Apply, without asking; with ``rehearsal.tfplan`` as option, that plan."""
        return self._streamed("apply", "-auto-approve", "-input=false", *options)

    def destroy(self, *options: str) -> Result:
        return self._streamed("destroy", "-auto-approve", "-input=false", *options)

    def untaint(self, address: str) -> Result:
        return self._plain("untaint", "-no-color", address)

    def import_object(self, address: str, identity: str) -> Result:
        return self._plain("import", "-input=false", "-no-color", address, identity)

    def state(self) -> dict[str, Any]:
        """The stored state, or an empty one."""
        path = self.folder / "rehearsal.tfstate"
        loaded: dict[str, Any] = json.loads(path.read_text("utf-8") or "{}") if path.exists() else {}
        return loaded

    def unprotect(self, resources: dict[str, dict[str, Any]]) -> None:
        """Override arguments of resources (type -> name -> arguments) until :meth:`protect`."""
        self._write(UNPROTECT, {"resource": resources})

    def protect(self) -> None:
        (self.folder / UNPROTECT).unlink(missing_ok=True)

    def _write(self, name: str, body: dict[str, Any]) -> None:
        (self.folder / name).write_text(json.dumps(body, indent=1) + "\n", "utf-8")

    def _plain(self, *arguments: str) -> Result:
        ran = self._run(list(arguments))
        found = (Message("error", _first_error(ran.output)),) if ran.code else ()
        return Result(arguments[0], ran.code, ran.seconds, found, {}, ran.output)

    def _streamed(self, command: str, *options: str) -> Result:
        messages: list[Message] = []
        planned: dict[str, str] = {}
        applied: dict[str, str] = {}
        started = time.monotonic()
        lines = []
        with self._running([command, "-json", *options]) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line.decode("utf-8", "replace"))
                event = _json(lines[-1])
                if not isinstance(event, dict):
                    continue
                if self.listener:
                    self.listener(event)
                match event.get("type"):
                    case "diagnostic":
                        messages.append(_message(event["diagnostic"]))
                    case "planned_change":
                        planned[event["change"]["resource"]["addr"]] = event["change"]["action"]
                    case "apply_complete":
                        address, action = event["hook"]["resource"]["addr"], event["hook"]["action"]
                        if action == "read":
                            continue  # a data source
                        both = {applied.get(address), action} == {"create", "delete"}
                        applied[address] = "replace" if both else action
            code = process.wait()
        changes = planned if command == "plan" else applied
        elapsed = time.monotonic() - started
        return Result(command, code, elapsed, tuple(messages), changes, "".join(lines))

    def _run(self, arguments: list[str]) -> Result:
        started = time.monotonic()
        with self._running(arguments) as process:
            output, _ = process.communicate()
        elapsed = time.monotonic() - started
        return Result(arguments[0], process.returncode, elapsed, output=output.decode("utf-8", "replace"))

    @contextmanager
    def _running(self, arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
        """A Terraform that does not outlive us: when we are interrupted, it is, and we wait for it to end."""
        process = self._start(arguments)
        try:
            yield process
        except BaseException:
            stop(process)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                stop(process, hard=True)
            raise
        finally:
            if process.stdout:
                process.stdout.close()

    def _start(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        # An empty file, not a missing one: Terraform warns of a file that it cannot open.
        empty = self.folder / ".rehearsal.tfrc"
        empty.touch()
        environment |= {
            "TF_CLI_CONFIG_FILE": str(empty),
            "CHECKPOINT_DISABLE": "1",
            "TF_IN_AUTOMATION": "1",
            # For provisioners, which run here as they do for real: what would only wait need not.
            "STAGED_TERRAFORM_REHEARSAL": "1",
            # Short runs need no garbage collection; a long one gets it when it has grown.
            "GOGC": "off",
            "GOMEMLIMIT": "1GiB",
        }
        process = subprocess.Popen(
            [self.binary, *arguments],
            cwd=self.folder,
            env={**environment, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Ctrl-C goes to us alone; we pass it on once, so that Terraform stops in an orderly way.
            start_new_session=True,
        )
        if self.on_start:
            self.on_start(process)
        return process


def stop(process: subprocess.Popen[bytes], hard: bool = False) -> None:
    """Interrupt a Terraform that we started (SIGINT), or kill it (SIGKILL)."""
    if process.poll() is None:
        process.send_signal(signal.SIGKILL if hard else signal.SIGINT)


def dummy(type_expression: str) -> str:
    """A value for a required variable, as TF_VAR_ wants it."""
    kind = re.sub(r"\$\{|\}|\s", "", type_expression)
    if kind.startswith(("list", "set", "tuple")):
        return "[]"
    if kind.startswith(("map", "object")):
        return "{}"
    return {"number": "1", "bool": "false"}.get(kind, "simulated")


def resources(configuration: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(type, name, body) of each managed resource in a stack's JSON."""
    for kind, named in configuration.get("resource", {}).items():
        for name, body in named.items():
            yield kind, name, body[0] if isinstance(body, list) else body


def type_keys(configuration: dict[str, Any]) -> set[tuple[str, str]]:
    """The schemas that a stack needs."""
    keys = {("resource", name) for name in configuration.get("resource", {})}
    keys |= {("ephemeral", name) for name in configuration.get("ephemeral", {})}
    return keys | {("data", name) for name in configuration.get("data", {})}


def _message(diagnostic: dict[str, Any]) -> Message:
    detail = diagnostic.get("detail") or ""
    return Message(diagnostic["severity"], diagnostic["summary"], detail, _address(diagnostic))


def _address(diagnostic: dict[str, Any]) -> str:
    if diagnostic.get("address"):
        return str(diagnostic["address"])
    context = (diagnostic.get("snippet") or {}).get("context") or ""
    found = re.match(r"(resource|data)\.(\w+)\.([\w-]+)", context)
    return f"{'data.' if found[1] == 'data' else ''}{found[2]}.{found[3]}" if found else ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _first_error(output: str) -> str:
    lines = [line.strip(" │╷╵\n") for line in output.splitlines()]
    return next((line for line in lines if line.startswith("Error:")), " ".join(lines[-3:])).removeprefix("Error: ")
