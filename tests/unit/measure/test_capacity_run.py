"""Loads of a capacity search: what is sent, how a run is judged, what happens when the engine fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from paredown import registry
from paredown.contracts import Evidence, LoadShape
from paredown.errors import EngineDied, EngineError, UserError
from paredown.measure import capacity_run
from paredown.measure.capacity_run import CapacitySettings, check, find, missed
from paredown.measure.load import SendSettings
from paredown.measure.running import Running
from paredown.records.dialect import Dialect
from paredown.records.events import ChunkEvent, RequestEvents, StartUp
from paredown.records.figure import Options
from paredown.records.measurement import Capacity
from paredown.records.traffic import Message, Traffic, TrafficRequest
from paredown.records.verdict import Target
from paredown.spec import targets
from paredown.testing.fake_language import FakeScript, Speeds
from paredown.testing.scripted_events import block, request, trial
from tests.unit.measure.test_trial_on_a_host import starter

METRICS = {metric.name: metric for metric in registry.metrics()}
CHAT = Traffic(
    "chat", "", "single_stream", tuple(TrafficRequest(f"r{i}", (Message("user", f"Hello {i}"),), 2) for i in range(30))
)
QUICK = CapacitySettings(seconds=4.0, largest=64.0, least_requests=10)


def asked(*texts: str) -> tuple[Target, ...]:
    return targets.parse_all(texts, METRICS)


@dataclass
class Simulated:
    """A server with one line and a fixed service time in place of a process; time passes in the events only.

    goes_wrong: may change the events of a run or raise, by the number of the measured run
    """

    service_s: float = 0.1
    startup: StartUp | None = field(default_factory=lambda: StartUp(None, 1))
    late_s: Callable[[float], float] = lambda rate: 0.0
    goes_wrong: Callable[[int, tuple[RequestEvents, ...]], tuple[RequestEvents, ...]] = lambda run, events: events
    starts: int = 0
    runs: list[tuple[str, Options, tuple[TrafficRequest, ...]]] = field(default_factory=list)

    def start(self) -> nullcontext[Running]:
        self.starts += 1
        return nullcontext(
            cast("Running", SimpleNamespace(startup=self.startup, dialect=Dialect(), number=self.starts))
        )

    def drive(
        self,
        running: Running,
        shape: LoadShape,
        options: Options,
        requests: Sequence[TrafficRequest],
        how: SendSettings,
    ) -> tuple[RequestEvents, ...]:
        if requests[0].id.startswith("warm-up"):
            return self._served([0.0] * len(requests), requests, 0.0)
        self.runs.append((shape.name, options, tuple(requests)))
        if shape.due is not None:
            rate = options["rate"]
            assert isinstance(rate, float)
            events = self._served(shape.due(requests, options), requests, self.late_s(rate))
        else:
            in_flight = cast("int", options["concurrency"])
            # Each user sends when the request that was `in_flight` before is done: one line serves them in turn.
            due = [max(0.0, (index - in_flight + 1) * self.service_s) for index in range(len(requests))]
            events = self._served(due, requests, 0.0)
        return self.goes_wrong(len(self.runs), events)

    def _served(
        self, due_s: Sequence[float], requests: Sequence[TrafficRequest], late_s: float
    ) -> tuple[RequestEvents, ...]:
        free, made = 0.0, []
        for due, one in zip(due_s, requests, strict=True):
            free = max(due + late_s, free) + self.service_s
            stamps = [round((free - 0.01) * 1e9), round(free * 1e9)]
            made.append(
                RequestEvents(
                    one.id,
                    round(due * 1e9),
                    round((due + late_s) * 1e9),
                    tuple(ChunkEvent(stamp, (1,)) for stamp in stamps),
                    stamps[-1],
                    5,
                    2,
                    2,
                    "length",
                )
            )
        return tuple(made)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Capacity]:
    def run(server: Simulated, *texts: str, axis: str = "concurrency", **more: float | bool) -> Capacity:
        monkeypatch.setattr(capacity_run, "drive", server.drive)
        found = replace(QUICK, **more)  # type: ignore[arg-type]
        return find(server.start, CHAT, asked(*texts or ("e2e_p95<=450ms",)), axis=axis, settings=found)

    return run


def test_the_concurrency_of_one_line_is_the_limit_over_the_service_time(measured: Callable[..., Capacity]) -> None:
    # With c in flight each request waits for the c − 1 before it: c · 100 ms.
    result = measured(Simulated())

    assert (result.low, result.high) == (4, 5)
    assert result.sentence == (
        "Holds 4 requests in flight with every target met; at 5 e2e_p95 was 500 ms, 450 ms asked."
    )


def test_the_request_rate_of_one_line_lies_below_its_service_rate(measured: Callable[..., Capacity]) -> None:
    result = measured(Simulated(), axis="request_rate", seconds=60.0)

    assert result.low is not None
    assert result.high is not None
    # M/D/1 at 450 ms: four and a half services; far below 10/s and far above one request at a time.
    assert 4.0 < result.low < result.high < 10.0


def test_runs_of_one_rate_have_other_arrivals_and_every_request_another_prompt(
    measured: Callable[..., Capacity],
) -> None:
    server = Simulated()
    measured(server, axis="request_rate")
    sent = [one.messages for _, _, requests in server.runs for one in requests]

    assert len({options["seed"] for _, options, _ in server.runs}) == len(server.runs)
    assert len(set(sent)) == len(sent)
    assert {shape for shape, _, _ in server.runs} == {"poisson"}


def test_a_traffic_that_is_used_up_is_sent_again_with_a_mark_and_that_is_said(
    measured: Callable[..., Capacity],
) -> None:
    result = measured(Simulated())

    assert "with a mark in front, so that no prefix cache held them" in result.note


def test_somebody_elses_server_may_have_seen_the_prompts_so_all_are_marked(measured: Callable[..., Capacity]) -> None:
    server = Simulated(startup=None)
    result = measured(server)

    assert server.runs[0][2][0].messages[0].content.endswith(") Hello 0")
    assert "may have seen it before" in result.note


def test_a_run_has_as_many_requests_as_its_seconds_take(measured: Callable[..., Capacity]) -> None:
    server = Simulated()
    measured(server, axis="request_rate", seconds=30.0)
    counts = {options["rate"]: len(requests) for _, options, requests in server.runs}

    assert (counts[1.0], counts[2.0], counts[4.0]) == (30, 60, 120)


def test_one_process_serves_the_whole_search_and_a_fresh_one_every_run(measured: Callable[..., Capacity]) -> None:
    warm, fresh = Simulated(), Simulated()
    measured(warm)
    measured(fresh, fresh=True)

    assert warm.starts == 1
    assert fresh.starts == len(fresh.runs)


def test_one_failed_request_is_a_violation(measured: Callable[..., Capacity]) -> None:
    def fails_from_four_on(run: int, events: tuple[RequestEvents, ...]) -> tuple[RequestEvents, ...]:
        broken = replace(events[-1], failure="status_429", chunks=(), finished_ns=None)
        return (*events[:-1], broken) if peak(events) >= 4 else events

    result = measured(Simulated(goes_wrong=fails_from_four_on), "e2e_p95<=9s")

    assert (result.low, result.high) == (3, 4)
    assert "at 4 requests failed, 1 of" in result.sentence
    assert "(1 status_429)" in result.sentence


def peak(events: Sequence[RequestEvents]) -> int:
    return max(sum(a.sent_ns <= b.sent_ns < a.chunks[-1].arrived_ns for a in events) for b in events)


def test_an_engine_that_dies_under_a_load_has_missed_it_and_is_started_again(measured: Callable[..., Capacity]) -> None:
    def dies_from_three_on(run: int, events: tuple[RequestEvents, ...]) -> tuple[RequestEvents, ...]:
        if peak(events) >= 3:
            raise EngineDied("fake ended with status 9.")
        return events

    server = Simulated(goes_wrong=dies_from_three_on)
    result = measured(server, "e2e_p95<=9s")

    assert (result.low, result.high) == (2, 3)
    assert "the engine failed: fake ended with status 9." in result.sentence
    assert server.starts > 1


def test_an_engine_that_answers_nothing_at_all_is_an_error(measured: Callable[..., Capacity]) -> None:
    class Dead(Simulated):
        def _served(
            self, due_s: Sequence[float], requests: Sequence[TrafficRequest], late_s: float
        ) -> tuple[RequestEvents, ...]:
            events = super()._served(due_s, requests, late_s)
            return tuple(replace(one, failure="status_500", chunks=()) for one in events)

    with pytest.raises(EngineError, match="answered no request while warming up"):
        measured(Dead())


def test_a_client_that_is_late_does_not_blame_the_server(measured: Callable[..., Capacity]) -> None:
    late = Simulated(service_s=0.001, late_s=lambda rate: 0.2 if rate > 10.0 else 0.0)
    result = measured(late, axis="request_rate")

    assert result.low is not None
    assert 8.0 <= result.low <= 10.0
    assert result.high is None
    assert "sent late" in result.note


def test_a_server_that_does_not_obey_lengths_is_no_reason_to_refuse_the_target(
    measured: Callable[..., Capacity],
) -> None:
    def too_long(run: int, events: tuple[RequestEvents, ...]) -> tuple[RequestEvents, ...]:
        return tuple(replace(one, output_tokens=3) for one in events)

    result = measured(Simulated(goes_wrong=too_long), "e2e_50<=9s")

    assert "did not have the forced length" in result.sentence


def test_a_target_that_is_just_met_is_met() -> None:
    assert missed(Evidence(trial(block(request([100, 200])))), asked("ttft_p50<=100ms")) == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("quality_drop<=2pt", "about answers"),
        ("ttft_p95<=50%", "relative to a baseline"),
        ("output_throughput>=100tok/s", "none that a growing load breaks"),
        ("peak_memory<=6GiB", "none that a growing load breaks"),
    ],
)
def test_a_target_by_which_no_load_can_be_judged_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check(asked(text))


def test_no_target_is_no_capacity() -> None:
    with pytest.raises(UserError, match="Give one"):
        check(())


def test_a_warm_cache_is_refused_because_prompts_are_always_new() -> None:
    with pytest.raises(UserError, match="warm prefix cache"):
        find(Simulated().start, replace(CHAT, cache="warm"), asked("ttft<=1s"), axis="concurrency")


def test_the_first_target_that_is_missed_is_named_with_what_was_asked() -> None:
    evidence = Evidence(trial(block(*(request([100 + i, 1200 + i]) for i in range(20)))))

    assert missed(evidence, asked("ttft_p95<=200ms", "e2e_p50<=1.5s")) == ""
    assert missed(evidence, asked("ttft_p95<=200ms", "e2e_p50<=1s")) == "e2e_p50 was 1.21 s, 1 s asked"
    assert missed(evidence, asked("ttft_p99<=110ms")) == "ttft_p99 was 119 ms, 110 ms asked"
    assert missed(evidence, asked("decode_speed>=2tok/s")) == "decode_speed was 0.909 tok/s, 2 tok/s asked"


def test_the_share_of_good_requests_can_be_a_target_beside_its_limits() -> None:
    limits = {"ttft": 0.105}
    evidence = Evidence(trial(block(*(request([100 + i, 200 + i]) for i in range(10)))), limits=limits)

    assert missed(evidence, asked("good_fraction>=90%")) == "good_fraction was 60 %, 90 % asked"
    assert missed(evidence, asked("good_fraction>=60%")) == ""


def test_a_target_about_which_no_answer_says_anything_is_refused() -> None:
    with pytest.raises(UserError, match="'e2e_50<=1s' cannot be judged under this traffic: no answer has exactly 50"):
        missed(Evidence(trial(block(request([1, 2])))), asked("e2e_50<=1s"))


@pytest.mark.slow
def test_a_real_host_that_computes_one_after_another_is_found_to_hold_few(tmp_path: Path) -> None:
    # A step takes 5 ms and 15 ms more for each further request, so that 4 tokens take 20 ms + 60 ms (c − 1). The wide
    # limit on TTFT lets the client be late on a busy machine.
    speeds = Speeds(decode_ns_per_step=5_000_000, decode_ns_per_further_request=15_000_000)
    few = replace(CHAT, requests=tuple(replace(one, output_tokens=4) for one in CHAT.requests))
    found = find(
        starter(tmp_path, FakeScript(speeds=speeds)),
        few,
        asked("e2e_p50<=110ms", "ttft_p50<=10s"),
        axis="concurrency",
        settings=CapacitySettings(seconds=0.1, largest=4.0, runs=1, precision=0.5, least_requests=4),
    )

    assert found.low is not None
    assert 1 <= found.low <= 3
    assert found.points[0].figures
