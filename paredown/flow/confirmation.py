"""Confirmations of a candidate: frozen before the first held-back answer, asked look by look, replayed from the record.

Each attempt is on prompts that this candidate has not answered in an earlier one. To pool old and new prompts would let
whoever adds them choose their number by what the old ones showed: a run then ships a candidate at the margin in up to
5.3 % of cases where the levels say 5.0 %, before any look (`benchmarks/bench_false_ship.py`). A gate that has
shipped in an attempt stays shipped, since the levels of all attempts together stay within the error budget.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from paredown.decide import lengths as length_gate
from paredown.decide import looks, order, reasons, slices
from paredown.decide.looks import Walk
from paredown.decide.pairs import members
from paredown.evaluate import lengths, scoring, twins
from paredown.evaluate.golden import GoldenSet
from paredown.evaluate.twins import Twinned
from paredown.flow import asked, quality, twinning
from paredown.flow.context import Prepared
from paredown.records import codec
from paredown.records.candidate import Candidate
from paredown.records.golden import Evaluation, GoldenItem
from paredown.records.verdict import Margin, SliceVerdict, Verdict
from paredown.stats import sequential
from paredown.store.run_store import RunStore

KIND = "confirmed"


@dataclass(frozen=True)
class Confirmed:
    """A confirmation as it was fixed before its first answer.

    alpha:     the level that it spends; next_alpha: that of a next one
    candidate: digest of what is served; baseline: key of the evaluation that it is compared with
    order:     digests of the prompts, in the order in which they are asked
    sizes:     how many of them are due by each look; one look = no early stop
    slices:    the gates and watched slices that it judges; gates that had shipped before are not among them
    """

    alpha: float
    next_alpha: float
    candidate: str
    baseline: str
    order: tuple[str, ...]
    sizes: tuple[int, ...]
    slices: tuple[str, ...]


@dataclass(frozen=True)
class Attempt:
    """A confirmation with the answers that the record holds; `walk.wanted` is what it still asks."""

    confirmed: Confirmed
    items: tuple[GoldenItem, ...]
    baseline: Evaluation
    candidate: Evaluation
    walk: Walk

    @property
    def answered(self) -> tuple[GoldenItem, ...]:
        scored = {score.item for score in self.candidate.scores}
        return tuple(item for item in self.items if item.id in scored)


@dataclass(frozen=True)
class Proposed:
    """A next attempt (without its levels yet), or why there is none."""

    items: tuple[GoldenItem, ...] = ()
    slices: tuple[str, ...] = ()
    why_not: str = ""


def key_of(candidate: Candidate, prepared: Prepared) -> str:
    """Names one confirmation: this candidate on these held-back prompts."""
    return quality.evaluation_key(candidate, "confirmation", prepared.confirmation, settings=prepared.scorers)


def attempts(store: RunStore, prepared: Prepared, candidate: Candidate) -> tuple[Attempt, ...]:
    """Every confirmation of this candidate, the oldest first, as far as its answers are stored."""
    found: dict[str, Confirmed] = {}
    for entry in store.entries(KIND):
        confirmed = codec.loads(Confirmed, store.body(entry))
        if confirmed.candidate == candidate.digest():
            found[entry.key] = confirmed
    if not found:
        return ()
    known = _items_by_digest(store, prepared)
    return tuple(_replay(store, prepared, candidate, confirmed, known) for confirmed in found.values())


def propose(history: Sequence[Attempt], prepared: Prepared, next_alpha: float, seed: int) -> Proposed:
    """The prompts of a next attempt and what it judges: all of it the first time, afterwards what is open yet."""
    answered = {quality.item_digest(item) for attempt in history for item in attempt.answered}
    fresh = [item for item in prepared.confirmation if quality.item_digest(item) not in answered]
    known = {row.slice: row for row in rows(history, prepared.margins)}
    if any(row.verdict is Verdict.REJECT for row in known.values() if row.gated):
        return Proposed(why_not="it was rejected on held-back prompts before, and more of them cannot undo that.")
    open_yet = [margin for margin in prepared.margins if not _is_settled(margin, known, history, fresh)]
    gates = [margin for margin in open_yet if margin.gated]
    strict = [item for item in fresh if item.zero_tolerance]
    if history and not gates and not strict:
        return Proposed(why_not="every gate has shipped before; no prompt is left to ask.")
    for margin in gates if history else ():
        least, there = reasons.zero_flip_prompts(margin.margin, next_alpha), len(members(margin, fresh))
        if there < least:
            return Proposed(
                why_not=f"the gate {margin.slice!r} has {reasons.prompts(there)} that it has not answered before, and "
                f"even without a single loss it takes {reasons.prompts(least)} at the next level of the error budget."
            )
    gated = {item.id for margin in prepared.margins if margin.gated for item in members(margin, fresh)}
    wanted = {item.id for margin in gates for item in members(margin, fresh)} | {item.id for item in strict}
    items = [item for item in fresh if item.id in wanted or item.id not in gated]
    return Proposed(order.frozen(items, seed), tuple(margin.slice for margin in open_yet))


def freeze(
    proposed: Proposed,
    prepared: Prepared,
    candidate: Candidate,
    levels: tuple[float, float],
    *,
    early: bool,
) -> Confirmed:
    """What goes into the record before the first answer. levels: alpha, and that of a next attempt."""
    base = quality.evaluation_key(prepared.baseline, "confirmation", prepared.confirmation, settings=prepared.scorers)
    count = len(proposed.items)
    return Confirmed(
        *levels,
        candidate.digest(),
        base,
        tuple(quality.item_digest(item) for item in proposed.items),
        sequential.look_sizes(count) if early and count else (count,),
        proposed.slices,
    )


def rows(history: Sequence[Attempt], margins: Sequence[Margin]) -> tuple[SliceVerdict, ...]:
    """The verdict on each margin by the last attempt that judged it; then on the zero-tolerance items of all of them.

    Only attempts that have ended count.
    """
    ended = [attempt for attempt in history if not attempt.walk.wanted]
    latest: dict[str, SliceVerdict] = {}
    for number, attempt in enumerate(ended):
        for row in attempt.walk.slices:
            before = latest.get(row.slice)
            if row.slice == slices.ZERO_TOLERANCE and before is not None and before.verdict is not Verdict.SHIP:
                continue
            told = f"{row.reason} (Confirmation {number + 1} of {len(ended)}.)" if len(ended) > 1 else row.reason
            latest[row.slice] = dataclasses.replace(row, reason=told)
    names = [*(margin.slice for margin in margins), slices.ZERO_TOLERANCE]
    return tuple(latest[name] for name in names if name in latest)


def _is_settled(
    margin: Margin, known: dict[str, SliceVerdict], history: Sequence[Attempt], fresh: Sequence[GoldenItem]
) -> bool:
    """Whether it has shipped on the same slices as the fresh prompts hold; what is watched is settled without any."""
    own = members(margin, fresh)
    if not history or margin.slice not in known:
        return False
    if not margin.gated:
        return not own
    before = {item.slice for attempt in history for item in attempt.items}
    return known[margin.slice].verdict is Verdict.SHIP and {item.slice for item in own} <= before


def _items_by_digest(store: RunStore, prepared: Prepared) -> dict[str, GoldenItem]:
    """Every prompt that the record holds, as written and as it was asked."""
    found: dict[str, GoldenItem] = {}
    for entry in store.entries("golden"):
        golden = codec.loads(GoldenSet, store.body(entry))
        twinned = store.find(twinning.KIND, golden.digest, Twinned)
        for items in (golden.items, twins.replaced(golden.items, twinned) if twinned else ()):
            found.update((quality.item_digest(item), item) for item in items)
    found.update((quality.item_digest(item), item) for item in prepared.confirmation)
    return found


def _replay(
    store: RunStore, prepared: Prepared, candidate: Candidate, confirmed: Confirmed, known: dict[str, GoldenItem]
) -> Attempt:
    """Ask the record, part by part, what the attempt asked."""
    items = tuple(known[digest] for digest in confirmed.order)
    baseline = store.get("evaluation", confirmed.baseline, Evaluation)
    limits = asked.spec_of(store).lengths

    def is_open(given: Evaluation) -> bool:
        found = length_gate.judge(lengths.compare(baseline, given, items), limits)
        return found.verdict is Verdict.INVESTIGATE

    margins = tuple(margin for margin in prepared.margins if margin.slice in confirmed.slices)
    what = looks.Asked(items, confirmed.sizes, margins, confirmed.alpha, confirmed.next_alpha)
    given = Evaluation(candidate.name, "confirmation", {}, (), (), 0, 0, 0.0)
    while True:
        walk = looks.walk(what, baseline, given, scoring.chance, is_open)
        if not walk.wanted:
            return Attempt(confirmed, items, baseline, given, walk)
        key = quality.evaluation_key(candidate, "confirmation", walk.wanted, settings=prepared.scorers)
        part = store.find("evaluation", key, Evaluation)
        if part is None:
            return Attempt(confirmed, items, baseline, given, walk)
        given = quality.joined(given, part)
