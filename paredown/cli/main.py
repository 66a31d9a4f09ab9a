"""The command line: one file a verb, loaded when it is called, so that `--help` stays fast."""

from __future__ import annotations

import signal
import sys
from importlib import import_module

import click

from paredown import __version__
from paredown.errors import PareDownError

VERBS = {
    "run": "The main job: measure, optimize step by step, judge, report.",
    "measure": "Measure a model, or a server at a URL, as it is: speed, memory, cost.",
    "capacity": "Find the largest load at which a model or server keeps its targets.",
    "profile": "Find what limits a model here: roofline, operators, a trace.",
    "evaluate": "Score a model on golden prompts.",
    "golden": "Make a golden set from production logs.",
    "audit": "Find what weakens a verdict: prompts, calibration data, tokenizer, template.",
    "compare": "Judge one model directory against another, slice by slice.",
    "explain": "Why a candidate was judged as it was: answers, texts, groups, layers.",
    "report": "Write the report of a run again (HTML, Markdown, JSON).",
    "verify": "Recompute every figure and the verdict of a run from its record, offline.",
    "serve": "Serve the chosen candidate of a run, as it was measured.",
    "inspect": "What is this checkpoint: real bits per parameter, tied head, template.",
    "techniques": "List the techniques and what each one buys and costs.",
    "engines": "List the engines and whether each one can run here.",
    "env": "Make or list the isolated environments that some tools need.",
    "doctor": "Check this machine: what works, what is missing, what to type.",
}


class LazyGroup(click.Group):
    """Imports `paredown.cli.<verb>` only when that verb is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            from paredown.errors import UnknownNameError

            ctx.fail(str(UnknownNameError("command", cmd_name, VERBS)))
        command: click.Command = import_module(f"paredown.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="paredown")
def group() -> None:
    """Make a language model faster, smaller and cheaper, and prove that it is still good enough."""


def _stop(*_: object) -> None:
    """Ends as Ctrl-C does: engines are closed, the record stays whole."""
    raise KeyboardInterrupt


def main() -> None:
    """Entry point. Exit status: 0 ships · 2 wrong request · 3 nothing meets all targets · 4 investigate · 1 failed."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        status = group.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        status = 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("Stopped. What was measured is kept: the same command goes on from here.", err=True)
        status = 130
    except PareDownError as error:
        click.echo(f"paredown: {error}", err=True)
        status = error.exit_status
    except BrokenPipeError:
        status = 0
    sys.exit(status if isinstance(status, int) else 0)
