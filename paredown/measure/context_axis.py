"""Latency and speed against the length of the prompt, up to a context that is nearly full.

One warm process, one request at a time, every prompt new. Lengths go up and then down again, so that a machine that
grows hot does not look like a long prompt; what would take longer than the budget is left out, and said to be.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from paredown import registry
from paredown.errors import EngineError, EngineOutOfMemory, UserError
from paredown.measure import curve_points, server_metrics, void
from paredown.measure.curve_points import OnPoint
from paredown.measure.load import SendSettings, drive, raise_if_all_failed
from paredown.measure.running import Running, Start
from paredown.records.events import RequestEvents
from paredown.records.measurement import Curve, CurvePoint
from paredown.records.timing import failures, succeeded
from paredown.records.traffic import TrafficRequest
from paredown.traffic import synthetic
from paredown.traffic.tokens import Tokens

FIRST_LENGTH, FACTOR = 128, 4
LONGEST_WITHOUT_WINDOW = 8192
"""Where neither tokenizer nor server tells the window, longer prompts would be a guess."""

WARM_UPS = 2
STEEPEST = 2.0
"""Time grows with the length at most as attention does: by its square."""


@dataclass(frozen=True)
class ContextSettings:
    """lengths: prompt tokens; empty = 128, 512, 2,048 … and the window less the answer
    output_tokens: of every answer; repeats: prompts of each length
    budget_s: lengths that would take longer than this, together, are left out
    seed: of the prompts; None = new ones every time, which no server can know
    """

    lengths: tuple[int, ...] = ()
    output_tokens: int = 32
    repeats: int = 3
    budget_s: float = 900.0
    request_timeout_s: float = 300.0
    seed: int | None = None


def run(
    start: Start,
    tokens: Tokens,
    settings: ContextSettings | None = None,
    on_point: OnPoint | None = None,
    *,
    now_ns: Callable[[], int] = time.monotonic_ns,
) -> Curve:
    """The curve `context_length`. An engine that dies of a length is an outcome of that length, and is started again
    for the shorter ones. Raises EngineError when it does not start or answers not even the shortest prompt, UserError
    for lengths that do not fit.
    """
    axis = _Axis(tokens, settings or ContextSettings(), on_point or (lambda _done, _doing: None), now_ns)
    while axis.turns is None or axis.turns:
        try:
            with start() as running:
                axis.go_on(running)
        except EngineError as error:
            axis.engine_failed(error)
    return axis.curve()


def lengths_up_to(window: int | None, output_tokens: int, shortest: int) -> tuple[int, ...]:
    """128, 512, 2,048 … and, where the window is known, the longest prompt that leaves room for the answer."""
    longest = LONGEST_WITHOUT_WINDOW if window is None else window - output_tokens
    found = []
    length = FIRST_LENGTH
    while length < longest:
        found.append(length)
        length *= FACTOR
    # Two lengths that are nearly the same would only cost time.
    if window is not None and found and longest < 1.2 * found[-1]:
        found.pop()
    return tuple(length for length in (*found, longest) if length >= shortest)


@dataclass
class _Place:
    """What was found at one length."""

    events: list[RequestEvents] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    died: str = ""


class _Axis:
    """turns: lengths still to be sent, in order; None = not known before the first process is ready."""

    def __init__(self, tokens: Tokens, settings: ContextSettings, on_point: OnPoint, now_ns: Callable[[], int]) -> None:
        self._tokens, self._settings, self._on_point, self._now_ns = tokens, settings, on_point, now_ns
        self._single = registry.load_shape("single_stream")
        self._places: dict[int, _Place] = {}
        self._prompts: dict[int, list[TrafficRequest]] = {}
        self._notes: list[str] = []
        self._sending = SendSettings(ignore_eos=True, timeout_s=settings.request_timeout_s)
        self._seed = curve_points.seed_of(settings.seed)
        self._forced = True
        self._window: int | None = None
        self._began_ns: int | None = None
        self._planned = self._done = 0
        self._current: int | None = None
        self.turns: list[int] | None = None

    def go_on(self, running: Running) -> None:
        """Send what is left to be sent."""
        if self.turns is None:
            self.turns = self._plan(running)
        self._warm_up(running)
        if self._began_ns is None:
            self._began_ns = self._now_ns()
        while self.turns:
            length = self.turns[0]
            if not self._fits_budget(length):
                continue
            self._current = length
            self._on_point(self._done / self._planned, f"prompt of {length:,} tokens")
            self._send(running, length)
            self._current = None
            self.turns.pop(0)
            self._done += 1

    def engine_failed(self, error: EngineError) -> None:
        """Give up this length and all longer ones. Raises the error when no length was to blame."""
        length = self._current
        if length is None or not self.turns or length == min(self._places):
            raise error
        self._current = None
        kind = "ran out of memory" if isinstance(error, EngineOutOfMemory) else "failed"
        self._places[length].died = f"the engine {kind}: {error}"
        self._leave_out(length, f"the engine {kind} with a prompt of {length:,} tokens")

    def curve(self) -> Curve:
        settings = self._settings
        points = [self._point(length, self._places[length]) for length in sorted(self._places)]
        counts = sorted({len(place.events) for place in self._places.values() if not place.died})
        repeats = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0] if counts else settings.repeats)
        how = f"answers of {settings.output_tokens} tokens, one at a time, {repeats} prompts of each length, all new"
        return Curve("context_length", "prompt length", "tokens", tuple(points), (how, *self._notes))

    def _plan(self, running: Running) -> list[int]:
        """Up, down, up … through the lengths."""
        settings = self._settings
        self._forced = running.dialect.ignore_eos
        if not self._forced:
            self._notes.append("this server cannot be made to give answers of equal length")
        known = [size for size in (self._tokens.context_length, server_metrics.context_window(running)) if size]
        self._window = min(known, default=None)
        shortest = synthetic.shortest(self._tokens)
        lengths = tuple(sorted(set(settings.lengths)))
        if not lengths:
            lengths = lengths_up_to(self._window, settings.output_tokens, shortest)
            if self._window is None:
                self._notes.append(
                    f"neither the tokenizer nor the server says how long the context may be: measured up to "
                    f"{LONGEST_WITHOUT_WINDOW:,} tokens"
                )
        self._check(lengths, shortest)
        self._places = {length: _Place() for length in lengths}
        turns = [
            length
            for number in range(settings.repeats)
            for length in (lengths if number % 2 == 0 else reversed(lengths))
        ]
        self._planned = len(turns)
        return turns

    def _check(self, lengths: tuple[int, ...], shortest: int) -> None:
        room = None if self._window is None else self._window - self._settings.output_tokens
        wrong = [length for length in lengths if length < shortest or (room is not None and length > room)]
        if wrong or not lengths:
            asked = f"A prompt of {wrong[0]:,} tokens" if wrong else "A prompt length"
            upper = "" if room is None else f" and at most {room:,} (a context of {self._window:,} less the answer)"
            raise UserError(f"{asked} cannot be measured here. Ask for at least {shortest:,} tokens{upper}.")

    def _warm_up(self, running: Running) -> None:
        shortest, seed = min(self._places), self._seed_for(-1)
        made = synthetic.make(
            self._tokens, [shortest] * WARM_UPS, output_tokens=self._settings.output_tokens, seed=seed, name="warm-up"
        )
        raise_if_all_failed(self._drive(running, made), "warming up")

    def _send(self, running: Running, length: int) -> None:
        place = self._places[length]
        if length not in self._prompts:
            self._prompts[length] = list(
                synthetic.make(
                    self._tokens,
                    [length] * self._settings.repeats,
                    output_tokens=self._settings.output_tokens,
                    seed=self._seed_for(length),
                    name=f"context-{length}",
                )
            )
        request = self._prompts[length].pop(0)
        began_ns = self._now_ns()
        place.events += self._drive(running, [request])
        place.seconds.append((self._now_ns() - began_ns) / 1e9)
        if place.events[-1].failure == "timeout":
            self._leave_out(
                length, f"a prompt of {length:,} tokens took longer than {self._settings.request_timeout_s:g} s"
            )

    def _drive(
        self, running: Running, requests: list[TrafficRequest] | tuple[TrafficRequest, ...]
    ) -> tuple[RequestEvents, ...]:
        return drive(running, self._single, {}, requests, self._sending)

    def _seed_for(self, length: int) -> int:
        """Another one for each length: equal seeds would give prompts that begin alike."""
        return (self._seed << 32) + length + 1

    def _fits_budget(self, length: int) -> bool:
        """Whether there is time for it; if not, it and the longer ones (or the rest of the repeats) are left out."""
        assert self.turns is not None
        assert self._began_ns is not None
        elapsed_s = (self._now_ns() - self._began_ns) / 1e9
        budget_s = self._settings.budget_s
        measured = {at: place.seconds for at, place in self._places.items() if place.seconds}
        if length in measured:
            if elapsed_s + max(measured[length]) <= budget_s:
                return True
            self._notes.append(f"the time budget of {budget_s:g} s ended before every length had all its repeats")
            self.turns.clear()
            return False
        expected_s = expected_seconds({at: max(seconds) for at, seconds in measured.items()}, length)
        if expected_s is None:
            return True
        still_to_come_s = sum((self._settings.repeats - len(s)) * max(s) for s in measured.values())
        if elapsed_s + still_to_come_s + self._settings.repeats * expected_s <= budget_s:
            return True
        self._leave_out(
            length,
            f"a prompt of {length:,} tokens would take about {expected_s:.0f} s, and {self._settings.repeats} of them "
            f"more than the time budget of {budget_s:g} s",
        )
        return False

    def _leave_out(self, length: int, why: str) -> None:
        """Send this length no more, and no longer one at all."""
        assert self.turns is not None
        current = self._current
        self.turns[:] = [turn for turn in self.turns if turn < length]
        if current is not None:
            self.turns.insert(0, current)  # it is taken off when it has ended
        unsent = [at for at in sorted(self._places) if at >= length and not self._places[at].events]
        if why:
            also = [at for at in unsent if at > length]
            more = f"; {', '.join(f'{at:,}' for at in also)} left out with it" if also else ""
            self._notes.append(f"{why}{more}")
        for at in unsent:
            if not self._places[at].died:
                del self._places[at]

    def _point(self, length: int, place: _Place) -> CurvePoint:
        trial = curve_points.trial_of(place.events, concurrency=1)
        outcome = [place.died, curve_points.failure_sentence(trial, len(place.events))]
        if self._window is not None and length + self._settings.output_tokens == self._window:
            outcome.append(f"prompt and answer fill the context of {self._window:,} tokens")
        outcome.append(_counted_otherwise(place.events, length))
        counts = dict(failures(trial))
        if place.died:
            counts["engine_failed"] = 1
        return CurvePoint(
            length,
            f"{length:,}",
            curve_points.latency_figures(trial),
            counts,
            void.reason([place.events], forced_lengths=self._forced) if place.events else "",
            "; ".join(filter(None, outcome)),
        )


def expected_seconds(measured: dict[int, float], length: int) -> float | None:
    """Seconds of a request with a prompt of that length, from those of shorter ones; None before there is one.

    The growth between the two longest ones goes on, at least in proportion and at most by the square.
    """
    if not measured:
        return None
    *_, last = sorted(measured)
    slope = 1.0
    if len(measured) > 1:
        before = sorted(measured)[-2]
        if measured[before] > 0 and measured[last] > 0:
            slope = math.log(measured[last] / measured[before]) / math.log(last / before)
    growth: float = (length / last) ** min(max(slope, 1.0), STEEPEST)
    return measured[last] * growth


def _counted_otherwise(events: list[RequestEvents], length: int) -> str:
    """Whether the server counts other prompt lengths than were asked for."""
    counted = sorted({r.prompt_tokens for r in succeeded(events) if r.prompt_tokens is not None} - {length})
    return f"the server counts {counted[0]:,} prompt tokens" if counted else ""
