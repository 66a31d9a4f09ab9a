"""transformers on PyTorch: the reference engine. Greedy decoding and scoring with the same weights and options.

Requests join and leave the running batch at any step: a new one is read alone, exactly as if it were the only one, and
its keys and values are put beside the others', shorter ones padded on the left.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from paredown.contracts import (
    Batching,
    Engine,
    GenerationRequest,
    KvCacheUse,
    Needs,
    OpenContext,
    Option,
    ScoringLevel,
    ServedBy,
    StepOutput,
)
from paredown.errors import UserError
from paredown.hosts.torch_scoring import TreeScoring
from paredown.records.artifact import Artifact
from paredown.records.figure import Options
from paredown.records.machine import Machine

DTYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}
OPTIONS = (
    Option(
        "dtype",
        "auto",
        "data type of weights and activations; auto = the checkpoint's own",
        choices=("auto", "bfloat16", "float16", "float32"),
        changes_numbers=True,
    ),
    Option("threads", 0, "threads of one operator; 0 = the cores this process may use"),
    Option(
        "attention",
        "sdpa",
        "implementation of attention: fused (sdpa) or step by step (eager)",
        choices=("sdpa", "eager"),
        changes_numbers=True,
    ),
)


def resolve(artifact: Artifact | None, machine: Machine, wanted: Options) -> Options:
    """Every option written out: `auto` becomes the data type of most of the checkpoint's plain weights."""
    options = {option.name: option.default for option in OPTIONS} | dict(wanted)
    for option in OPTIONS:
        if option.choices and options[option.name] not in option.choices:
            known = ", ".join(map(str, option.choices))
            raise UserError(f"transformers has no {option.name}={options[option.name]!r}. It has: {known}.")
    unknown = sorted(set(options) - {option.name for option in OPTIONS})
    if unknown:
        raise UserError(f"transformers has no option {unknown[0]!r}. It has: {', '.join(o.name for o in OPTIONS)}.")
    options["threads"] = int(options["threads"] or 0) or machine.usable_cores
    if options["dtype"] == "auto" and artifact is not None:
        sizes = {DTYPES[g.dtype]: g.size_bytes for g in artifact.groups if g.dtype in DTYPES}
        options["dtype"] = max(sizes, key=lambda name: sizes[name]) if sizes else "auto"
    return options


