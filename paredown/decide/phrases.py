"""Parts of the decision paragraph: figures before and after, and targets that are missed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paredown.decide import wording
from paredown.records.figure import Figure
from paredown.records.verdict import AgainstBaseline, CandidateVerdict
from paredown.spec.targets import QUALITY_DROP

HEADLINES = (("decode_speed", ""), ("ttft", "p50"), ("weight_bytes", ""), ("peak_memory", ""), ("cost", ""))
_WORDS: Mapping[str, str] = {
    "decode_speed": "decoding speed",
    "output_throughput": "output throughput",
    "ttft": "time to the first token",
    "ttft_sent": "time to the first token after sending",
    "itl": "time between tokens",
    "tpot": "time per token",
    "e2e": "time to the whole answer",
    "e2e_50": "time to a 50-token answer",
    "startup": "start-up",
    "weight_bytes": "weights",
    "disk_bytes": "size on disk",
    "weights_memory": "memory of the weights",
    "kv_cache_memory": "memory of the KV cache",
    "cost": "cost",
    "goodput": "goodput",
    "good_fraction": "share of good requests",
    "request_throughput": "request throughput",
    "send_delay": "delay of sending",
    "prefix_cache_hit_rate": "hit rate of the prefix cache",
    "kv_bytes_per_token": "KV cache per token",
    "activations_memory": "memory of activations",
}


@dataclass(frozen=True)
class BeforeAfter:
    """One figure of the candidate, and the baseline's where it has one; `against`: measured in turns, by rounds."""

    after: Figure
    before: Figure | None
    against: AgainstBaseline | None = None


def headline_figures(found: CandidateVerdict, baseline: Sequence[Figure]) -> tuple[BeforeAfter, ...]:
    """Figures that the targets name, then the usual ones; only those that were measured, each once."""
    wanted = [(r.target.metric, r.target.statistic) for r in found.targets if r.target.metric != QUALITY_DROP]
    names = dict.fromkeys([*wanted, *HEADLINES])
    after, before = _by_name(found.figures), _by_name(baseline)
    ratios = {one.figure: one for one in found.ratios if one.in_turns}
    return tuple(
        BeforeAfter(after[name], before.get(name), ratios.get(after[name].name)) for name in names if name in after
    )


def figure_phrase(pair: BeforeAfter) -> str:
    """`decoding speed 91 tokens/s, 3.6× the 25.3 tokens/s before`; says so where the trials show no difference."""
    after, before, against = pair.after, pair.before, pair.against
    assert after.value is not None
    text = f"{name(after.metric, after.statistic)} {wording.quantity(after.value, after.unit)}"
    if before is None or not before.value:
        return text
    was = wording.quantity(before.value, before.unit)
    if against is not None and against.differs is False:
        return f"{text}, no difference from the {was} before that goes beyond noise"
    ratio = against.ratio if against is not None else after.value / before.value
    return (
        f"{text}, {wording.quantity(ratio, 'x')} the {was} before"
        if ratio >= 1.5
        else (f"{text}, {wording.percent(ratio)} of the {was} before")
    )


def name(metric: str, statistic: str) -> str:
    """A metric in words; the median is what one expects, so it is not named."""
    words = _WORDS.get(metric, metric.replace("_", " "))
    return words if statistic in ("", "p50") else f"{words} at {statistic}" if statistic != "mean" else f"mean {words}"


def misses_phrase(found: CandidateVerdict) -> str:
    """Which targets are missed or were not measured, each with its figures; what quality misses is said elsewhere."""
    figures = [result for result in found.targets if result.target.metric != QUALITY_DROP]
    missed = [f"{r.target.text} ({_clause(r.reason)})" for r in figures if r.met is False]
    unknown = [f"{r.target.text} ({_clause(r.reason)})" for r in figures if r.met is None]
    sentences = []
    if missed:
        sentences.append(f"Missed: {', '.join(missed)}.")
    if unknown:
        sentences.append(f"Open: {', '.join(unknown)}.")
    if figures and not missed and not unknown:
        sentences.append("Its figures meet every other target.")
    return " ".join(sentences)


def cautions(found: CandidateVerdict) -> tuple[str, ...]:
    """For each target that is met by its value alone what its limits leave open."""
    sentences = []
    for result in found.targets:
        _, _, more = result.reason.partition(". ")
        if result.met and more and result.target.metric != QUALITY_DROP:
            sentences.append(f"{result.target.text} is met by the measured value, but {more[:1].lower()}{more[1:]}")
    return tuple(sentences)


def attribution(found: CandidateVerdict, wide: CandidateVerdict | None, before: Sequence[Figure], primary: str) -> str:
    """How much of the speed came with the engine and how much with the bits; empty when that was not measured."""
    if wide is None:
        return ""
    speeds = [_value(figures, primary) for figures in (before, wide.figures, found.figures)]
    if any(value is None for value in speeds):
        return ""
    start, middle, end = (value for value in speeds if value)
    engine, bits = wording.quantity(middle / start, "x"), wording.quantity(end / middle, "x")
    return (
        f"Of the change in {name(primary, '')}, {engine} comes from the engine alone ({wide.candidate}) "
        f"and {bits} from what was done to the weights."
    )


def _value(figures: Sequence[Figure], metric: str) -> float | None:
    values = [f.value for f in figures if f.metric == metric and f.value and not f.void]
    return values[0] if values else None


def _clause(reason: str) -> str:
    """A reason's first sentence, as a clause inside brackets."""
    first = reason.split(". ", maxsplit=1)[0].removesuffix(".")
    return first[:1].lower() + first[1:]


def _by_name(figures: Sequence[Figure]) -> dict[tuple[str, str], Figure]:
    return {(f.metric, f.statistic): f for f in figures if f.value is not None and not f.void}
