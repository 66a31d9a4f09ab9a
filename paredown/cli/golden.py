"""`paredown golden`: a golden set from production logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from paredown.flow.golden_from_logs import GoldenMade


@click.command("golden")
@click.argument("logs", nargs=-1, required=True, metavar="LOGS...")
@click.option("--model", required=True, help="The model as it is served now: its answers are the reference.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="File to write, for --golden (.jsonl).")
@click.option("--count", type=click.IntRange(min=1), default=400, help="Items.  [default: 400]")
@click.option(
    "--by",
    default="language,length,tools,json,code",
    metavar="LIST",
    help="What makes a slice: language, length, tools, json, code, system.  [default: all but system]",
)
@click.option(
    "--answers",
    type=click.Choice(["log", "baseline"]),
    help="Where the frozen answers come from.  [default: the log, if it has all of them]",
)
@click.option("--answer-tokens", type=click.IntRange(min=1), default=256, help="Longest answer.  [default: 256]")
@click.option(
    "--scorer",
    type=click.Choice(["auto", "perplexity", "judge"]),
    default="auto",
    help="auto: tool calls and JSON by syntax, other answers by perplexity.  [default: auto]",
)
@click.option(
    "--near",
    type=click.FloatRange(min=0.0, max=1.0, min_open=True),
    default=0.8,
    help="Similarity from which prompts are duplicates; 1 = only equal ones.  [default: 0.8]",
)
@click.option("--keep-personal-data", is_flag=True, help="Write e-mail addresses, phone numbers, keys … as they are.")
@click.option(
    "--phone-region",
    "phone_regions",
    multiple=True,
    metavar="COUNTRY",
    help="National phone numbers of this country too, as DE.  [default: US]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the sample.  [default: 0]")
@click.option("--allow-pickle", is_flag=True, help="Open pickle weights (they can run code).")
@click.option("--trust-remote-code", is_flag=True, help="Run code that the checkpoint brings.")
@click.option("--cache", "cache_dir", type=click.Path(path_type=Path), help="Where models are kept.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(logs: tuple[str, ...], model: str, as_json: bool, cache_dir: Path | None, **flags: Any) -> int:
    """Make a golden set from LOGS of requests (JSONL, OpenAI's form), with the answers of MODEL as reference.

    Near-duplicates are left out, each slice gets its share, and e-mail addresses, phone numbers, cards, IBANs, IP
    addresses, keys and passwords are masked. Names and postal addresses are NOT masked: read the file before you pass
    it on.
    """
    from paredown.cli.display import for_terminal
    from paredown.cli.output import emit_json
    from paredown.flow.golden_from_logs import GoldenAsked, build
    from paredown.flow.subject import ModelAsked

    asked_model = ModelAsked(
        model, allow_pickle=flags.pop("allow_pickle"), trust_remote_code=flags.pop("trust_remote_code")
    )
    flags["by"] = tuple(part.strip() for part in flags["by"].split(",") if part.strip())
    flags["answers"] = flags["answers"] or ""
    flags["phone_regions"] = flags["phone_regions"] or ("US",)
    made = build(GoldenAsked(logs, asked_model, **flags), cache_dir, for_terminal())
    if as_json:
        emit_json(made)
    else:
        _print(made)
    return 0


def _print(made: GoldenMade) -> None:
    from paredown.cli.output import table

    table(
        ["slice", "in the logs", "taken"],
        [(one.name, f"{one.found:,}", str(one.taken)) for one in made.strata],
    )
    for left in made.left_out:
        click.echo(f"Left out: {left.count:,} × {left.why} (first: {left.first}).")
    total = sum(one.taken for one in made.strata)
    click.echo(f"Scored by {_counted(made.scorers)}. Answers: {_counted(made.answers)}.")
    if made.masked is None:
        click.echo("Personal data was kept as it is in the logs: treat the file as you treat them.")
    else:
        click.echo(
            f"Masked: {_counted(made.masked) or 'nothing was found'}. Names and postal addresses are not masked."
        )
    click.echo(f"{total} of {made.lines:,} lines are in {made.out}; use it with --golden {made.out}")


def _counted(counts: Any) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
