"""onnxruntime-genai: ONNX Runtime's decoder loop, on the CPU.

Greedy decoding is our own argmax over the generator's logits: the library's search stops for good at its end-of-text
token and masks its padding token, which is an ordinary token of many chat templates. The speed is the same (measured:
155 against 155 tokens/s). Serving and scoring run the same graph with the same options, and quantized layers through
the same kernels: a product with one row is rounded otherwise than one with more (any number ≥ 2 gives equal bits), so
an answer is scored one token at a time, as it is served. Scored in one go, 4 % of the served tokens were not the first
choice; one at a time, all are.
"""

from __future__ import annotations

import contextlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paredown.contracts import (
    Batching,
    Engine,
    GenerationRequest,
    KvCacheUse,
    Needs,
    OpenContext,
    Option,
    ScoreRequest,
    ScoreResult,
    ScoringLevel,
    ServedBy,
    StepOutput,
)
from paredown.errors import UserError
from paredown.hosts.logit_rows import ScoreRows, common_prefix
from paredown.records.artifact import Artifact
from paredown.records.figure import Options
from paredown.records.machine import Machine

CHUNK = 256
"""Prompt tokens computed at once: bounds the array of fp32 logits (256 × 49,152 × 4 bytes = 50 MB)."""

CACHE_STEP = 256
"""The scoring cache is made in multiples of this many positions, so that it is seldom made anew."""

OPTIONS = (
    Option(
        "scoring_chunk",
        1,
        "tokens of an answer scored at once; 1 = as they are served. More is faster but goes through another kernel: "
        "equal on average, another first choice at 3 to 8 % of positions",
        changes_numbers=True,
    ),
    Option("threads", 0, "threads that compute one operator; 0 = the cores this process may use"),
    Option(
        name="spinning",
        default=True,
        help="idle threads wait actively. On 2 cores, 8 bits: 182 against 134 tokens/s when nothing else runs, "
        "41 against 77 when the machine is full",
    ),
)


def resolve(artifact: Artifact | None, machine: Machine, wanted: Options) -> Options:  # noqa: ARG001 - the interface
    """Every option written out; 0 threads become the usable cores."""
    options = {option.name: option.default for option in OPTIONS}
    unknown = sorted(set(wanted) - set(options))
    if unknown:
        raise UserError(f"onnxruntime_genai has no option {unknown[0]!r}. It has: {', '.join(options)}.")
    options.update(wanted)
    options["threads"] = int(options["threads"] or 0) or machine.usable_cores
    return options


def open_engine(context: OpenContext) -> Opened:
    """Load the model. Raises MemoryError when the library could not get memory."""
    import onnxruntime_genai as og

    with _memory_errors():
        config = og.Config(str(context.artifacts["main"]))
        config.clear_providers()
        config.overlay(json.dumps(_overlay(context.options)))
        model = og.Model(config)
    return Opened(model, _read_config(context.artifacts["main"]), int(context.options["scoring_chunk"] or 1))


def _overlay(options: Options) -> dict[str, object]:
    session = {
        "intra_op_num_threads": int(options["threads"] or 1),
        "session.intra_op.allow_spinning": "1" if options["spinning"] else "0",
    }
    return {"model": {"decoder": {"session_options": session}}}


@dataclass(frozen=True)
class ModelConfig:
    """What genai_config.json says that is needed here.

    shares_buffer: keys and values have room for the whole answer from the start, instead of growing
    has_window:    the cache of some layer does not grow beyond its window
    cache_outputs: names of the keys and values that the graph puts out, in the order of the layers
    """

    context_length: int
    shares_buffer: bool
    has_window: bool
    cache_outputs: tuple[str, ...]


def _read_config(directory: Path) -> ModelConfig:
    config = json.loads((directory / "genai_config.json").read_text(encoding="utf-8"))
    model, search = config["model"], config.get("search", {})
    decoder = model["decoder"]
    names = [decoder.get("outputs", {}).get(f"present_{what}_names", f"present.%d.{what}") for what in ("key", "value")]
    layers = range(int(decoder.get("num_hidden_layers", 0)))
    return ModelConfig(
        int(model["context_length"]),
        bool(search.get("past_present_share_buffer", False)),
        "sliding_window" in decoder,
        tuple(name % layer for layer in layers for name in names),
    )


