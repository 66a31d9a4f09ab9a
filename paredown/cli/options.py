"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from paredown.spec.schema import RunSpec


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Everything that makes a spec, for `run`."""
    options = [
        click.option(
            "--spec",
            "spec_file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="YAML file; flags override it.",
        ),
        click.option(
            "--traffic",
            multiple=True,
            metavar="NAME|FILE",
            help="Workload: chat, long, concurrent, or a file. The first one is judged.  [default: chat]",
        ),
        click.option(
            "--golden",
            multiple=True,
            metavar="FILE|DATASET",
            help="Golden prompts: JSONL, CSV or a data set.  [default: builtin]",
        ),
        click.option(
            "--target",
            "targets",
            multiple=True,
            metavar="TARGET",
            help="For example 'ttft_p95<=200ms', 'decode_speed>=2x', 'quality_drop<=2pt'.",
        ),
        click.option("--technique", "techniques", multiple=True, metavar="NAME", help="Try only these techniques."),
        click.option("--without", multiple=True, metavar="NAME", help="Leave these techniques or engines out."),
        click.option(
            "--price-per-hour",
            type=float,
            metavar="USD",
            help="Price of this machine; gives the cost per million tokens.",
        ),
        click.option("--seed", type=int, help="Seed of the splits and of every other draw.  [default: 0]"),
        click.option("--allow-pickle", is_flag=True, default=None, help="Open pickle weights (they can run code)."),
        click.option("--trust-remote-code", is_flag=True, default=None, help="Run code that the checkpoint brings."),
        click.option(
            "--cache",
            "cache_dir",
            type=click.Path(path_type=Path),
            help="Where models and artifacts are kept.  [default: the user's cache]",
        ),
        click.option(
            "--run-dir",
            type=click.Path(path_type=Path),
            help="Where the record goes.  [default: paredown-runs/MODEL-DIGEST]",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What every verb about a model takes."""
    options = [
        click.option("--seed", type=int, help="Seed of every draw.  [default: 0]"),
        click.option("--allow-pickle", is_flag=True, default=None, help="Open pickle weights (they can run code)."),
        click.option("--trust-remote-code", is_flag=True, default=None, help="Run code that the checkpoint brings."),
        click.option("--cache", "cache_dir", type=click.Path(path_type=Path), help="Where models are kept."),
        click.option("--run-dir", type=click.Path(path_type=Path), help="Keep the record there.  [default: not kept]"),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def given_spec(model: str, flags: dict[str, object]) -> RunSpec:
    """The request that a model and flags make."""
    from paredown.spec.load import from_flags

    return from_flags(model, None, flags)
