"""Log-probabilities of a PyTorch causal language model over a tree of shared prefixes. Torch is imported where used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paredown.contracts import ScoreRequest, ScoreResult
from paredown.hosts import prefix_tree
from paredown.hosts.logit_rows import common_prefix
from paredown.hosts.prefix_tree import Branch, Pass, Want

LOGIT_ROWS_AT_ONCE = 128
READ_AT_ONCE = 1024
"""Tokens of a held branch read in one go: bounds the attention mask and the logits."""

MOST_TREE_DEVIATION = 0.2
"""Mean difference (nats) between packed and plain scoring above which packing is not used; bf16 gives 0.02."""


def _text_config(model: Any) -> Any:
    return model.config.get_text_config(decoder=True)


def attends_to_all(config: Any) -> bool:
    """Whether every layer attends to all positions before: no window, no chunks, no recurrent state."""
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    windowed = getattr(config, "sliding_window", None) and getattr(config, "use_sliding_window", True)
    return kinds == {"full_attention"} and not windowed and not getattr(config, "attention_chunk_size", None)


class TreeScoring:
    """Teacher forcing over the tree of shared prefixes, one packed row a pass; padding does not exist.

    Models whose layers do not attend to all positions are scored one sequence at a time, and so is a model whose
    packed results differ from its plain ones when it is first used (attention that ignores position ids).
    """

    def __init__(self, model: Any) -> None:
        self._model: Any = model
        self._cache: Any = None
        self._held: tuple[int, ...] = ()
        self._packs: bool | None = None
        self.computed_tokens = 0

    def score(self, requests: Sequence[ScoreRequest]) -> Sequence[ScoreResult]:
        import torch

        with torch.inference_mode():
            if self._packs is None:
                self._packs = attends_to_all(_text_config(self._model)) and self._packing_is_exact()
            return self._packed(requests) if self._packs else self._plain(requests)

    def close(self) -> None:
        self._model, self._cache, self._held = None, None, ()

    def _packing_is_exact(self) -> bool:
        """Score three short sequences that share a beginning both ways."""
        vocabulary = int(_text_config(self._model).vocab_size)
        ids = [37 * place % (vocabulary - 3) + 2 for place in range(24)]
        probes = [ScoreRequest((*ids[:8], *ids[first : first + 8]), 1) for first in (8, 12, 16)]
        one, other = self._packed(probes), self._plain(probes)
        self.computed_tokens = 0
        self._forget(0)
        differences = [
            abs(a - b)
            for ours, plain in zip(one, other, strict=True)
            for a, b in zip(ours.target_logprobs, plain.target_logprobs, strict=True)
        ]
        return sum(differences) / len(differences) <= MOST_TREE_DEVIATION

    def _plain(self, requests: Sequence[ScoreRequest]) -> Sequence[ScoreResult]:
        gathered = [_Gathered(request) for request in requests]
        for index, request in enumerate(requests):
            self._forget(0)
            branch = Branch(request.token_ids[:-1], 0)
            first = request.start - 1
            branch.wants = [Want(offset, index, offset - first) for offset in range(first, len(branch.tokens))]
            if branch.tokens:
                self._hold(branch, gathered)
        self._forget(0)
        return [one.result() for one in gathered]

    def _packed(self, requests: Sequence[ScoreRequest]) -> Sequence[ScoreResult]:
        gathered = [_Gathered(request) for request in requests]
        for one in prefix_tree.passes(prefix_tree.build(requests), self._held):
            if one.stays:
                self._hold(one.segments[0].branch, gathered)
            else:
                self._row(one, gathered)
        return [one.result() for one in gathered]

    # ── passes ──

    def _forget(self, positions: int) -> None:
        """Keep the keys and values of the first `positions` tokens."""
        from transformers import DynamicCache

        if self._cache is None or positions == 0:
            self._cache, self._held = DynamicCache(), ()
        elif positions < self._cache.get_seq_length():
            self._cache.crop(positions - self._cache.get_seq_length())
            self._held = self._held[:positions]

    def _hold(self, branch: Branch, gathered: Sequence[_Gathered]) -> None:
        """Read a branch after its parents, and hold it. What is held from before is not read again."""
        path = branch.path()
        first_wanted = min((want.offset for want in branch.wants), default=len(branch.tokens))
        begin = min(common_prefix(path, self._held), branch.depth + first_wanted)
        self._forget(begin)
        wants: dict[int, list[Want]] = {}
        for want in branch.wants:
            wants.setdefault(branch.depth + want.offset, []).append(want)
        for first in range(begin, len(path), READ_AT_ONCE):
            tokens = path[first : first + READ_AT_ONCE]
            here = {at - first: wants[at] for at in range(first, first + len(tokens)) if at in wants}
            self._read(tokens, here, gathered)
            self._held = path[: first + len(tokens)]

    def _row(self, one: Pass, gathered: Sequence[_Gathered]) -> None:
        """Read branches side by side after the held prefix, and forget them again."""
        past = len(one.prefix)
        self._forget(past)
        tokens: list[int] = []
        wants: dict[int, list[Want]] = {}
        for segment in one.segments:
            for want in segment.branch.wants:
                wants.setdefault(len(tokens) + want.offset, []).append(want)
            tokens += segment.branch.tokens
        self._read(tokens, wants, gathered, one)
        self._forget(past)

    def _read(
        self,
        tokens: Sequence[int],
        wants: dict[int, list[Want]],
        gathered: Sequence[_Gathered],
        packed: Pass | None = None,
    ) -> None:
        import torch

        device, kept = self._model.device, sorted(wants)
        special = {} if packed is None else _tree_attention(packed, self._model)
        logits = self._model(
            input_ids=torch.tensor([tokens], device=device),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=torch.tensor(kept, device=device) if kept else 1,
            **special,
        ).logits
        self.computed_tokens += len(tokens)
        for first in range(0, len(kept), LOGIT_ROWS_AT_ONCE):
            places = kept[first : first + LOGIT_ROWS_AT_ONCE]
            rows = logits[0, first : first + len(places)].float()
            _gather(rows, [wants[place] for place in places], gathered)


def _tree_attention(packed: Pass, model: Any) -> dict[str, Any]:
    """Position ids [1, tokens] and an additive mask [1, 1, tokens, prefix + tokens]: a token sees its ancestors."""
    import torch

    past, size, device = len(packed.prefix), packed.size, model.device
    allowed = torch.zeros(size, past + size, dtype=torch.bool)
    allowed[:, :past] = True
    positions: list[int] = []
    spans: list[tuple[int, int, int]] = []
    for segment in packed.segments:
        begin = len(positions)
        end = begin + len(segment.branch.tokens)
        spans.append((begin, end, segment.parent))
        positions += range(segment.branch.depth, segment.branch.depth + end - begin)
        allowed[begin:end, past + begin : past + end] = torch.ones(end - begin, end - begin).tril().bool()
        above = segment.parent
        while above >= 0:
            first, last, next_above = spans[above]
            allowed[begin:end, past + first : past + last] = True
            above = next_above
    mask = torch.zeros(allowed.shape, dtype=model.dtype).masked_fill_(~allowed, torch.finfo(model.dtype).min)
    return {
        "attention_mask": mask[None, None].to(device),
        "position_ids": torch.tensor([positions], device=device),
    }


class _Gathered:
    """The result of one request while its rows come in any order."""

    def __init__(self, request: ScoreRequest) -> None:
        count = max(0, len(request.token_ids) - request.start)
        self.request = request
        self.target = [0.0] * count
        self.top_ids: list[tuple[int, ...]] = [()] * count
        self.top: list[tuple[float, ...]] = [()] * count
        self.at: list[tuple[float, ...]] = [()] * count

    def result(self) -> ScoreResult:
        with_top, with_at = self.request.top_k > 0, bool(self.request.at_ids)
        return ScoreResult(
            tuple(self.target),
            tuple(self.top_ids) if with_top else (),
            tuple(self.top) if with_top else (),
            tuple(self.at) if with_at else (),
        )


def _gather(logits: Any, wants: Sequence[Sequence[Want]], gathered: Sequence[_Gathered]) -> None:
    """Log-probabilities out of logits float32 [n, V]; `wants[i]` are those of row i."""
    import torch

    total = torch.logsumexp(logits, dim=-1)
    pairs = [(place, want, gathered[want.request]) for place, here in enumerate(wants) for want in here]
    places = [place for place, _, _ in pairs]
    ids = [one.request.token_ids[one.request.start + want.row] for _, want, one in pairs]
    values = (logits[places, ids] - total[places]).tolist()
    for value, (_, want, one) in zip(values, pairs, strict=True):
        one.target[want.row] = value
    _gather_top(logits, total, pairs)
    for place, want, one in pairs:
        if one.request.at_ids:
            wanted = torch.tensor(one.request.at_ids[want.row], device=logits.device)
            one.at[want.row] = tuple((logits[place, wanted] - total[place]).tolist())


def _gather_top(logits: Any, total: Any, pairs: Sequence[tuple[int, Want, _Gathered]]) -> None:
    """The k largest, largest first; of equal ones the lowest id first, as argmax takes it when it serves."""
    import torch

    most = max((one.request.top_k for _, _, one in pairs), default=0)
    if not most:
        return
    # A few more than asked for, because topk takes equal ones in any order.
    values, ids = torch.topk(logits, min(most + 8, logits.shape[-1]), dim=-1)
    ids, order = torch.sort(ids, dim=-1)
    values, order = torch.sort(values.gather(-1, order), dim=-1, descending=True, stable=True)
    ids = ids.gather(-1, order).tolist()
    logprobs = (values - total[:, None]).tolist()
    for place, want, one in pairs:
        k = one.request.top_k
        one.top_ids[want.row], one.top[want.row] = tuple(ids[place][:k]), tuple(logprobs[place][:k])
