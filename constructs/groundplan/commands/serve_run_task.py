"""``groundplan serve-run-task``: the review as a run task of Terraform Cloud. Thin: options, judge, serve."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import click

from findings import Finding, Severity, UnavailableError
from findings.redaction import printable_report
from groundplan import __version__
from groundplan.commands.review_inputs import acceptances_of, fails, profile_of, words_of
from groundplan.on_plans.assess import Assessment, Provenance, assess
from groundplan.on_plans.prices import load_prices
from plan_review import display, html, markdown, programs, report
from plan_review.assess import approval
from plan_review.policy import load_policies
from plan_review.reading import UnusableInput, read_plan
from tfc_run_task.result import Outcome, TaskResult

#: The key's variable, for where no file can be mounted.
KEY = "GROUNDPLAN_RUN_TASK_KEY"

#: A key that is shorter can be guessed.
_SHORTEST_KEY = 16


@click.command("serve-run-task")
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    help=f"A file with the run task's HMAC key; two lines while it is changed. Else the variable {KEY}.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65_535))
@click.option("--tls-cert", type=click.Path(path_type=Path), help="A certificate (PEM), unless a proxy has it.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its key.")
@click.option("--url", default="", help="Where this server is reached, for links to reports: https://HOST.")
@click.option("--reports", type=click.Path(path_type=Path), help="The folder in which reports are kept for 30 days.")
@click.option(
    "--terraform",
    "origins",
    multiple=True,
    default=("https://app.terraform.io",),
    show_default=True,
    metavar="URL",
    help="The Terraform Cloud or Enterprise that calls; no other is called back. Repeatable.",
)
@click.option(
    "--fail-on",
    "fail_on",
    multiple=True,
    default=("dangerous",),
    show_default=True,
    metavar="WHAT",
    help="Fail the run on this, as --fail-on of `groundplan review`. Repeatable.",
)
@click.option("--profile", type=click.Path(path_type=Path), help="A profile whose `ignore` entries hold.")
@click.option("--prices", type=click.Path(path_type=Path), help="A dated price file.")
@click.option("--ignore", "ignores", multiple=True, metavar="RULE@ADDRESS=REASON", help="As of `groundplan review`.")
@click.option("--policy", "policies", multiple=True, type=click.Path(path_type=Path), help="A file of your own rules.")
@click.option("--at-once", default=2, show_default=True, type=click.IntRange(1, 64), help="Plans judged at a time.")
@click.pass_context
def serve_run_task(
    context: click.Context,
    key_file: Path | None,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    url: str,
    reports: Path | None,
    origins: tuple[str, ...],
    fail_on: tuple[str, ...],
    profile: Path | None,
    prices: Path | None,
    ignores: tuple[str, ...],
    policies: tuple[Path, ...],
    at_once: int,
) -> None:
    """Serve the review as a run task of Terraform Cloud.

    Terraform Cloud calls after a plan (stage post-plan) with a signed request; the plan is fetched with the token that
    comes with it, and the run passes or fails with the report's lines. Needs the extra: pip install
    'groundplan[run-task]'. docs/run-task.md has the set-up.
    """
    try:
        import uvicorn

        from tfc_run_task.pages import Pages
        from tfc_run_task.request import origin
        from tfc_run_task.server import Settings, create_app
    except ImportError as error:
        raise UnavailableError(
            f"serve-run-task needs {error.name}, which is not installed: pip install 'groundplan[run-task]'"
        ) from None
    for each in (*origins, *([url] if url else [])):
        if origin(each) != each.rstrip("/").lower():
            raise click.UsageError(f"{each} is no address of a server; write https://HOST or https://HOST:PORT")
    if bool(url) != bool(reports):
        raise click.UsageError("--url and --reports belong together: one is where reports lie, the other leads there")
    if bool(tls_cert) != bool(tls_key):
        raise click.UsageError("--tls-cert and --tls-key belong together")
    keys = _keys(key_file)
    judge = _judge(fail_on, profile, prices, ignores, policies)
    settings = Settings(
        keys=keys,
        judge=judge,
        pages=Pages(reports) if reports else None,
        url=url.rstrip("/"),
        origins=tuple(origin(each) for each in origins),
        at_once=at_once,
    )
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs addresses, and a redirect's is signed
    uvicorn.run(
        create_app(settings),
        host=host,
        port=port,
        ssl_certfile=tls_cert,
        ssl_keyfile=str(tls_key) if tls_key else None,
        access_log=False,  # the names of reports are their keys
        server_header=False,
        limit_concurrency=256,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=60,
        log_config=None,
    )


def _keys(file: Path | None) -> tuple[bytes, ...]:
    """The keys that sign; none is printed."""
    if file is not None:
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            said = error.strerror if isinstance(error, OSError) else "it is not text"
            raise UnavailableError(f"{file} cannot be read as the key: {said}") from None
        source = str(file)
    else:
        text, source = os.environ.get(KEY, ""), KEY
    keys = [line.strip().encode() for line in text.splitlines() if line.strip()]
    if not keys:
        raise UnavailableError(f"there is no HMAC key: give --key-file, or set {KEY} to the key of the run task")
    if any(len(key) < _SHORTEST_KEY for key in keys):
        raise UnavailableError(
            f"the key in {source} is shorter than {_SHORTEST_KEY} characters; make one with `openssl rand -hex 32`"
        )
    return tuple(keys)


def _judge(
    fail_on: tuple[str, ...],
    profile: Path | None,
    prices: Path | None,
    ignores: tuple[str, ...],
    policies: tuple[Path, ...],
) -> Callable[[bytes, str], TaskResult]:
    """Read once what every review needs; errors of it come before the server starts. Raises UserError."""
    own = load_policies(policies)
    words = words_of(fail_on, own)
    given = acceptances_of(ignores, own)
    accepted, digest = profile_of(profile, own)
    listed = load_prices(prices) if prices else None
    made_from = Provenance(__version__, str(profile or ""), digest)

    def judge(plan: bytes, workspace: str) -> TaskResult:
        try:
            read = read_plan(Path(f"{workspace or 'plan'}.json"), plan, workspace or "plan")
        except UnusableInput as error:
            return TaskResult(False, f"not reviewed: {error}")
        result = assess([read], provenance=made_from, prices=listed, acceptances=[*given, *accepted], policies=own)
        return _task_result(result, [word for word in words if fails(result, word)])

    return judge


def _task_result(result: Assessment, failing: list[str]) -> TaskResult:
    signed = approval(result)
    message = report.headline(result)
    message += f"; failing on {', '.join(failing)}" if failing else ""
    message += f"; approval {signed.digest}" if signed else ""
    pages = {".html": html.render(result), ".json": programs.as_json(result)}
    return TaskResult(
        not failing,
        printable_report(message)[0],
        tuple(map(_outcome, result.counting)),
        {ending: printable_report(text)[0] for ending, text in pages.items()},
    )


def _outcome(finding: Finding) -> Outcome:
    lines = [markdown.escape(finding.message)]
    lines += [f"**{markdown.escape(finding.consequence)}**"] if finding.consequence else []
    lines += [f"What to do: {markdown.escape(finding.hint)}"] if finding.hint else []
    lines += [f"`{display.plain(finding.address)}`"] if finding.address else []
    grave = finding.severity is Severity.ERROR
    return Outcome(
        id=finding.rule,
        description=printable_report(finding.message)[0],
        body=printable_report("\n\n".join(lines))[0],
        level="error" if grave else "warning",
        label="Dangerous" if grave else "Needs a decision",
    )
