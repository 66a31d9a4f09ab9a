"""Figures of fidelity from its positions: over all, by slice, by kind of text, by position. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from paredown.evaluate.fidelity.texts import LONG_SLICE, PLAIN_SLICE
from paredown.records.golden import Fidelity, FidelityFloor, FidelityPart, TextFidelity, Truncation
from paredown.stats.graded import MeanDrop, mean_drop
from paredown.stats.tango import normal_quantile

POSITION_BINS = (0, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
FEWEST_TEXTS = 5
"""Standard errors are clustered by text from this many texts on, by blocks of positions below it."""

BLOCK = 16
"""Positions of a block: neighbours share their context, so that they are no independent looks."""


@dataclass(frozen=True)
class Values:
    """Values at positions, with the unit of each: positions of one unit may depend on each other in any way."""

    values: tuple[float, ...]
    units: tuple[str, ...]

    @property
    def spread(self) -> MeanDrop:
        return mean_drop(self.values, self.units)

    @property
    def mean(self) -> float | None:
        return self.spread.drop if self.values else None

    @property
    def error(self) -> float | None:
        """Cluster-robust standard error of the mean; None with fewer than two units."""
        return self.spread.standard_error if len(set(self.units)) > 1 else None


@dataclass(frozen=True)
class _Span:
    """Positions `first`…`last` (indices) of one text that count in a part."""

    text: TextFidelity
    first: int
    last: int

    @property
    def cluster(self) -> str:
        return self.text.cluster or self.text.id


def summarize(
    candidate: str,
    level: str,
    texts: Sequence[TextFidelity],
    *,
    top_k: int,
    agreement_k: int = 0,
    truncation: Truncation | None = None,
    floor: FidelityFloor | None = None,
    missing: str = "",
) -> Fidelity:
    """All figures of a candidate. Perplexity is taken on text that no model wrote: the slice `plain`."""
    whole = [_Span(text, 0, _length(text)) for text in texts]
    kl = _values(whole, lambda text: text.kl)
    tail = _quantiles(kl.values)
    perplexity = log_perplexity([text for text in texts if text.slice == PLAIN_SLICE])
    answers = [text for text in texts if text.slice not in (PLAIN_SLICE, LONG_SLICE)]
    return Fidelity(
        candidate=candidate,
        level=level,
        texts=tuple(texts),
        top_k=top_k,
        mean_kl=kl.mean,
        p99_kl=tail.p99,
        max_kl=tail.largest,
        top1_agreement=_values(whole, _agreement).mean,
        positions=sum(span.last for span in whole),
        missing=missing,
        p999_kl=tail.p999,
        mean_reverse_kl=_values(whole, lambda text: text.reverse_kl).mean,
        topk_agreement=_values(whole, lambda text: text.topk_overlap).mean,
        agreement_k=agreement_k,
        log_perplexity_difference=perplexity.difference,
        log_perplexity_se=perplexity.error,
        perplexity_ratio=perplexity.ratio,
        perplexity_ratio_low=perplexity.low,
        perplexity_ratio_high=perplexity.high,
        perplexity_texts=perplexity.texts,
        first_divergence=median_divergence(answers),
        diverged=sum(text.first_divergence is not None for text in answers),
        answers=len(answers),
        truncation=truncation,
        parts=tuple(_parts(texts)),
        floor=floor,
    )


def again(found: Fidelity) -> Fidelity:
    """The same record with every figure computed again from the values of its positions."""
    return summarize(
        found.candidate,
        found.level,
        found.texts,
        top_k=found.top_k,
        agreement_k=found.agreement_k,
        truncation=found.truncation,
        floor=found.floor,
        missing=found.missing,
    )


@dataclass(frozen=True)
class _Tail:
    p99: float | None = None
    p999: float | None = None
    largest: float | None = None


def _quantiles(values: Sequence[float]) -> _Tail:
    if not values:
        return _Tail()
    p99, p999, largest = np.quantile(np.array(values), (0.99, 0.999, 1.0)).tolist()
    return _Tail(p99, p999, largest)


def median_divergence(texts: Sequence[TextFidelity]) -> float | None:
    """Index by which half of the texts have another first choice; None = fewer than half ever do."""
    found = sorted(math.inf if text.first_divergence is None else float(text.first_divergence) for text in texts)
    if not found:
        return None
    middle = found[(len(found) - 1) // 2]
    return middle if math.isfinite(middle) else None


# ── perplexity ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class LogPerplexity:
    """Log-perplexity, candidate − baseline (nats per token), and exp of it with two-sided 95 % limits."""

    difference: float | None = None
    error: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    texts: int = 0


def log_perplexity(texts: Sequence[TextFidelity]) -> LogPerplexity:
    """Paired difference over all tokens of the texts; error clustered by text, limits by Student's t."""
    known = [_Span(text, 0, _length(text)) for text in texts if text.logprob_change]
    values = _values(known, lambda text: text.logprob_change, by_text=True)
    clusters = len(set(values.units))
    if values.mean is None:
        return LogPerplexity()
    difference, error = 0.0 - values.mean, values.error
    if error is None:
        return LogPerplexity(difference, None, math.exp(difference), texts=clusters)
    from scipy.special import stdtrit

    reach = float(stdtrit(clusters - 1, 0.975)) * error
    return LogPerplexity(
        difference, error, math.exp(difference), math.exp(difference - reach), math.exp(difference + reach), clusters
    )


