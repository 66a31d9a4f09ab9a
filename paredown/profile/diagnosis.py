"""The bottleneck in words, and the rung of the ladder that addresses it. Pure.

How much a rung can gain at most is Amdahl's law on the roofline: the part of the time that the floor explains shrinks
to the new floor, the rest stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paredown.profile.roofline import bandwidth_for
from paredown.records.artifact import ModelFacts
from paredown.records.bottleneck import Bottleneck, Bound, Placement
from paredown.records.candidate import Rung
from paredown.records.machine import Ceilings
from paredown.records.measurement import OperatorTable

ANSWER_TOKENS = 128
"""Length of the answer for which prefill and decode are weighed against each other."""

MUCH_FRAMEWORK = 0.30
PRUNED_SHARE = 0.25
"""What structured pruning is taken to remove when its gain is named."""

HALF_WIDTH_BITS = 12.0
"""Stored weights wider than this are taken to 8 bits; narrower ones, down to the next, to 4."""
QUARTER_WIDTH_BITS = 6.0

RUNG_NAMES = {
    Rung.LOSSLESS: "lossless", Rung.EIGHT_BIT: "8-bit", Rung.FOUR_BIT: "4-bit", Rung.STRUCTURE: "structure",
}  # fmt: skip


@dataclass(frozen=True)
class Remedy:
    """What would help one phase. at_most: how many times as fast the phase can become by it."""

    rung: Rung
    what: str
    at_most: float


def bottleneck(
    placements: Sequence[Placement], operators: Sequence[OperatorTable], facts: ModelFacts, ceilings: Ceilings
) -> Bottleneck:
    """What limits decode alone and in the largest batch, and prefill; the phase that takes most of a request's time
    decides which rung is named.
    """
    decode = sorted((p for p in placements if p.phase == "decode"), key=lambda p: p.batch)
    prefill = max(
        (p for p in placements if p.phase == "prefill"), key=lambda p: (-p.batch, p.tokens), default=None
    )  # fmt: skip
    shown = [*decode[:1], *decode[1:][-1:], *([prefill] if prefill else [])]
    if not shown:
        return Bottleneck(_nothing(ceilings), None)
    sentences = [_where(p, decode[0] if p in decode[1:] else None) for p in shown]
    sentences += _framework(decode[0], operators) if decode else []
    main = _dearest(decode[0] if decode else None, prefill)
    remedy = remedy_for(main.placement, facts, ceilings)
    sentences.append(f"{main.why}: {_advice(main.placement, remedy)}.")
    for other in shown:
        further = remedy_for(other, facts, ceilings)
        if other is not main.placement and further.rung is not remedy.rung:
            sentences.append(f"{_subject(other)} needs something else: {_advice(other, further)}.")
    if any(p.fraction > 1 for p in shown):
        sentences.append(
            "Steps faster than their floor: the ceilings were measured while the machine was busy; repeat this on a "
            "quiet one."
        )
    return Bottleneck(" ".join(sentences), remedy.rung)


def remedy_for(placement: Placement, facts: ModelFacts, ceilings: Ceilings) -> Remedy:
    """The first rung of the ladder that shortens what limits this phase."""
    if placement.bound is Bound.OVERHEAD:
        what = "better execution of the same weights (another engine, fused or compiled kernels)"
        return Remedy(Rung.LOSSLESS, what, max(1.0, placement.measured_s / placement.floor_s))
    if placement.bound is Bound.MEMORY:
        return _fewer_bytes(placement, facts, ceilings)
    rates = {rate.dtype: rate.operations_per_second for rate in ceilings.matrix}
    rate = placement.operations / placement.compute_floor_s
    if placement.compute_dtype != "int8" and rates.get("int8", 0.0) > rate:
        compute_s = placement.operations / rates["int8"]
        what = "8-bit activations with 8-bit weights, multiplied as integers"
        return Remedy(Rung.EIGHT_BIT, what, _gain(placement, max(compute_s, placement.memory_floor_s)))
    compute_s = placement.compute_floor_s * (1 - PRUNED_SHARE)
    what = f"fewer operations (a structure smaller by {PRUNED_SHARE:.0%})"
    return Remedy(Rung.STRUCTURE, what, _gain(placement, max(compute_s, placement.memory_floor_s)))


def _fewer_bytes(placement: Placement, facts: ModelFacts, ceilings: Ceilings) -> Remedy:
    cache = min(placement.batch * placement.tokens * facts.kv_bytes_per_token, placement.bytes_moved)
    weights = placement.bytes_moved - cache
    bits = 8 * weights / max(1, facts.active_parameters)
    if cache > weights:
        moved = weights + cache // 2
        what = "a KV cache of half the bytes (8-bit keys and values, or fewer positions)"
        return Remedy(Rung.EIGHT_BIT, what, _gain_of_bytes(placement, moved, ceilings))
    if bits > HALF_WIDTH_BITS:
        rung, share, what = Rung.EIGHT_BIT, 8 / bits, f"8-bit weights instead of {bits:.0f}-bit ones"
    elif bits > QUARTER_WIDTH_BITS:
        rung, share, what = Rung.FOUR_BIT, 4 / bits, f"4-bit weights instead of {bits:.0f}-bit ones"
    else:
        rung, share = Rung.STRUCTURE, 1 - PRUNED_SHARE
        what = f"fewer weights (a structure smaller by {PRUNED_SHARE:.0%}), as they have about {bits:.0f} bits already"
    return Remedy(rung, what, _gain_of_bytes(placement, round(weights * share) + cache, ceilings))


def _gain_of_bytes(placement: Placement, moved: int, ceilings: Ceilings) -> float:
    """At the bandwidth of the smaller working set, which can be higher."""
    own = placement.bytes_moved / placement.memory_floor_s
    bandwidth = max(own, bandwidth_for(ceilings, moved) or own)
    return _gain(placement, max(moved / bandwidth, placement.compute_floor_s))


def _gain(placement: Placement, new_floor_s: float) -> float:
    rest_s = max(0.0, placement.measured_s - placement.floor_s)
    return max(1.0, max(placement.measured_s, placement.floor_s) / (rest_s + new_floor_s))


@dataclass(frozen=True)
class _Dearest:
    placement: Placement
    why: str


def _dearest(decode: Placement | None, prefill: Placement | None) -> _Dearest:
    """The phase that takes most of a request's time."""
    if decode is None or prefill is None:
        only = decode or prefill
        assert only is not None
        return _Dearest(only, f"Only {only.phase} could be placed")
    answer_s = ANSWER_TOKENS * decode.measured_s
    share = answer_s / (answer_s + prefill.measured_s)
    of = f"of a request of {prefill.tokens} prompt and {ANSWER_TOKENS} answer tokens"
    if share >= 1 / 2:
        return _Dearest(decode, f"Decode takes {share:.0%} of the time {of}")
    return _Dearest(prefill, f"Prefill takes {1 - share:.0%} of the time {of}")