@contextlib.contextmanager
def _memory_errors() -> Iterator[None]:
    """The library says everything with RuntimeError; running out of memory gets its own type."""
    try:
        yield
    except RuntimeError as error:
        text = str(error).lower()
        if "bad_alloc" in text or "failed to allocate" in text or "out of memory" in text:
            raise MemoryError(str(error)) from error
        raise


class Opened:
    """The loaded model. Generation and scoring share its weights and options."""

    def __init__(self, model: Any, config: ModelConfig, scoring_chunk: int) -> None:
        self._model, self._config, self._scoring_chunk = model, config, scoring_chunk

    def generation(self) -> Generation:
        return Generation(self._model, self._config)

    def scoring(self) -> Scoring:
        return Scoring(self._model, self._config.context_length, self._scoring_chunk)

    def close(self) -> None:
        self._model = None


def make_generator(model: Any, positions: int) -> Any:
    """A generator with room for `positions` tokens, prompt and answer together."""
    import onnxruntime_genai as og

    with _memory_errors():
        parameters = og.GeneratorParams(model)
        parameters.set_search_options(max_length=positions, batch_size=1, do_sample=False)
        return og.Generator(model, parameters)


def _append(generator: Any, tokens: Sequence[int]) -> Any:
    """Logits float32 [len(tokens), V] of the appended tokens."""
    import numpy as np

    with _memory_errors():
        generator.append_tokens(np.array(tokens, np.int32))
        return generator.get_output("logits")[0]


def prompt_parts(tokens: Sequence[int]) -> Iterator[Sequence[int]]:
    """The tokens in parts of at most CHUNK; the last part never is a single token unless there is no other."""
    first = 0
    while first < len(tokens):
        size = CHUNK - 1 if len(tokens) - first == CHUNK + 1 else CHUNK
        yield tokens[first : first + size]
        first += size


@dataclass
class _Active:
    request: GenerationRequest
    generator: Any = None
    last: int = -1
    made: int = 0


class Generation:
    """Requests one after the other, in the order of their arrival; one token a step."""

    def __init__(self, model: Any, config: ModelConfig) -> None:
        self._model, self._config, self._context_length = model, config, config.context_length
        self._active: OrderedDict[str, _Active] = OrderedDict()
        self._bytes_per_position: float | None = None

    def add(self, request: GenerationRequest) -> None:
        """Queue it. Raises UserError when prompt and answer do not fit the model's context."""
        wanted = len(request.prompt_ids) + request.max_tokens
        if not request.prompt_ids or request.max_tokens < 1:
            raise UserError("A request needs at least one prompt token and max_tokens ≥ 1.")
        if wanted > self._context_length:
            raise UserError(
                f"Prompt ({len(request.prompt_ids)} tokens) and max_tokens ({request.max_tokens}) exceed the model's "
                f"context of {self._context_length}. Ask for at most "
                f"{max(0, self._context_length - len(request.prompt_ids))} tokens or shorten the prompt."
            )
        self._active[request.id] = _Active(request)

    def step(self) -> Sequence[StepOutput]:
        """The next token of the oldest request; nothing when there is none."""
        if not self._active:
            return ()
        active = next(iter(self._active.values()))
        request = active.request
        if active.generator is None:
            active.generator = make_generator(self._model, len(request.prompt_ids) + request.max_tokens)
            for part in prompt_parts(request.prompt_ids):
                logits = _append(active.generator, part)
        else:
            logits = _append(active.generator, (active.last,))
        active.last = int(logits[-1].argmax())
        active.made += 1
        reason = _finish_reason(active)
        if reason:
            del self._active[request.id]
        return (StepOutput(request.id, (active.last,), reason),)

    def kv_cache(self) -> KvCacheUse | None:
        """By the shapes of the tensors that the graph puts out; None when the configuration does not name them.

        With a shared buffer that is room for prompt and whole answer, however much of it is filled.
        """
        if not self._config.cache_outputs:
            return None
        active = next((one for one in self._active.values() if one.generator is not None), None)
        if active is None:
            return KvCacheUse(0, 0)
        if self._config.shares_buffer:
            positions = len(active.request.prompt_ids) + active.request.max_tokens
        else:
            positions = int(active.generator.token_count())
        # The library hands out copies: asked once, or each time where the bytes do not follow the positions.
        if self._bytes_per_position is None or self._config.has_window:
            self._bytes_per_position = self._cache_bytes(active.generator) / positions
        return KvCacheUse(round(self._bytes_per_position * positions), positions)

    def _cache_bytes(self, generator: Any) -> int:
        with _memory_errors():
            return sum(int(generator.get_output(name).nbytes) for name in self._config.cache_outputs)

    def cancel(self, request_id: str) -> None:
        self._active.pop(request_id, None)

    def close(self) -> None:
        self._active.clear()


