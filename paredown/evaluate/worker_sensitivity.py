"""Leave-one-layer sensitivity, in a process of its own: the baseline in fp32 with one part of a candidate's weights.

For each block: only this block has the candidate's weights; how far are the next-token distributions from those of
the baseline? What lies before the exchanged block is not computed again: its outputs are those of the first pass.
fp32, because the rounding of bfloat16 alone (KL 0.0009 on the built-in model) is more than one block of 8 bits loses.

At import the standard library, contracts, records and registry only: it runs in the reference engine's environment.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from paredown.environments import child
from paredown.errors import UserError
from paredown.models import dense
from paredown.models.dense import Weights
from paredown.records.codec import from_plain, to_plain
from paredown.records.explanation import BlockLoss, Sensitivity

BLOCK = re.compile(r"^(?P<path>(?:.+\.)?(?:layers|h|blocks|block)\.(?P<index>\d+))\.")
ROWS_AT_ONCE = 64
EMBEDDING, HEAD, REST = "embedding", "head", "rest"


@dataclass(frozen=True)
class SensitivityText:
    """Token ids; positions from `start` on are compared."""

    token_ids: tuple[int, ...]
    start: int


@dataclass(frozen=True)
class SensitivityWork:
    """What the worker is to do. source, artifact: directories of the baseline and of the candidate"""

    candidate: str
    source: str
    artifact: str
    format: str
    texts: tuple[SensitivityText, ...]
    device: str = "cpu"
    threads: int = 0


@dataclass(frozen=True)
class _Place:
    """One parameter of the model and the candidate's values for it."""

    module: Any
    attribute: str
    name: str


@dataclass
class _Part:
    name: str
    places: list[_Place] = field(default_factory=list)


def act(work: Mapping[str, Any], report: child.Report) -> Mapping[str, Any]:
    """Measure what `work` (a plain SensitivityWork) asks for; a plain Sensitivity."""
    asked = from_plain(SensitivityWork, work)
    plain: Mapping[str, Any] = to_plain(measure(asked, report))
    return plain


def measure(asked: SensitivityWork, report: child.Report) -> Sensitivity:
    import torch

    begun = time.monotonic()
    if asked.threads:
        torch.set_num_threads(asked.threads)
    report(0.02, "reading the weights of both")
    weights = dense.weights(Path(asked.artifact), asked.format)
    model = _load(asked)
    parts = _parts(model, weights)
    report(0.1, "the baseline's own answer")
    with torch.inference_mode():
        probe = _Probe(model, asked.texts, [part.name for part in parts])
        found, not_read = [], []
        for index, part in enumerate(parts):
            report(0.1 + 0.8 * index / len(parts), f"only {part.name}")
            loss, missed = _alone(probe, part, weights)
            found.append(loss)
            not_read += missed
        report(0.9, "all parts at once")
        whole = _together(probe, parts, weights)
    return Sensitivity(
        candidate=asked.candidate,
        parts=tuple(found),
        whole_kl=whole,
        texts=len(asked.texts),
        positions=probe.positions,
        seconds=time.monotonic() - begun,
        not_read=tuple(sorted(not_read)),
    )


