"""What every metric declares and does, whoever wrote it."""

from __future__ import annotations

import pytest

from paredown import registry
from paredown.contracts import Evidence, Metric
from paredown.records.events import Trial
from paredown.records.figure import Figure, Samples
from paredown.testing.scripted_events import block, request, trial

METRICS = registry.metrics()
FAILED = trial(block(request([], failure="refused")))
EVIDENCES = {"nothing": Evidence(), "no request": Evidence(Trial("c", "t", 1, ())), "failures": Evidence(FAILED)}


@pytest.fixture(params=METRICS, ids=lambda metric: metric.name)
def metric(request: pytest.FixtureRequest) -> Metric:
    found: Metric = request.param
    return found


def test_it_says_what_it_is(metric: Metric) -> None:
    assert metric.summary
    assert metric.formula
    assert metric.unit in {"s", "B", "tok/s", "req/s", "fraction", "usd/Mtok", "J/tok", "bit"}
    assert metric.better in {"lower", "higher"}


@pytest.mark.parametrize("evidence", EVIDENCES)
def test_without_evidence_it_is_missing_with_a_reason_and_never_zero(metric: Metric, evidence: str) -> None:
    found = metric.compute(EVIDENCES[evidence])

    assert found.missing
    assert (found.values == ()) if isinstance(found, Samples) else (found.value is None)


def test_it_gives_what_it_declares(metric: Metric) -> None:
    found = metric.compute(Evidence(trial(block(request([10, 20], tokens=[1, 49]))), limits={"ttft": 0.2}))

    assert isinstance(found, Samples if metric.distribution else Figure)
    assert (found.metric, found.unit) == (metric.name, metric.unit)
    if isinstance(found, Samples):
        assert len(found.blocks) == len(found.values) > 0
