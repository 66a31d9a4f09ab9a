"""Somebody else's OpenAI-compatible server (vLLM, TGI, SGLang, TensorRT-LLM, llama.cpp …), measured over HTTP.

There is no artifact and no process of ours: speed and answers can be measured, memory and log-probabilities cannot.
"""

from __future__ import annotations

from paredown.contracts import Batching, Engine, Option, ScoringLevel, ServedBy
from paredown.errors import UnknownNameError
from paredown.records.artifact import Artifact
from paredown.records.figure import Options
from paredown.records.machine import Machine

OPTIONS = (
    Option("url", "", "base of the server, without /v1"),
    Option("model", "", "what requests name as the model", changes_numbers=True),
    Option("api_key_variable", "", "environment variable that holds the key; empty = none is sent"),
    Option("ca_file", "", "PEM file of the authorities to trust; empty = the system's"),
    Option(
        "ignore_eos", default=True, help="whether it takes `ignore_eos`, so that answers can be forced to their length"
    ),
    Option(
        "return_token_ids", default=True, help="whether it takes `return_token_ids`, so that chunks name their tokens"
    ),
    Option(
        "include_usage", default=True, help="whether it takes `stream_options`, so that a stream ends with token counts"
    ),
    Option("max_tokens_field", "max_tokens", "how it calls the limit", choices=("max_tokens", "max_completion_tokens")),
)


def resolve(artifact: Artifact | None, machine: Machine, wanted: Options) -> Options:
    del artifact, machine
    names = {option.name for option in OPTIONS}
    for name in wanted:
        if name not in names:
            raise UnknownNameError("option of the engine endpoint", name, names)
    return {option.name: wanted.get(option.name, option.default) for option in OPTIONS}


ENGINE = Engine(
    name="endpoint",
    summary="An OpenAI-compatible server that somebody else runs, given by its URL.",
    opens=(),
    served_by=ServedBy.REMOTE,
    # Not known of a foreign server; more than one request at a time is sent in any case.
    batching=Batching.CONTINUOUS,
    scoring=ScoringLevel.NONE,
    resolve=resolve,
    options=OPTIONS,
    max_batch=1 << 20,
)
