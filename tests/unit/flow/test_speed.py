"""What the trials of a run say together: ratios to the baseline, and the floor that its A/A control gives them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from paredown import registry
from paredown.flow import speed
from paredown.flow.progress import Silent
from paredown.flow.speed import LEAST_NOISE, Sides, Terms, Trials
from paredown.measure.running import Running
from paredown.records.events import Block
from paredown.records.traffic import Message, Traffic, TrafficRequest
from paredown.spec import targets as target_texts
from paredown.spec.load import from_mapping
from paredown.store.run_store import RunStore
from paredown.testing.scripted_events import block, request, trial

SIDES = Sides(None, None, Terms())


def trials(*gaps_ms: float) -> Trials:
    """A block a gap: one answer of eleven tokens, `gap_ms` apart."""
    made: list[Block] = [
        replace(block(request([100 + gap * i for i in range(11)])), index=index) for index, gap in enumerate(gaps_ms)
    ]
    return Trials((trial(*made),))


def floor(first: Trials, again: Trials) -> float:
    """The floor that a comparison of decode speeds gets, whatever is compared."""
    compared = speed.against_baseline(first, again, SIDES, in_turns=True, control=(first, again))
    return next(one.floor for one in compared if one.figure == "decode_speed")


def test_the_floor_is_what_the_control_differs_by_over_its_rounds() -> None:
    # Rounds of 1.10 and 1.00: their geometric mean, in whichever direction it is read.
    first, again = trials(110, 100), trials(100, 100)

    assert floor(first, again) == pytest.approx(1.1**0.5 - 1.0)
    assert floor(again, first) == pytest.approx(1.1**0.5 - 1.0)


def test_the_floor_is_never_below_two_percent() -> None:
    assert floor(trials(100, 101), trials(100, 101)) == LEAST_NOISE


def test_a_figure_without_a_control_has_the_smallest_floor() -> None:
    own, beside = trials(50, 50), trials(100, 100)
    void = Trials((replace(own.trials[0], void="sent late"),))
    (found,) = (
        one
        for one in speed.against_baseline(own, beside, SIDES, in_turns=True, control=(void, beside))
        if one.figure == "decode_speed"
    )

    assert (found.ratio, found.floor) == (pytest.approx(2.0), LEAST_NOISE)


def test_two_short_trials_differ_by_what_any_two_blocks_of_the_control_do() -> None:
    assert speed.noise_of_one_block(trials(100, 90), trials(108, 99)) == pytest.approx(108 / 90 - 1.0)
    assert speed.noise_of_one_block(trials(100), trials(100)) == LEAST_NOISE


def test_a_candidate_without_a_trial_has_no_ratios() -> None:
    control = (trials(100), trials(100))

    assert speed.against_baseline(None, control[0], SIDES, in_turns=False, control=control) == ()
    assert speed.against_baseline(control[0], None, SIDES, in_turns=True, control=control) == ()


def test_a_round_that_was_measured_again_is_not_measured_a_third_time_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "FINAL_BLOCKS", 2)
    chat = Traffic("chat", "", "single_stream", (TrafficRequest("r", (Message("user", "hi"),), 11),))
    loads = {("A", 0): 0.0, ("B", 0): 0.9, ("B", 1): 0.0, ("A", 1): 0.0, ("A", 2): 0.0, ("B", 2): 0.0}

    def start() -> AbstractContextManager[Running]:
        raise AssertionError("everything was measured before")

    with RunStore(tmp_path, create=True) as store, Silent().stage("measuring") as stage:
        for (name, index), load in loads.items():
            (one,) = trials(200).trials[0].blocks
            kept = speed.FinishedBlock(index, {"chat": replace(one, index=index, background_load=load)})
            store.put("blocks", f"final/{name}/{index}", kept, bulk=True)
        context, prepared = SimpleNamespace(store=store), SimpleNamespace(targets=(), traffics=(chat,))
        made = speed.in_turns(context, prepared, {"A": start, "B": start}, "final", stage, blocks=2)  # type: ignore[arg-type]

    assert {name: [b.index for b in one.trials[0].blocks] for name, one in made.items()} == {
        "A": [0, 1, 2],
        "B": [0, 1, 2],
    }


def test_absolute_latency_targets_are_what_each_request_has_to_keep_in_a_run() -> None:
    metrics = {metric.name: metric for metric in registry.metrics()}
    prepared = SimpleNamespace(targets=target_texts.parse_all(["ttft_p95<=120ms", "decode_speed>=2x"], metrics))
    terms = speed.terms_of(from_mapping({"model": "demo"}, "test"), prepared)  # type: ignore[arg-type]

    assert terms.limits == {"ttft": 0.12}
    figures = {figure.name: figure.value for figure in speed.compute(trials(10, 10), None, terms)}
    assert figures["good_fraction"] == 1.0