def open_engine(context: OpenContext) -> Opened:
    """Load safetensors weights; no pickle and no code of the checkpoint is run."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    # It warns at every matrix multiplication that bfloat16 is cast: 210 lines a token.
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    torch.set_num_threads(int(context.options.get("threads") or 0) or len(os.sched_getaffinity(0)))
    dtype = str(context.options.get("dtype") or "auto")
    model = transformers.AutoModelForCausalLM.from_pretrained(
        str(context.artifacts["main"]),
        dtype="auto" if dtype == "auto" else getattr(torch, dtype),
        attn_implementation=str(context.options.get("attention") or "sdpa"),
        use_safetensors=True,
        trust_remote_code=False,
        local_files_only=True,
        device_map=context.device,
    )
    model.eval()
    return Opened(model)


class Opened:
    def __init__(self, model: Any) -> None:
        self._model: Any = model

    def generation(self) -> Generation:
        return Generation(self._model)

    def scoring(self) -> TreeScoring:
        return TreeScoring(self._model)

    def close(self) -> None:
        self._model = None


# ── generation ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Row:
    """An active request: its last token, the position of that token, and how far it is padded on the left."""

    request: GenerationRequest
    last: int
    position: int
    padding: int
    made: int = 1


class Generation:
    """A running batch over one cache of keys and values [rows, heads, positions, size]."""

    def __init__(self, model: Any) -> None:
        self._model: Any = model
        self._waiting: dict[str, GenerationRequest] = {}
        self._rows: list[_Row] = []
        self._cache: Any = None

    def add(self, request: GenerationRequest) -> None:
        self._waiting[request.id] = request

    def cancel(self, request_id: str) -> None:
        self._waiting.pop(request_id, None)
        self._keep([row for row in self._rows if row.request.id != request_id])

    def close(self) -> None:
        self._waiting, self._rows, self._cache = {}, [], None

    def kv_cache(self) -> KvCacheUse:
        """Storage of the tensors of keys and values; every row takes as many positions as the longest (padding)."""
        if self._cache is None:
            return KvCacheUse(0, 0)
        states = [tensor for layer in self._cache.layers for tensor in (layer.keys, layer.values)]
        allocated = sum(int(tensor.untyped_storage().nbytes()) for tensor in states)
        return KvCacheUse(allocated, len(self._rows) * int(self._cache.get_seq_length()))

    def step(self) -> Sequence[StepOutput]:
        """The first token of the oldest new request if there is one, else the next token of every active one."""
        import torch

        with torch.inference_mode():
            if self._waiting:
                return [self._read(self._waiting.pop(next(iter(self._waiting))))]
            return self._decode() if self._rows else ()

    def _read(self, request: GenerationRequest) -> StepOutput:
        import torch
        from transformers import DynamicCache

        # The configuration tells it which layers have a window: those keep no more than that.
        cache = DynamicCache(config=self._model.config)
        ids = torch.tensor([request.prompt_ids], device=self._model.device)
        logits = self._model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1).logits
        for layer in cache.layers:
            if layer.is_sliding:  # a view of the whole prompt: a copy lets the rest of it go
                layer.keys, layer.values = layer.keys.clone(), layer.values.clone()
        row = _Row(request, int(logits[0, -1].argmax()), len(request.prompt_ids), padding=0)
        reason = _finish_reason(row)
        if not reason:
            self._join(row, cache)
        return StepOutput(request.id, (row.last,), reason)

    def _join(self, row: _Row, cache: Any) -> None:
        """Put the row under the others; the shorter of the two is padded on the left."""
        import torch

        if self._cache is None:
            self._cache, self._rows = cache, [row]
            return
        length = self._cache.get_seq_length()
        longer = cache.get_seq_length() - length
        for ours, new in zip(self._cache.layers, cache.layers, strict=True):
            missing = new.keys.shape[-2] - ours.keys.shape[-2]
            ours.keys = torch.cat([_padded(ours.keys, missing), _padded(new.keys, -missing)])
            ours.values = torch.cat([_padded(ours.values, missing), _padded(new.values, -missing)])
            _set_length(ours, max(length, length + longer))
        for other in self._rows:
            other.padding += max(longer, 0)
        row.padding = max(-longer, 0)
        self._rows.append(row)

    def _decode(self) -> Sequence[StepOutput]:
        import torch

        rows, device = self._rows, self._model.device
        logits = self._model(
            input_ids=torch.tensor([[row.last] for row in rows], device=device),
            position_ids=torch.tensor([[row.position] for row in rows], device=device),
            attention_mask=self._mask(),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits
        outputs, going_on = [], []
        for row, token in zip(rows, logits[:, -1].argmax(dim=-1).tolist(), strict=True):
            row.last, row.position, row.made = token, row.position + 1, row.made + 1
            reason = _finish_reason(row)
            if not reason:
                going_on.append(row)
            outputs.append(StepOutput(row.request.id, (token,), reason))
        self._keep(going_on)
        return outputs

    def _mask(self) -> Any:
        """1 = attended, 0 = padding, shape [rows, positions]; None while nothing is padded."""
        import torch

        if not any(row.padding for row in self._rows):
            return None
        positions = torch.arange(self._cache.get_seq_length() + 1, device=self._model.device)
        return (positions >= torch.tensor([[row.padding] for row in self._rows], device=self._model.device)).long()

    def _keep(self, rows: list[_Row]) -> None:
        """Drop all other rows, and the padding that no row needs any more."""
        import torch

        if len(rows) == len(self._rows):
            return
        places = [place for place, row in enumerate(self._rows) if row in rows]
        self._rows = rows
        if not rows:
            self._cache = None
            return
        spare = min(row.padding for row in rows)
        length = self._cache.get_seq_length() - spare
        index = torch.tensor(places, device=self._model.device)
        for layer in self._cache.layers:
            # A layer with a window has dropped the oldest positions already, and with them some of the padding.
            first = max(0, layer.keys.shape[-2] - length)
            layer.keys = layer.keys[:, :, first:].index_select(0, index)
            layer.values = layer.values[:, :, first:].index_select(0, index)
            _set_length(layer, length)
        for row in rows:
            row.padding -= spare


def _padded(states: Any, positions: int) -> Any:
    import torch

    return torch.nn.functional.pad(states, (0, 0, positions, 0)) if positions > 0 else states


def _set_length(layer: Any, positions: int) -> None:
    """A layer with a window counts the positions that it has seen; another one tells by its tensors."""
    if layer.is_sliding:
        layer.cumulative_length = positions


def _finish_reason(row: _Row) -> str:
    if not row.request.ignore_eos and row.last in row.request.stop_ids:
        return "stop"
    return "length" if row.made >= row.request.max_tokens else ""


ENGINE = Engine(
    name="transformers",
    summary="transformers on PyTorch, the reference: batched greedy decoding, all log-probabilities",
    opens=("hf", "bitsandbytes"),
    served_by=ServedBy.HOST,
    batching=Batching.CONTINUOUS,
    scoring=ScoringLevel.FULL,
    resolve=resolve,
    open=open_engine,
    needs=Needs(packages=("torch", "transformers"), extra="transformers", devices=("cpu",)),
    options=OPTIONS,
    versions_of=("torch", "transformers"),
    max_batch=16,
    baseline=True,
)
