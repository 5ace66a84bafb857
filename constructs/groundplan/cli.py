"""The groundplan program: a thin table of commands, each loaded when it is called.

Exit codes of every command: 0 done; 1 something in the profile or plan must be mended (nothing was written); 2 it could
not be done as asked: wrong usage, a file that cannot be read or written, a tool that is absent; 130 interrupted.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Callable

import click

from findings import UNREADABLE, ProfileError, UnavailableError, UserError
from groundplan import __version__
from groundplan.kernel import interrupts
from groundplan.kernel.settings import is_on

#: Command -> where it is defined and its one-line help, so that `groundplan --help` loads none of them.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("groundplan.commands.init:init", "Write a commented profile to start from."),
    "check": ("groundplan.commands.check:check", "Say everything that is wrong with profiles; start no Node."),
    "synth": ("groundplan.commands.synth:synth", "Write the Terraform of a site, its run-book and its job."),
    "rayjob": ("groundplan.commands.rayjob:rayjob", "Print the job's Kubernetes objects as YAML."),
    "bootstrap": (
        "groundplan.commands.bootstrap:bootstrap",
        "Write what an administrator applies once before a site: accounts, roles, state bucket.",
    ),
    "rehearse": (
        "groundplan.commands.rehearse:rehearse",
        "Apply the site with the real Terraform in a simulated cloud.",
    ),
    "review": ("groundplan.commands.review:review", "Report what Terraform plans would do, for a reviewer to sign."),
    "verify": ("groundplan.commands.verify:verify", "Refuse a plan that is not the one that was reviewed."),
    "serve-run-task": (
        "groundplan.commands.serve_run_task:serve_run_task",
        "Serve the review as a run task of Terraform Cloud.",
    ),
    "diff": ("groundplan.commands.review:diff", "Report what changes between two synth outputs or two revisions."),
    "rules": ("groundplan.commands.rules:rules", "List the rules."),
    "explain": ("groundplan.commands.rules:explain", "Explain one rule."),
    "catalog": ("groundplan.commands.catalog:catalog", "Print the catalog of public facts."),
    "schema": ("groundplan.commands.schema:schema", "Write the profile's JSON Schema, for editors."),
    "memory": ("groundplan.commands.memory:memory", "Forecast the GPU memory of a training step of a model."),
    "node-check": (
        "groundplan.commands.node_check:node_check",
        "Check the GPUs, links, tools and folders of this machine.",
    ),
    "doctor": ("groundplan.commands.doctor:doctor", "Say what is installed, what is missing and how to get it."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, so that `check` never waits for what `synth` needs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib  # only for the hint

            near = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            ctx.fail(f"there is no command {args[0]}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="groundplan %(version)s")
def cli() -> None:
    """One YAML profile in, the auditable Terraform of a reinforcement-learning site on GKE out."""


def main() -> None:
    """What the console script calls, by way of ``groundplan.__main__``."""
    run(lambda: cli.main(prog_name="groundplan", standalone_mode=False, color=_colour()))


def run(program: Callable[[], object]) -> None:
    """Run a program and end with its exit code; every error the user can mend becomes a message, never a traceback."""
    if not is_on("GROUNDPLAN_PLAIN_IMPORTS"):  # which is to show Python and jsii as they come
        # A short program that keeps nearly all it makes: looking for garbage costs a twentieth of `check`.
        gc.set_threshold(100_000)
    interrupts.listen()
    with click.Context(cli, color=_colour()).scope(cleanup=False):
        code = _exit_code(program)
    if stopped := interrupts.received():
        sys.stdout.flush()
        interrupts.silence(1, 2)  # jsii's parting words to a Node that was interrupted too
        sys.exit(stopped)
    sys.exit(code)


def _exit_code(program: Callable[[], object]) -> int:
    try:
        code = program()
        return code if isinstance(code, int) else 0
    except ProfileError as error:
        from findings.text import print_findings

        if not interrupts.received():
            print_findings(error.findings)
        return 2 if all(finding.rule == UNREADABLE for finding in error.findings) else 1
    except (UserError, OSError) as error:
        if isinstance(error, OSError) and is_on("GROUNDPLAN_DEBUG"):
            raise
        if isinstance(error, BrokenPipeError) and not interrupts.received():  # `groundplan rayjob ... | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        if not interrupts.received():
            click.echo(f"error: {_reason(error)}", err=True)
        return 1 if isinstance(error, UserError) and not isinstance(error, UnavailableError) else 2
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return 130
    except Exception:
        if interrupts.received():  # whatever a half-dead Node answered
            return 130
        raise


def _reason(error: Exception) -> str:
    """What went wrong; of the system's own errors the file and the reason, without numbers."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _colour() -> bool | None:
    """Whether output is coloured: never under NO_COLOR (https://no-color.org) and TERM=dumb, else on a terminal."""
    return False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None
