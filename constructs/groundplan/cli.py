"""The groundplan program: a thin table of commands, each loaded when it is called.

Exit codes: 0 done; 1 something in the profile or plan must be mended (nothing was written); 2 wrong usage, or a tool
that the command needs is absent.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Callable

import click

from findings import ProfileError, UnavailableError, UserError
from groundplan import __version__
from groundplan.kernel.settings import is_on

#: Command -> where it is defined and its one-line help, so that `groundplan --help` loads none of them.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("groundplan.commands.init:init", "Write a commented profile to start from."),
    "check": ("groundplan.commands.check:check", "Say everything that is wrong with profiles; start no Node."),
    "synth": ("groundplan.commands.synth:synth", "Write the Terraform of a site, its run-book and its job."),
    "rayjob": ("groundplan.commands.rayjob:rayjob", "Print the job's Kubernetes objects as YAML."),
    "rehearse": (
        "groundplan.commands.rehearse:rehearse",
        "Apply the site with the real Terraform in a simulated cloud.",
    ),
    "review": ("groundplan.commands.review:review", "Report what Terraform plans would do, for a reviewer to sign."),
    "diff": ("groundplan.commands.review:diff", "Report what changes between two synth outputs or two revisions."),
    "rules": ("groundplan.commands.rules:rules", "List the rules."),
    "explain": ("groundplan.commands.rules:explain", "Explain one rule."),
    "catalog": ("groundplan.commands.catalog:catalog", "Print the catalog of public facts."),
    "schema": ("groundplan.commands.schema:schema", "Write the profile's JSON Schema, for editors."),
    "memory": ("groundplan.commands.memory:memory", "Forecast the GPU memory of a training step of a model."),
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
    """Entry point of the console script."""
    run(lambda: cli.main(prog_name="groundplan", standalone_mode=True))


def run(program: Callable[[], None]) -> None:
    """Run a program; every error the user can mend becomes a message without a traceback."""
    if not is_on("GROUNDPLAN_PLAIN_IMPORTS"):  # which is to show Python and jsii as they come
        # A short program that keeps nearly all it makes: looking for garbage costs a twentieth of `check`.
        gc.set_threshold(100_000)
    try:
        program()
    except ProfileError as error:
        from findings.text import print_findings

        print_findings(error.findings)
        sys.exit(1)
    except UnavailableError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
    except UserError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:  # `groundplan rayjob ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
