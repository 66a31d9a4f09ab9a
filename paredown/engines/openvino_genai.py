"""openvino-genai: continuous batching over a paged KV cache on the CPU; scoring through the same IR.

Serving runs `ContinuousBatchingPipeline`, scoring the stateful model in openvino's own runtime (its logits are not to
be had from the pipeline). Both get the same numeric options. Their first choices agree only when activations are not
quantized on the fly: measured with groups of 32 (the library's default) on the built-in model, 98 % of greedy tokens
were scored as first choice, and a batch changed the tokens of 6 in 10 requests; with it off, 100 % and none.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
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

MAX_BATCH = 64
CHUNK = 256
"""Tokens scored at once: bounds the array of fp32 logits (256 × 49,152 × 4 bytes = 50 MB)."""

BLOCK_POSITIONS = 32
"""Positions in one block of the paged cache of the CPU plug-in; the library does not tell, a test looks at it."""

OPTIONS = (
    Option("threads", 0, "threads that compute one operator; 0 = the cores this process may use"),
    Option(
        "inference_precision",
        "f32",
        "type of the arithmetic; bf16 is faster on long prompts, but then serving and scoring round differently",
        choices=("f32", "bf16", "f16"),
        changes_numbers=True,
    ),
    Option(
        "kv_cache_precision",
        "f16",
        "type of the stored keys and values (the library's default is u8)",
        choices=("f32", "f16", "bf16", "u8"),
        changes_numbers=True,
    ),
    Option(
        "activation_group_size",
        0,
        "activations of quantized layers rounded to 8 bits in groups of this many, on the fly; 0 = not at all. 32 "
        "reads prompts 1.8 times as fast, decodes "
        "1.1 times as fast and doubles the KL of 8-bit weights (0.005 to 0.009)",
        choices=(0, 32, 64, 128),
        changes_numbers=True,
    ),
    Option("cache_size_gb", 1, "room for keys and values of all requests together, in GiB"),
    Option("max_num_batched_tokens", 512, "tokens computed in one step, at most; longer prompts are split"),
    Option(name="prefix_caching", default=False, help="keep keys and values of prompts that were computed before"),
)


def resolve(artifact: Artifact | None, machine: Machine, wanted: Options) -> Options:  # noqa: ARG001 - the interface
    """Every option written out; 0 threads become the usable cores."""
    options = {option.name: option.default for option in OPTIONS}
    unknown = sorted(set(wanted) - set(options))
    if unknown:
        raise UserError(f"openvino_genai has no option {unknown[0]!r}. It has: {', '.join(options)}.")
    options.update(wanted)
    options["threads"] = int(options["threads"] or 0) or machine.usable_cores
    for option in OPTIONS:
        if option.choices and options[option.name] not in option.choices:
            raise UserError(
                f"{option.name} of openvino_genai cannot be {options[option.name]!r}. "
                f"Choose one of: {', '.join(map(str, option.choices))}."
            )
    return options


def properties(options: Options) -> Mapping[str, object]:
    """The plug-in properties that decide numbers and threads: one set for serving and scoring."""
    return {
        "INFERENCE_NUM_THREADS": int(options["threads"] or 1),
        "INFERENCE_PRECISION_HINT": str(options["inference_precision"]),
        "KV_CACHE_PRECISION": str(options["kv_cache_precision"]),
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": str(options["activation_group_size"]),
        "PERFORMANCE_HINT": "LATENCY",
    }


def open_engine(context: OpenContext) -> Opened:
    """Load the model for serving. Raises MemoryError when the library could not get memory."""
    import openvino_genai

    options, directory = context.options, context.artifacts["main"]
    scheduler = openvino_genai.SchedulerConfig()
    scheduler.cache_size = int(options["cache_size_gb"] or 1)
    scheduler.max_num_batched_tokens = int(options["max_num_batched_tokens"] or 512)
    scheduler.max_num_seqs = MAX_BATCH
    scheduler.enable_prefix_caching = bool(options["prefix_caching"])
    scheduler.dynamic_split_fuse = True
    with _memory_errors():
        pipeline = openvino_genai.ContinuousBatchingPipeline(
            str(directory), scheduler, "CPU", dict(properties(options))
        )
    return Opened(pipeline, directory, options)


def _context_length(directory: Path) -> int:
    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    return int(config["max_position_embeddings"])


@contextlib.contextmanager
def _memory_errors() -> Iterator[None]:
    """The library says everything with RuntimeError; running out of memory gets its own type."""
    try:
        yield
    except RuntimeError as error:
        text = str(error).lower()
        if any(word in text for word in ("bad_alloc", "out of memory", "failed to allocate", "not enough memory")):
            raise MemoryError(str(error)) from error
        raise


class Opened:
    """The loaded model. The scoring model is compiled on first use: most hosts only serve."""

    def __init__(self, pipeline: Any, directory: Path, options: Options) -> None:
        self._pipeline, self._directory, self._options = pipeline, directory, options

    def generation(self) -> Generation:
        return Generation(self._pipeline, _context_length(self._directory))

    def scoring(self) -> Scoring:
        import openvino

        with _memory_errors():
            core = openvino.Core()
            model = core.read_model(str(self._directory / "openvino_model.xml"))
            compiled = core.compile_model(model, "CPU", dict(properties(self._options)))
        return Scoring(compiled, _context_length(self._directory))

    def close(self) -> None:
        self._pipeline = None


@dataclass
class _Active:
    request: GenerationRequest
    handle: Any
    made: int = 0


class Generation:
    """All active requests advance together; those that arrive join at the next step."""

    def __init__(self, pipeline: Any, context_length: int) -> None:
        self._pipeline, self._context_length = pipeline, context_length
        self._active: dict[str, _Active] = {}
        self._number = 0
        self._block_bytes: float | None = None

    def add(self, request: GenerationRequest) -> None:
        """Hand it to the scheduler. Raises UserError when prompt and answer do not fit the model's context."""
        import numpy as np
        import openvino

        if not request.prompt_ids or request.max_tokens < 1:
            raise UserError("A request needs at least one prompt token and max_tokens ≥ 1.")
        if len(request.prompt_ids) + request.max_tokens > self._context_length:
            raise UserError(
                f"Prompt ({len(request.prompt_ids)} tokens) and max_tokens ({request.max_tokens}) exceed the model's "
                f"context of {self._context_length}. Ask for at most "
                f"{max(0, self._context_length - len(request.prompt_ids))} tokens or shorten the prompt."
            )
        self._number += 1
        ids = openvino.Tensor(np.array([request.prompt_ids], np.int64))
        with _memory_errors():
            handle = self._pipeline.add_request(self._number, ids, _greedy(request.max_tokens))
        self._active[request.id] = _Active(request, handle)

    def step(self) -> Sequence[StepOutput]:
        """One token of each active request whose prompt is done; a long prompt may take several steps."""
        if not self._active:
            return ()
        with _memory_errors():
            self._pipeline.step()
        outputs = [output for active in list(self._active.values()) if (output := self._read(active)) is not None]
        for output in outputs:
            if output.finish_reason:
                self._drop(output.id)
        return outputs

    def _read(self, active: _Active) -> StepOutput | None:
        request, tokens = active.request, []
        while active.handle.can_read():
            for output in active.handle.read().values():
                tokens += output.generated_ids
        if not tokens:
            self._raise_if_ignored(active)
            return None
        tokens, reason = _until_stop(request, tokens)
        active.made += len(tokens)
        if not reason and active.made >= request.max_tokens:
            reason = "length"
        return StepOutput(request.id, tuple(tokens), reason)

    def _raise_if_ignored(self, active: _Active) -> None:
        if active.handle.get_status().name == "IGNORED":
            self._drop(active.request.id)
            raise MemoryError(
                f"A prompt of {len(active.request.prompt_ids)} tokens does not fit the KV cache. Raise cache_size_gb."
            )

    def kv_cache(self) -> KvCacheUse | None:
        """By the library's own metrics of the last step: the blocks in use, and how many the reserved room holds.

        None until one request was seen alone after its prompt: the library tells bytes and not blocks.
        """
        metrics = self._pipeline.get_metrics()
        reserved = int(metrics.cache_size_in_bytes)
        used = reserved * float(metrics.cache_usage) / 100
        if self._block_bytes is None:
            (alone,) = self._active.values() if len(self._active) == 1 else (None,)
            if alone is None or alone.made == 0:
                return None
            # The token made last is not in the cache yet.
            positions = len(alone.request.prompt_ids) + alone.made - 1
            self._block_bytes = used / -(-positions // BLOCK_POSITIONS)
        positions = BLOCK_POSITIONS * round(used / self._block_bytes)
        return KvCacheUse(round(used), positions, BLOCK_POSITIONS * round(reserved / self._block_bytes))

    def cancel(self, request_id: str) -> None:
        if request_id in self._active:
            self._drop(request_id)

    def _drop(self, request_id: str) -> None:
        self._active.pop(request_id).handle.cancel()

    def close(self) -> None:
        for request_id in list(self._active):
            self._drop(request_id)
        # Cancelled requests leave the scheduler, and give back their cache, in the next step.
        if self._pipeline.has_non_finished_requests():
            self._pipeline.step()


def _greedy(max_tokens: int) -> Any:
    """Exactly `max_tokens` tokens: where to stop is decided here, by the request's own stop ids."""
    import openvino_genai

    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = max_tokens
    config.ignore_eos = True
    config.do_sample = False
    config.apply_chat_template = False
    return config


def _until_stop(request: GenerationRequest, tokens: list[int]) -> tuple[list[int], str]:
    if not request.ignore_eos:
        for position, token in enumerate(tokens):
            if token in request.stop_ids:
                return tokens[: position + 1], "stop"
    return tokens, ""


class Scoring:
    """Teacher forcing through the stateful model; what a sequence shares with the last one is not computed again."""

    def __init__(self, compiled: Any, context_length: int) -> None:
        self._request = compiled.create_infer_request()
        self._context_length = context_length
        self._held: tuple[int, ...] = ()
        self._kept: tuple[Any, ...] = ()  # copies of the first `_kept_length` positions of every state
        self._kept_length = 0
        self.computed_tokens = 0

    def score(self, requests: Sequence[ScoreRequest]) -> Sequence[ScoreResult]:
        longest = max((len(request.token_ids) for request in requests), default=0)
        if longest - 1 > self._context_length:
            raise UserError(f"A sequence of {longest} tokens exceeds the model's context of {self._context_length}.")
        return tuple(self._score(request) for request in requests)

    def _score(self, request: ScoreRequest) -> ScoreResult:
        tokens = request.token_ids[:-1]  # the last token is predicted, never read
        keep = min(common_prefix(tokens, self._held), request.start - 1)
        self._rewind(keep)
        self._held = ()  # until all of it is there, so that a failure on the way starts from nothing
        rows = ScoreRows(request)
        for first in range(keep, len(tokens), CHUNK):
            part = tokens[first : first + CHUNK]
            logits = self._append(part, first)
            rows.take(logits[max(0, request.start - 1 - first) :])
        self._held = tokens
        return rows.result()

    def _append(self, tokens: Sequence[int], position: int) -> Any:
        """Logits float32 [len(tokens), V] of the appended tokens, a view that the next call overwrites."""
        import numpy as np

        end = position + len(tokens)
        with _memory_errors():
            self._request.infer(
                {
                    "input_ids": np.array([tokens], np.int64),
                    "attention_mask": np.ones((1, end), np.int64),
                    "position_ids": np.arange(position, end, dtype=np.int64)[None],
                    "beam_idx": np.zeros(1, np.int32),
                }
            )
        self.computed_tokens += len(tokens)
        return self._request.get_tensor("logits").data[0]

    def _rewind(self, keep: int) -> None:
        """Make the state hold exactly the first `keep` tokens of what it held."""
        import openvino

        if keep and keep == len(self._held):
            return
        if keep == 0:
            self._request.reset_state()
            self._kept, self._kept_length = (), 0
            return
        states = self._request.query_state()
        if keep != self._kept_length:
            # [batch, heads, positions, size]; copied, because the runtime writes into its own tensor.
            self._kept = tuple(state.state.data[:, :, :keep].copy() for state in states)
            self._kept_length = keep
        for state, kept in zip(states, self._kept, strict=True):
            state.state = openvino.Tensor(kept)

    def close(self) -> None:
        self._request, self._kept = None, ()


ENGINE = Engine(
    name="openvino_genai",
    summary="OpenVINO on the CPU through openvino-genai, continuous batching",
    opens=("openvino",),
    served_by=ServedBy.HOST,
    batching=Batching.CONTINUOUS,
    scoring=ScoringLevel.FULL,
    resolve=resolve,
    open=open_engine,
    needs=Needs(packages=("openvino_genai", "openvino"), extra="openvino", devices=("cpu",)),
    options=OPTIONS,
    versions_of=("openvino-genai", "openvino"),
    max_batch=MAX_BATCH,
)
