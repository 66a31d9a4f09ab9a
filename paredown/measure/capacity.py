"""The search for the largest load that keeps every target: doubling, then bisection, several runs a point.

Pure: whoever calls it runs the loads. What it decides, and why:

A run violates when a request failed or a target was missed. A load is *held* when each of its runs met everything
and *missed* when none did; a load whose runs disagree lies between, and its remaining runs are not made, because they
could not change that. Runs that agree are all made, on either side: two missed ones of three would set the upper end
on less than the lower one rests on.

The loads at the two ends are run as often again before they are believed: a search picks among the loads it tried, and
so it picks those whose few runs happened to agree. Without that the true capacity of a simulated queue lay outside in
up to 9 % of searches, with it in less than 1 %.

The capacity lies between the largest load up to which every tried load was held, and the smallest from which on every
tried load was missed. Both ends are approached until no load between an end and its neighbour is farther than the
precision, so that loads that disagree, or outcomes that are not monotone, widen the interval and are not argued away.

A run that is void (the client was late) is made once more. When it is void again, the load cannot be offered from
here, and the search stays below it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from paredown.errors import UserError
from paredown.records.figure import Figure
from paredown.records.measurement import Capacity, CapacityPoint

UNITS: Mapping[str, str] = MappingProxyType({"request_rate": "req/s", "concurrency": "requests in flight"})
HALVINGS = 6
"""Below `first` the search gives up at a 64th of it, or at one request in flight."""


@dataclass(frozen=True)
class RunOutcome:
    """One run at one load.

    missed: what was violated first and by what (`ttft_p95 was 412 ms, 200 ms asked`); empty = every target was met
    void:   why the run does not count, although nothing can be said against the server; else empty
    """

    figures: tuple[Figure, ...]
    missed: str = ""
    void: str = ""


RunAt = Callable[[float, int], RunOutcome]
"""Called with the load and the number of the run at it, from 0 on (a run that was void is made again as a new one)."""


def search(
    run_at: RunAt,
    *,
    axis: str,
    first: float,
    largest: float,
    runs: int = 3,
    precision: float = 0.1,
    targets: Sequence[str],
    on_point: Callable[[CapacityPoint], None] | None = None,
) -> Capacity:
    """The interval in which the capacity lies, with every load that was tried.

    axis:      `request_rate` (requests/s) or `concurrency` (whole numbers)
    first:     the load to begin at; it is halved when it is not held; largest: where doubling ends
    precision: relative distance at which a neighbour of an end is near enough
    targets:   as the user wrote them; they are `run_at`'s to judge
    Raises UserError for loads that cannot be searched, and whatever `run_at` raises.
    """
    _check(axis, first, largest, runs, precision)
    found = _Search(run_at, axis, float(first), float(largest), runs, precision, on_point)
    while (load := found.next_load()) is not None:
        found.try_load(load)
    return _capacity(found, targets)


def _check(axis: str, first: float, largest: float, runs: int, precision: float) -> None:
    if axis not in UNITS:
        raise UserError(f"There is no capacity along {axis!r}. Write request_rate or concurrency.")
    if not 0.0 < first <= largest:
        raise UserError(f"A search from {first:g} to {largest:g} has no load to try. Give 0 < first ≤ largest.")
    if axis == "concurrency" and (first != int(first) or largest != int(largest)):
        raise UserError(f"A concurrency is a whole number; found {first:g} to {largest:g}.")
    if runs < 1 or not 0.0 < precision < 1.0:
        raise UserError(f"A search takes at least 1 run and a precision between 0 and 1; found {runs}, {precision:g}.")


@dataclass
class _Search:
    """The loads that were tried. `unoffered` is the smallest at which no run counted."""

    run_at: RunAt
    axis: str
    first: float
    largest: float
    runs: int
    precision: float
    on_point: Callable[[CapacityPoint], None] | None

    def __post_init__(self) -> None:
        self.points: dict[float, CapacityPoint] = {}
        self.unoffered: float | None = None
        self.why_unoffered = ""
        self._outcomes: dict[float, list[RunOutcome]] = {}
        self._void: dict[float, list[RunOutcome]] = {}
        self._tried_again: set[float] = set()

    def next_load(self) -> float | None:
        """Upwards while the top is not missed, downwards while the bottom is not held, halfway between an end and a
        neighbour that is too far, and at last each end once more; None = done.
        """
        if not self.points:
            return self.first
        for load in (self._above(), self._below(), self._between()):
            if load is not None:
                return load
        ends = [load for load in (self.low(), self.high()) if load is not None and load not in self._tried_again]
        self._tried_again.update(ends[:1])
        return ends[0] if ends else None

    def _above(self) -> float | None:
        top = max(self.points)
        if self.high() is not None or self.unoffered is not None or top >= self.largest:
            return None
        return min(2.0 * top, self.largest)

    def _below(self) -> float | None:
        bottom = min(self.points)
        floor = 1.0 if self.axis == "concurrency" else self.first / 2.0**HALVINGS
        if self.low() is not None or bottom <= floor:
            return None
        return max(floor, float(int(bottom / 2.0)) if self.axis == "concurrency" else bottom / 2.0)

    def try_load(self, load: float) -> CapacityPoint:
        """Up to `runs` runs, added to those that were made before at this load; ends when they disagree."""
        outcomes, void = self._outcomes.setdefault(load, []), self._void.setdefault(load, [])
        wanted, void_before = len(outcomes) + self.runs, len(void)
        while len(outcomes) < wanted and len(void) < void_before + 2:
            outcome = self.run_at(load, len(outcomes) + len(void))
            (void if outcome.void else outcomes).append(outcome)
            if len({bool(one.missed) for one in outcomes}) == 2:
                break
        if len(void) >= void_before + 2 and (self.unoffered is None or load < self.unoffered):
            self.unoffered, self.why_unoffered = load, void[-1].void
        point = CapacityPoint(
            load=load,
            runs=len(outcomes),
            met=sum(not one.missed for one in outcomes),
            void=len(void),
            missed=next((one.missed for one in outcomes if one.missed), ""),
            figures=_over_runs(outcomes or void),
        )
        self.points[load] = point
        if self.on_point is not None:
            self.on_point(point)
        return point

    def offered(self) -> list[CapacityPoint]:
        """Tried loads below the one that cannot be offered, ascending."""
        end = self.unoffered
        return [self.points[load] for load in sorted(self.points) if end is None or load < end]

    def low(self) -> float | None:
        """The largest load up to which every tried one was held."""
        held = None
        for point in self.offered():
            if not _is_held(point):
                break
            held = point.load
        return held

    def high(self) -> float | None:
        """The smallest load from which on every tried one was missed."""
        missed = None
        for point in reversed(self.offered()):
            if not _is_missed(point):
                break
            missed = point.load
        return missed

    def _between(self) -> float | None:
        loads = sorted(self.points) if self.unoffered is None else [*(p.load for p in self.offered()), self.unoffered]
        low, high = self.low(), self.high()
        gaps = []
        if low is not None and low != loads[-1]:
            gaps.append((low, loads[loads.index(low) + 1]))
        if high is not None and high != loads[0]:
            gaps.append((loads[loads.index(high) - 1], high))
        return next((load for gap in gaps if (load := self._halfway(*gap)) is not None), None)

    def _halfway(self, below: float, above: float) -> float | None:
        if above - below <= self.precision * above * (1.0 + 1e-9):
            return None
        middle = (below + above) / 2.0
        middle = float(int(middle)) if self.axis == "concurrency" else float(f"{middle:.3g}")
        return middle if below < middle < above else None


def _is_held(point: CapacityPoint) -> bool:
    return 0 < point.met == point.runs


def _is_missed(point: CapacityPoint) -> bool:
    return point.runs > 0 and point.met == 0


def _over_runs(outcomes: Sequence[RunOutcome]) -> tuple[Figure, ...]:
    """Each figure's median over runs, with their range in the note; where no run has it, the first one's reason."""
    if len(outcomes) < 2:
        return outcomes[0].figures if outcomes else ()
    made = []
    for figure in outcomes[0].figures:
        same = [other for one in outcomes for other in one.figures if other.name == figure.name]
        values = [other.value for other in same if other.value is not None]
        if not values:
            made.append(figure)
            continue
        note = f"median of {len(values)} runs, from {min(values):.4g} to {max(values):.4g}"
        typical = replace(figure, value=statistics.median(values), count=len(values), low=None, high=None, missing="")
        made.append(replace(typical, note="; ".join(filter(None, (note, figure.note)))))
    return tuple(made)


def _capacity(found: _Search, targets: Sequence[str]) -> Capacity:
    low, high = found.low(), found.high()
    note = ""
    if found.unoffered is not None:
        why = found.why_unoffered.rstrip(".")
        note = f"No run at {_load(found.axis, found.unoffered)} counts, so larger loads were not tried: {why}."
    elif high is None and low == found.largest:
        note = f"Larger loads than {_load(found.axis, found.largest)} were not asked for."
    elif high is None:
        note = "No load was missed in every run."
    elif low is None:
        note = f"No load from {_load(found.axis, min(found.points))} on was held in every run."
    points = tuple(found.points[load] for load in sorted(found.points))
    sentence = _sentence(found, low, high)
    return Capacity(found.axis, UNITS[found.axis], low, high, tuple(targets), points, sentence, note)


def _sentence(found: _Search, low: float | None, high: float | None) -> str:
    axis = found.axis
    if low is None:
        smallest = found.points[min(found.points)]
        if smallest.runs == 0:
            why = found.why_unoffered.rstrip(".")
            return f"No capacity was found: not even a run at {_load(axis, smallest.load)} counts ({why})."
        return f"Does not hold even {_load(axis, smallest.load)} with every target met: {smallest.missed}."
    if high is None:
        text = f"Holds at least {_load(axis, low)} with every target met"
        above = next((point for point in found.offered() if point.load > low), None)
        return f"{text}; at {above.load:g} runs disagreed ({above.missed})." if above else f"{text}."
    between = f" (between {low:g} and {high:g})" if axis == "request_rate" or high - low > 1 else ""
    return f"Holds {_load(axis, low)}{between} with every target met; at {high:g} {found.points[high].missed}."


def _load(axis: str, load: float) -> str:
    if axis == "request_rate":
        return f"{load:g} requests/s"
    return f"{load:g} request{'' if load == 1 else 's'} in flight"