# ── parts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _parts(texts: Sequence[TextFidelity]) -> Iterator[FidelityPart]:
    for name in dict.fromkeys(text.slice for text in texts):
        yield _part(name, "slice", [_Span(t, 0, _length(t)) for t in texts if t.slice == name])
    for name in dict.fromkeys(part for text in texts for part in text.parts):
        yield _part(name, "text", [_Span(t, 0, _length(t)) for t in texts if name in t.parts])
    for low, high in zip(POSITION_BINS, (*POSITION_BINS[1:], 2**62), strict=True):
        spans = [span for text in texts for span in _within(text, low, high)]
        if spans:
            yield _part(f"{low:,}–{high - 1:,}" if high < 2**62 else f"{low:,} and beyond", "positions", spans)


def _within(text: TextFidelity, low: int, high: int) -> Iterator[_Span]:
    first = min(max(0, low - text.start), _length(text))
    last = min(max(0, high - text.start), _length(text))
    if last > first:
        yield _Span(text, first, last)


def _part(name: str, kind: str, spans: Sequence[_Span]) -> FidelityPart:
    kl, same = _values(spans, lambda text: text.kl), _values(spans, _agreement)
    change = _values(spans, lambda text: text.logprob_change)
    return FidelityPart(
        name,
        kind,
        positions=sum(span.last - span.first for span in spans),
        texts=len(spans),
        clusters=max(len(set(same.units)), len(set(change.units))),
        mean_kl=kl.mean,
        mean_kl_se=kl.error,
        top1_agreement=same.mean,
        top1_se=same.error,
        log_perplexity_difference=None if change.mean is None else 0.0 - change.mean,
        log_perplexity_se=change.error,
    )


def _length(text: TextFidelity) -> int:
    """Compared positions; an engine may give the text's own tokens only, and no top-k."""
    return max(len(text.same_top1), len(text.logprob_change))


def _agreement(text: TextFidelity) -> Sequence[float]:
    return [float(same) for same in text.same_top1]


def _values(spans: Sequence[_Span], of: Callable[[TextFidelity], Sequence[float]], *, by_text: bool = False) -> Values:
    """Values of the spans; units are the texts where there are enough, else blocks of positions."""
    whole = by_text or len({span.cluster for span in spans}) >= FEWEST_TEXTS
    values: list[float] = []
    units: list[str] = []
    for span in spans:
        own = of(span.text)[span.first : span.last]
        values += own
        units += [span.cluster if whole else f"{span.text.id} {place // BLOCK}" for place in range(len(own))]
    return Values(tuple(values), tuple(units))


# ── what the bound misses, and the floor ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class WideRow:
    """One position looked at with few ids and with many: bounds of both, and the baseline's mass beyond the many."""

    text: str
    kl: float
    kl_wide: float
    reverse: float
    reverse_wide: float
    wide_tail: float


def truncation(rows: Sequence[WideRow], top_k: int, wide_k: int) -> Truncation | None:
    """What the bound with `top_k` ids misses of that with `wide_k`; None without such positions."""
    if not rows:
        return None
    units = tuple(row.text for row in rows)
    forward = Values(tuple(max(0.0, row.kl_wide - row.kl) for row in rows), units)
    reverse = Values(tuple(max(0.0, row.reverse_wide - row.reverse) for row in rows), units)
    return Truncation(
        top_k,
        wide_k,
        positions=len(rows),
        texts=len(set(units)),
        missed=forward.mean or 0.0,
        missed_se=forward.error,
        reverse_missed=reverse.mean or 0.0,
        reverse_missed_se=reverse.error,
        wide_tail=sum(row.wide_tail for row in rows) / len(rows),
    )


def floor(texts: Sequence[TextFidelity], how: str) -> FidelityFloor | None:
    """The baseline against itself; None when KL was not measured. The upper limit of the mean is one-sided 95 %."""
    found = summarize("baseline again", "", texts, top_k=0)
    if found.mean_kl is None or found.mean_reverse_kl is None or found.top1_agreement is None:
        return None
    error = _values([_Span(text, 0, _length(text)) for text in texts], lambda text: text.kl).error or 0.0
    return FidelityFloor(
        mean_kl=found.mean_kl,
        mean_kl_upper=found.mean_kl + normal_quantile(0.95) * error,
        mean_reverse_kl=found.mean_reverse_kl,
        top1_agreement=found.top1_agreement,
        log_perplexity_difference=found.log_perplexity_difference,
        log_perplexity_se=found.log_perplexity_se,
        positions=found.positions,
        how=how,
    )
