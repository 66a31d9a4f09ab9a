"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from paredown.flow.measuring import LoadAsked
    from paredown.flow.subject import ModelAsked, ServerAsked
    from paredown.spec.schema import RunSpec


TRUST_OPTIONS = (
    click.option("--allow-pickle", is_flag=True, default=None, help="Open pickle weights (they can run code)."),
    click.option("--trust-remote-code", is_flag=True, default=None, help="Run code that the checkpoint brings."),
)


RUN_PLACES = (
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
)


def scorer_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Settings of scorers, for every verb that scores."""
    return click.option(
        "--scorer",
        multiple=True,
        metavar="NAME:KEY=VALUE,…",
        help="Settings of a scorer, for example judge:url=http://127.0.0.1:8000,model=NAME or code:allow=yes.",
    )(function)


def twins_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Whether prompts may be asked as choices, for every verb that scores."""
    return click.option(
        "--twins/--no-twins",
        default=None,
        help="Whether a slice of which the baseline writes too few answers right is asked as choices.  [default: yes]",
    )(function)


def calibration_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Calibration data, for every verb that audits them."""
    return click.option(
        "--calibration",
        metavar="FILE",
        help="Text by which techniques set their scales, JSONL or plain; it is audited before it is used.",
    )(function)


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Everything that makes a spec, for `run`."""
    options: list[Callable[..., Any]] = [
        click.option(
            "--spec",
            "spec_file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="YAML file; flags override it.",
        ),
        click.option(
            "--traffic",
            multiple=True,
            metavar="NAME|FILE[:KEY=VALUE,…]",
            help="Workload: chat, long, concurrent, a file or a trace. The first one is judged.  [default: chat]",
        ),
        click.option(
            "--load",
            metavar="SHAPE[:KEY=VALUE,…]",
            help="Load shape in place of the traffic's own, for example poisson:rate=4 or closed_loop:concurrency=8.",
        ),
        click.option(
            "--golden",
            multiple=True,
            metavar="FILE|DATASET",
            help="Golden prompts: JSONL, CSV or a data set.  [default: builtin]",
        ),
        scorer_option,
        twins_option,
        calibration_option,
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
        *TRUST_OPTIONS,
        *RUN_PLACES,
    ]
    for option in reversed(options):
        function = option(function)
    return function


def model_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What every verb about a model takes."""
    options = [
        click.option("--seed", type=int, help="Seed of every draw.  [default: 0]"),
        *TRUST_OPTIONS,
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


def subject_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """A model of ours or somebody else's server; see `given_subject`."""
    options = [
        click.option(
            "--endpoint", metavar="URL", help="Measure the OpenAI-compatible server at URL instead of a model."
        ),
        click.option("--model-name", metavar="NAME", help="Model to ask the server for.  [default: its first one]"),
        click.option("--api-key-variable", metavar="NAME", help="Environment variable that holds the server's key."),
        click.option(
            "--ca-file",
            type=click.Path(path_type=Path),
            help="PEM file of the authorities to trust for TLS.  [default: the system's]",
        ),
        click.option(
            "--tokenizer",
            metavar="DIR",
            help="Model directory with the server's tokenizer, for prompts of an exact length.  "
            "[default: its /tokenize]",
        ),
        click.option("--engine", metavar="NAME", help="Engine for MODEL.  [default: the reference engine]"),
        click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", help="[default: cpu]"),
        click.option("--allow-pickle", is_flag=True, help="Open pickle weights (they can run code)."),
        click.option("--trust-remote-code", is_flag=True, help="Run code that the checkpoint brings."),
        click.option("--cache", "cache_dir", type=click.Path(path_type=Path), help="Where models are kept."),
        click.option(
            "--run-dir",
            type=click.Path(path_type=Path),
            help="Keep the record, the raw events and a report there.  [default: not kept]",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def load_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What is sent; see `given_load`."""
    options = [
        click.option(
            "--traffic",
            multiple=True,
            metavar="NAME|FILE[:KEY=VALUE,…]",
            help="Workload: chat, long, concurrent, a YAML file, OpenAI requests or a server log in JSONL, or a trace "
            "(Azure CSV, Mooncake JSONL), for example azure.csv:limit=200.  [default: chat]",
        ),
        click.option(
            "--target", "targets", multiple=True, metavar="TARGET", help="For example 'ttft_p95<=200ms'; absolute."
        ),
        click.option(
            "--timeout", "timeout_s", type=click.FloatRange(min=0.001), default=300.0, help="Seconds for one request."
        ),
        click.option(
            "--retries",
            type=click.IntRange(min=0),
            default=0,
            help="Send a refused request again so often; the wait counts.  [default: 0]",
        ),
        click.option(
            "--natural-lengths", is_flag=True, help="Let the model stop by itself; lengths are forced otherwise."
        ),
        click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of every draw.  [default: 0]"),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def given_subject(model: str | None, flags: dict[str, Any]) -> ModelAsked | ServerAsked:
    """What is to be measured; takes its flags out of `flags`. Raises UserError unless it is one or the other."""
    from paredown.errors import UserError
    from paredown.flow.subject import ModelAsked, ServerAsked

    url, names = flags.pop("endpoint"), ("model_name", "api_key_variable", "ca_file", "tokenizer")
    server = {name: flags.pop(name) for name in names}
    ours = {name: flags.pop(name) for name in ("engine", "device", "allow_pickle", "trust_remote_code")}
    if (model is None) == (url is None):
        raise UserError("Give either a MODEL (for example demo) or --endpoint URL.")
    if url is None:
        assert model is not None
        stray = next((name for name, value in server.items() if value is not None), None)
        if stray is not None:
            raise UserError(f"--{stray.replace('_', '-')} is for a server. Give its address: --endpoint URL.")
        return ModelAsked(model, ours["engine"] or "", ours["device"], ours["allow_pickle"], ours["trust_remote_code"])
    if ours["engine"]:
        raise UserError("--engine is for a MODEL: a server runs its own engine.")
    return ServerAsked(
        url, server["model_name"] or "", server["api_key_variable"] or "", server["ca_file"], server["tokenizer"] or ""
    )


def given_load(flags: dict[str, Any]) -> LoadAsked:
    """What is to be sent; takes the flags of `load_options` out of `flags`."""
    from paredown.flow.measuring import LoadAsked

    return LoadAsked(
        traffic=flags.pop("traffic") or ("chat",),
        targets=flags.pop("targets"),
        forced_lengths=not flags.pop("natural_lengths"),
        timeout_s=flags.pop("timeout_s"),
        retries=flags.pop("retries"),
        seed=flags.pop("seed"),
    )