def _finish_reason(active: _Active) -> str:
    request = active.request
    if not request.ignore_eos and active.last in request.stop_ids:
        return "stop"
    return "length" if active.made >= request.max_tokens else ""


class Scoring:
    """Teacher forcing the way a request is served: the prompt in chunks, the rest one token at a time.

    The generator is rewound to what the next prompt shares with the last one, and a prompt that comes again (one
    request for each of its choices) is not read again at all.
    """

    def __init__(self, model: Any, context_length: int, chunk: int) -> None:
        self._model, self._context_length, self._chunk = model, context_length, chunk
        self._generator: Any = None
        self._positions = 0
        self._prompt: tuple[int, ...] = ()
        self._after_prompt: Any = None  # logits float32 [1, V] that predict what follows the prompt
        self.computed_tokens = 0

    def score(self, requests: Sequence[ScoreRequest]) -> Sequence[ScoreResult]:
        longest = max((len(request.token_ids) for request in requests), default=0)
        if longest - 1 > self._context_length:
            raise UserError(f"A sequence of {longest} tokens exceeds the model's context of {self._context_length}.")
        self._make_room(longest)
        return tuple(self._score(request) for request in requests)

    def _make_room(self, positions: int) -> None:
        if positions <= self._positions:
            return
        self._generator, self._prompt = None, ()
        self._positions = min(-(-positions // CACHE_STEP) * CACHE_STEP, max(self._context_length, positions))
        self._generator = make_generator(self._model, self._positions)

    def _score(self, request: ScoreRequest) -> ScoreResult:
        prompt, answer = request.token_ids[: request.start], request.token_ids[request.start : -1]
        rows = ScoreRows(request)
        if request.start >= len(request.token_ids):
            return rows.result()
        if prompt != self._prompt:
            self._read_prompt(prompt)
        rows.take(self._after_prompt)
        if answer:
            self._rewind(len(prompt))
        for first in range(0, len(answer), self._chunk):
            rows.take(self._append(answer[first : first + self._chunk]))
        return rows.result()

    def _read_prompt(self, prompt: tuple[int, ...]) -> None:
        # Two tokens at least are read: one alone would go through the other kernel.
        keep = max(0, min(common_prefix(prompt, self._prompt), len(prompt) - 2))
        self._prompt = ()  # until all of it is there
        self._rewind(keep)
        for part in prompt_parts(prompt[keep:]):
            logits = self._append(part)
        self._after_prompt = logits[-1:].copy()
        self._prompt = prompt

    def _append(self, tokens: Sequence[int]) -> Any:
        self.computed_tokens += len(tokens)
        return _append(self._generator, tokens)

    def _rewind(self, keep: int) -> None:
        if self._generator.token_count() > keep:
            with _memory_errors():
                self._generator.rewind_to(keep)

    def close(self) -> None:
        self._generator, self._model = None, None


ENGINE = Engine(
    name="onnxruntime_genai",
    summary="ONNX Runtime on the CPU through onnxruntime-genai; one request at a time",
    opens=("onnx-genai",),
    served_by=ServedBy.HOST,
    batching=Batching.NONE,
    scoring=ScoringLevel.FULL,
    resolve=resolve,
    open=open_engine,
    needs=Needs(packages=("onnxruntime_genai",), extra="onnx", devices=("cpu",)),
    options=OPTIONS,
    versions_of=("onnxruntime-genai", "onnxruntime"),
    max_batch=1,
)