def _load(asked: SensitivityWork) -> Any:
    """The baseline, as the reference engine opens it but in fp32; no pickle and no code of the checkpoint is run."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(
        asked.source,
        dtype=torch.float32,
        use_safetensors=True,
        trust_remote_code=False,
        local_files_only=True,
        device_map=asked.device,
    )
    return model.eval()


def _parts(model: Any, weights: Weights) -> list[_Part]:
    """Embedding, blocks in their order, the rest, head. Raises UserError when the model has no numbered blocks."""
    table, head = model.get_input_embeddings(), model.get_output_embeddings()
    blocks: dict[int, _Part] = {}
    embedding, rest, last = _Part(EMBEDDING), _Part(REST), _Part(HEAD)
    for path, module in model.named_modules():
        for attribute, _ in module.named_parameters(recurse=False):
            name = f"{path}.{attribute}" if path else attribute
            match = BLOCK.match(name)
            if module is head:
                # A tied head has no tensor of its own, unless the candidate's format stores one.
                own = name if name in weights else f"{_path_of(model, table)}.{attribute}"
                last.places.append(_Place(module, attribute, own))
            elif module is table:
                embedding.places.append(_Place(module, attribute, name))
            elif match is not None:
                index = int(match["index"])
                blocks.setdefault(index, _Part(f"block {index}")).places.append(_Place(module, attribute, name))
            else:
                rest.places.append(_Place(module, attribute, name))
    if len(blocks) < 2:
        raise UserError(f"{type(model).__name__} has no numbered blocks whose weights could be exchanged one by one")
    return [embedding, *(blocks[index] for index in sorted(blocks)), rest, last]


def _path_of(model: Any, wanted: Any) -> str:
    return str(next(path for path, module in model.named_modules() if module is wanted))


class _Probe:
    """The texts as one padded batch, the baseline's log-probabilities on them, and the outputs of its blocks.

    Padding stands behind a text, where no compared position can see it.
    """

    def __init__(self, model: Any, texts: Sequence[SensitivityText], names: Sequence[str]) -> None:
        import torch

        self._model = model
        longest = max(len(text.token_ids) for text in texts)
        rows = [list(text.token_ids) + [0] * (longest - len(text.token_ids)) for text in texts]
        self._ids = torch.tensor(rows, device=model.device)
        self._keep = torch.zeros(self._ids.shape, dtype=torch.bool)
        for row, text in enumerate(texts):
            self._keep[row, text.start - 1 : len(text.token_ids) - 1] = True
        self._keep = self._keep.to(model.device)
        self.positions = int(self._keep.sum())
        self._blocks = _block_modules(model, names)
        self._outputs: dict[str, Any] = {}
        hooks = [
            module.register_forward_hook(
                lambda _module, _input, output, name=name: self._outputs.update({name: output})
            )
            for name, module in self._blocks.items()
        ]
        self._reference = self._logits().log_softmax(dim=-1)
        for hook in hooks:
            hook.remove()

    def mean_kl(self, first: str) -> float:
        """KL(baseline ‖ now), nats per token; blocks before the part `first` are taken from the first pass."""
        with self._kept(first):
            logits = self._logits()
        total = 0.0
        for begin in range(0, len(logits), ROWS_AT_ONCE):
            reference = self._reference[begin : begin + ROWS_AT_ONCE]
            now = logits[begin : begin + ROWS_AT_ONCE].log_softmax(dim=-1)
            total += float((reference.exp() * (reference - now)).sum(dtype=reference.dtype))
        return max(0.0, total / self.positions)

    def _logits(self) -> Any:
        """Logits of the compared positions only, shape (positions, vocabulary)."""
        hook = self._model.get_output_embeddings().register_forward_pre_hook(
            lambda _module, given: (given[0][self._keep], *given[1:])
        )
        try:
            return self._model(input_ids=self._ids, use_cache=False).logits.float()
        finally:
            hook.remove()

    @contextmanager
    def _kept(self, first: str) -> Iterator[None]:
        names = list(self._blocks)
        before = names[: names.index(first)] if first in names else names if first in (REST, HEAD) else []
        for name in before:
            self._blocks[name].forward = lambda *_, output=self._outputs[name], **__: output
        try:
            yield
        finally:
            for name in before:
                del self._blocks[name].forward


def _block_modules(model: Any, names: Sequence[str]) -> dict[str, Any]:
    """The modules of the parts that are blocks, in order."""
    found: dict[str, Any] = {}
    for path, _ in model.named_parameters():
        match = BLOCK.match(path)
        if match is not None and (name := f"block {match['index']}") in names and name not in found:
            found[name] = model.get_submodule(match["path"])
    return dict(sorted(found.items(), key=lambda item: names.index(item[0])))


def _alone(probe: _Probe, part: _Part, weights: Weights) -> tuple[BlockLoss, list[str]]:
    """The loss with only this part exchanged; and the tensors that the candidate does not give back."""
    with _exchanged([part], weights) as seen:
        loss = probe.mean_kl(part.name) if seen.changed else 0.0
    error = (seen.difference / seen.norm) ** 0.5 if seen.norm else 0.0
    return BlockLoss(part.name, loss, seen.changed, error), seen.missing


def _together(probe: _Probe, parts: Sequence[_Part], weights: Weights) -> float:
    with _exchanged(parts, weights) as seen:
        return probe.mean_kl(EMBEDDING) if seen.changed else 0.0


@dataclass
class _Seen:
    """changed: weights exchanged; norm, difference: sums of squares over them"""

    changed: int = 0
    norm: float = 0.0
    difference: float = 0.0
    missing: list[str] = field(default_factory=list)


@contextmanager
def _exchanged(parts: Sequence[_Part], weights: Weights) -> Iterator[_Seen]:
    """The candidate's values in the places of these parts, until the block ends. Values that are equal stay."""
    import torch

    seen, before = _Seen(), []
    try:
        for place in (place for part in parts for place in part.places):
            old = place.module._parameters[place.attribute]
            new = _values(place, old, weights)
            if new is None:
                seen.missing.append(place.name)
                continue
            difference = float((new - old).double().pow(2).sum())
            if difference == 0.0:
                continue
            seen.changed += old.numel()
            seen.difference += difference
            seen.norm += float(old.double().pow(2).sum())
            before.append((place, old))
            # A new parameter, not new values in the old one: a tied head would change with the embedding.
            place.module._parameters[place.attribute] = torch.nn.Parameter(new, requires_grad=False)
        yield seen
    finally:
        for place, old in before:
            place.module._parameters[place.attribute] = old


def _values(place: _Place, old: Any, weights: Weights) -> Any:
    """The candidate's values, None when its files do not hold them in this shape."""
    import torch

    if place.name not in weights:
        return None
    new = torch.from_numpy(weights[place.name]().copy()).to(old.device, old.dtype)
    return new if new.shape == old.shape else None


if __name__ == "__main__":
    sys.exit(child.run(act))