def _advice(placement: Placement, remedy: Remedy) -> str:
    name = RUNG_NAMES[remedy.rung]
    return f"the {name} rung, {remedy.what}, can make {placement.phase} at most {remedy.at_most:.1f} times as fast"


def _subject(placement: Placement) -> str:
    if placement.phase == "prefill":
        return f"Prefill of {'' if placement.batch == 1 else f'{placement.batch} × '}{placement.tokens} tokens"
    return f"Decode at batch {placement.batch}"


def _where(placement: Placement, alone: Placement | None) -> str:
    """Where one phase stands. `alone`: decode at the smallest batch, where this is the largest."""
    measured, floor = _time(placement.measured_s), _time(placement.floor_s)
    explains = {
        Bound.MEMORY: f"reading {placement.bytes_moved / 1e6:.0f} MB takes at least {floor} of its {measured}",
        Bound.COMPUTE: f"{placement.operations / 1e9:.1f} GFLOP in {placement.compute_dtype or 'its data type'} take "
        f"at least {floor} of its {measured}",
        Bound.OVERHEAD: f"memory and arithmetic explain {floor} of its {measured}",
    }[placement.bound]
    still = "still " if alone is not None and alone.bound is placement.bound else ""
    hidden = ""
    if alone is not None and alone.bound is Bound.OVERHEAD and not still:
        hidden = ", so that the batch hides the overhead"
    return f"{_subject(placement)} is {still}{placement.bound.value}: {explains} ({placement.fraction:.0%}){hidden}."


def _framework(decode: Placement, operators: Sequence[OperatorTable]) -> list[str]:
    table = next((t for t in operators if t.phase == "decode" and t.wall_s > 0), None)
    if table is None or decode.bound is not Bound.OVERHEAD:
        return []
    share = table.framework_s / table.wall_s
    if share >= MUCH_FRAMEWORK:
        return [f"Under the profiler {share:.0%} of a decode step is outside any operator (Python, scheduling)."]
    if not table.rows:
        return []
    first = table.rows[0]
    most = f"{first.name} alone {first.share:.0%} of that"
    return [f"Under the profiler operators take {1 - share:.0%} of a decode step, {most}: its kernels are slow."]


def _nothing(ceilings: Ceilings) -> str:
    reasons = "; ".join(f"{what}: {why}" for what, why in ceilings.missing.items())
    return f"No phase could be placed on the roofline{f' ({reasons})' if reasons else ''}."


def _time(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"
