"""Which statistics are given, and what is said beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import Evidence
from paredown.decide import wording
from paredown.measure import figures
from paredown.records.artifact import Artifact
from paredown.records.events import Trial
from paredown.records.figure import Figure, Samples
from paredown.report import units
from paredown.stats.figures import quantile
from paredown.testing.scripted_events import block, request, trial


def compute(measured: Trial, *names: str) -> dict[str, Figure]:
    found = figures.compute(Evidence(measured), [registry.metric(name) for name in names])
    return {figure.name: figure for figure in found}


def stream(count: int, blocks: int = 1, concurrency: int = 1) -> Trial:
    made = [block(*(request([i + 1, i + 2.0], due_ms=0) for i in range(count)), index=b) for b in range(blocks)]
    return trial(*made, concurrency=concurrency)


def test_p95_of_a_single_stream_is_bounded_from_59_requests_on() -> None:
    assert compute(stream(58), "ttft")["ttft_p95"].high is None
    assert compute(stream(59), "ttft")["ttft_p95"].high is not None


def test_p99_is_given_from_299_requests_on() -> None:
    assert "ttft_p99" not in compute(stream(298), "ttft")
    assert compute(stream(299), "ttft")["ttft_p99"].high is not None


@pytest.mark.parametrize(("name", "q", "enough"), [("p95", 0.95, 59), ("p99", 0.99, 299)])
def test_a_limit_that_the_samples_do_not_carry_is_printed_unbounded(name: str, q: float, enough: int) -> None:
    for count, unbounded in ((enough - 1, True), (enough, False)):
        samples = Samples("ttft", "s", tuple(1.0 + i / count for i in range(count)), tuple(range(count)))
        figure = quantile(samples, q, name, clustered=False)

        assert (figure.high is None) is unbounded
        assert ("∞)" in units.spread_text(figure)) is unbounded
        assert ("∞)" in wording.interval(figure)) is unbounded


def test_requests_that_queued_are_counted_by_block() -> None:
    queued = compute(stream(60, blocks=3, concurrency=4), "ttft")["ttft_p95"]

    assert (queued.count, queued.low, queued.high) == (3, None, None)
    assert "180 samples in 3 blocks" in queued.note


def test_tokens_of_a_single_stream_are_counted_by_request() -> None:
    measured = trial(block(*(request([10, 20 + i, 30 + i]) for i in range(8))))
    gaps = compute(measured, "itl")["itl_p50"]

    assert gaps.count == 8
    assert gaps.low is not None
    assert gaps.value is not None
    assert gaps.high is not None
    assert gaps.low <= gaps.value <= gaps.high


def test_every_metric_is_computed_when_none_is_named() -> None:
    names = {figure.metric for figure in figures.compute(Evidence(stream(3)))}

    assert names == {metric.name for metric in registry.metrics()}


def test_a_void_trial_says_so_beside_every_figure() -> None:
    found = compute(trial(block(request([1, 2])), void="Sent late."), "ttft", "decode_speed", "energy")

    assert found["ttft_p50"].note.startswith("void: Sent late.")
    assert found["decode_speed"].note.startswith("void: Sent late.")
    assert found["energy"].note == ""


def test_a_missing_distribution_is_missing_in_every_statistic() -> None:
    found = compute(trial(block(request([], failure="refused"))), "ttft")

    assert set(found) == {"ttft_p50", "ttft_p95", "ttft_mean"}
    assert all(figure.value is None and "refused" in figure.missing for figure in found.values())


def test_what_does_not_rest_on_the_trial_is_not_void_with_it() -> None:
    artifact = Artifact(Path(), "hf", "d", 8, 9, 10)
    evidence = Evidence(trial(block(request([1, 2])), void="Sent late."), artifact)
    (size,) = figures.compute(evidence, [registry.metric("weight_bytes")])

    assert (size.value, size.void) == (8, False)
