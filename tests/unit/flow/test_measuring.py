"""Measuring a model or a server by itself, on the fake engine and on scripted servers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.flow import alone, capacity, measuring, profiling
from paredown.flow.capacity import CapacityAsked
from paredown.flow.measuring import LoadAsked
from paredown.flow.progress import Silent
from paredown.flow.subject import ModelAsked, ServerAsked
from paredown.records import codec
from paredown.records.measurement import Measurement
from paredown.testing import scripted_server
from paredown.testing.scripted_server import Part, Received
from paredown.testing.timed_server import TimedAnswer, serving_timed


def measured(asked: ModelAsked | ServerAsked, load: LoadAsked, run_dir: Path | None = None) -> Measurement:
    silent = Silent()
    kept = alone.run(
        asked,
        run_dir,
        None,
        silent,
        lambda subject, store, _directory: measuring.measure(subject, load, store, silent, "paredown measure"),
    )
    return kept.measurement


def by_name(found: Measurement) -> dict[str, float | None]:
    (traffic,) = found.traffics
    return {figure.name: figure.value for figure in traffic.figures}


@pytest.fixture(scope="module")
def kept(world, tmp_path_factory: pytest.TempPathFactory) -> tuple[Measurement, Path]:
    """One measurement of the fake model with a target, kept."""
    directory = tmp_path_factory.mktemp("measured") / "run"
    load = LoadAsked((str(world.traffic),), blocks=1, targets=("e2e_p95<=60s",))
    return measured(ModelAsked(str(world.model)), load, directory), directory


def test_a_model_is_measured_under_its_traffic(kept) -> None:
    found, _ = kept
    figures = by_name(found)
    assert 0 < (figures["decode_speed"] or 0) < 200
    assert figures["weight_bytes"] == 1_000_000
    assert figures["cost"] is None
    assert found.engine == "fake"


def test_the_same_events_come_by_other_tools_definitions(kept) -> None:
    found, _ = kept
    assert set(found.traffics[0].definitions) == {"vllm", "aiperf"}
    assert all(found.traffics[0].definitions.values())


def test_an_absolute_latency_target_gives_the_goodput(kept) -> None:
    assert by_name(kept[0])["good_fraction"] == 1.0


def test_what_is_kept_holds_the_report_the_figures_and_the_raw_events(kept) -> None:
    found, directory = kept
    names = {path.name for path in directory.iterdir()}
    assert {"report.html", "report.md", "measurement.json", "record.sqlite"} <= names
    text = (directory / "measurement.json").read_text()
    assert codec.loads(Measurement, text) == found
    assert json.loads(text)["traffics"][0]["requests"] == len(found.traffics[0].trial.requests())


@pytest.mark.parametrize("target", ["decode_speed>=2x", "quality_drop<=2pt"])
def test_a_target_against_a_baseline_is_refused_with_what_to_use(world, target: str) -> None:
    with pytest.raises(UserError, match="compares with a baseline"):
        measured(ModelAsked(str(world.model)), LoadAsked((str(world.traffic),), targets=(target,)))


@pytest.mark.slow
def test_a_sweep_gives_figures_for_each_step(world) -> None:
    load = LoadAsked((str(world.traffic),), blocks=1, load="sweep:rates=40,arrivals=constant_rate")
    (step,) = measured(ModelAsked(str(world.model)), load).traffics
    assert step.load_shape == "constant_rate"
    assert "40 requests/s" in step.traffic


def test_a_server_of_known_speed_is_measured_as_it_is(world) -> None:
    answer = TimedAnswer(ttft_ms=30, itl_ms=10, tokens=8)
    with serving_timed(answer) as server:
        found = measured(ServerAsked(server.url), LoadAsked((str(world.traffic),), blocks=2, requests_per_block=2))
    figures = by_name(found)
    assert 0.030 <= (figures["ttft_p50"] or 0) < 0.150
    assert 20 < (figures["decode_speed"] or 0) < 130
    assert figures["peak_memory"] is None
    assert any("process" in caution for caution in found.cautions)


BUSY = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy"


def test_requests_that_a_server_refuses_are_counted_and_flatter_nothing(world) -> None:
    def every_other(request: Received) -> Sequence[Part]:
        about_a_number = b"number" in json.dumps(request.body).encode()
        return [BUSY] if about_a_number and request.number % 2 else scripted_server.answer(range(8))

    load = LoadAsked((str(world.traffic),), blocks=1, targets=("e2e_p95<=60s",))
    with scripted_server.serving_in_thread(every_other) as server:
        found = measured(ServerAsked(server.url, "m"), load)
    (traffic,) = found.traffics
    assert set(traffic.failures) == {"status_429"}
    share = 1 - traffic.failures["status_429"] / traffic.requests
    assert by_name(found)["good_fraction"] == pytest.approx(share)
    assert 0.3 < share < 0.7


def test_a_curve_of_exact_lengths_needs_a_tokenizer(world) -> None:
    with serving_timed(TimedAnswer(ttft_ms=1, itl_ms=1, tokens=8)) as server:
        load = LoadAsked((str(world.traffic),), blocks=1, requests_per_block=2, curves=("context_length",))
        with pytest.raises(UserError, match="--tokenizer"):
            measured(ServerAsked(server.url), load)


def test_a_capacity_needs_a_target(world, tmp_path: Path) -> None:
    silent = Silent()
    with pytest.raises(UserError, match="Give one, for example --target"):
        alone.run(
            ModelAsked(str(world.model)),
            None,
            None,
            silent,
            lambda s, store, _d: capacity.find(s, LoadAsked(), CapacityAsked(), store, silent, ""),
        )


@pytest.mark.slow
def test_the_capacity_of_a_model_is_found_and_kept(world, tmp_path: Path) -> None:
    silent = Silent()
    load = LoadAsked((str(world.traffic),), targets=("e2e_p50<=300ms",))
    asked = CapacityAsked(axes=("concurrency",), seconds=0.3, runs=1, largest=8)
    kept = alone.run(
        ModelAsked(str(world.model)),
        tmp_path / "run",
        None,
        silent,
        lambda subject, store, _directory: capacity.find(subject, load, asked, store, silent, "paredown capacity"),
    )
    (found,) = kept.measurement.capacities
    assert found.axis == "concurrency"
    assert found.points
    assert found.sentence in silent.notes
    assert kept.report is not None
    assert "concurrency" in kept.report.read_text().lower()


@pytest.mark.parametrize("wrong", ["", "0", "1,x", "-1", "1.5"])
def test_batches_that_are_no_numbers_are_refused(wrong: str) -> None:
    with pytest.raises(UserError, match="--batch"):
        profiling.asked(wrong, "128")


def test_a_profile_of_a_server_is_refused_with_what_to_use(tmp_path: Path) -> None:
    silent = Silent()
    with (
        serving_timed(TimedAnswer(ttft_ms=1, itl_ms=1, tokens=2)) as server,
        pytest.raises(UserError, match="measure --endpoint"),
    ):
        alone.run(
            ServerAsked(server.url),
            tmp_path / "run",
            None,
            silent,
            lambda s, store, d: profiling.profile(s, profiling.asked("1", "8"), store, d, silent, ""),
        )
