from dataclasses import replace

import pytest

from paredown.records.artifact import Artifact
from paredown.records.figure import Figure
from paredown.records.verdict import AgainstBaseline, Verdict
from paredown.report import ratios, rows, slice_rows, target_rows, triangle_rows
from paredown.report.example import view as example_view
from paredown.report.units import NBSP
from paredown.report.view import Measured
from paredown.testing import example_run


@pytest.fixture(scope="module")
def ship():
    return example_view(example_run.ship())


def by_name(view):
    return {row.name: row for row in rows.ladder(view)}


def test_two_figures_that_were_not_measured_in_turns_have_a_ratio_without_limits():
    ratio = ratios.ratio_of(Figure("m", "s", 8.0, 5, low=6.0, high=10.0), Figure("m", "s", 2.0, 5, low=1.0, high=3.0))
    assert (ratio.value, ratio.low, ratio.high, ratio.interval) == (4.0, None, None, "")


def with_speed_ratio(view, against):
    first = view.candidates[0]
    judged = replace(first, verdict=replace(first.verdict, ratios=(against,)))
    return rows.ladder(replace(view, candidates=(judged,)))[0].speed


def test_limits_of_a_speed_come_from_the_rounds_in_which_both_were_measured(ship):
    speed = with_speed_ratio(ship, AgainstBaseline("decode_speed", 1.2, 1.1, 1.31, 6, in_turns=True))
    assert (speed.value, speed.interval) == (1.2, f"[1.10,{NBSP}1.31]×")


def test_a_speed_that_does_not_differ_says_so(ship):
    speed = with_speed_ratio(ship, AgainstBaseline("decode_speed", 1.02, 0.98, 1.06, 6, in_turns=True))
    assert speed.interval.endswith("no difference beyond noise")


def test_a_short_trial_has_no_limits_against_the_baseline(ship):
    speed = with_speed_ratio(ship, AgainstBaseline("decode_speed", 9.9, 9.0, 11.0, 1, in_turns=False))
    assert (speed.value == 9.9, speed.interval) == (False, "")


def test_a_ratio_to_an_unknown_or_zero_baseline_is_unknown():
    known = Figure("m", "s", 8.0)
    assert ratios.ratio_of(known, Figure("m", "s", None, missing="void")).text == "not measured (of the baseline: void)"
    assert ratios.ratio_of(known, Figure("m", "s", 0.0)).value is None
    assert ratios.ratio_of(None, known, "ended at apply").text == "not measured (ended at apply)"


def test_a_figure_of_a_void_trial_makes_no_ratio():
    void = Figure("m", "s", 8.0, 5, note="void: requests were sent late")
    assert ratios.ratio_of(void, Figure("m", "s", 2.0)).text == "not measured (void: requests were sent late)"
    assert ratios.ratio_of(Figure("m", "s", 2.0), void).text == (
        "not measured (of the baseline: void: requests were sent late)"
    )


def test_the_ladder_attributes_speed_to_bits_against_the_same_engine(ship):
    row = by_name(ship)["openvino-int8"]
    wide = by_name(ship)["openvino-fp16"]
    assert row.same_engine.startswith(f"{row.speed.value / wide.speed.value:.2f}× speed")
    assert row.same_engine.endswith("of the bytes of openvino-fp16")
    assert wide.same_engine == "full width"


def test_a_twin_that_was_not_run_is_named(ship):
    candidates = tuple(c for c in ship.candidates if c.name != "onnx-fp32")
    assert by_name(replace(ship, candidates=candidates))["onnx-int8"].same_engine == "onnx-fp32 was not run"


def test_predictions_stand_beside_what_was_measured(ship):
    assert [t.replace(NBSP, " ") for t in by_name(ship)["openvino-int8"].predicted] == [
        "speed 3.00 → 3.63×",
        "weights 137 → 137 MB",
    ]


def test_a_candidate_that_failed_early_keeps_its_reason_and_has_no_figures():
    row = by_name(example_view(example_run.crashed()))["bitsandbytes-nf4"]
    assert row.failed
    assert row.speed.text == "not measured (ended at apply)"
    assert row.weights.value is None
    assert "no space left" in row.why


def test_sizes_of_an_artifact_are_known_although_its_engine_died():
    row = by_name(example_view(example_run.crashed()))["onnx-int4"]
    assert row.speed.value is None
    assert row.weights.value == pytest.approx(0.4, abs=0.001)


def test_the_gate_with_the_largest_upper_limit_stands_for_quality(ship):
    verdict = ship.choice.verdict
    gate = verdict.slices[0]
    worse = replace(gate, slice="worse", high=gate.high + 0.01)
    unbounded = replace(gate, slice="unbounded", high=None)
    assert slice_rows.worst_gate(replace(verdict, slices=(gate, worse))).slice == "worse"
    assert slice_rows.worst_gate(replace(verdict, slices=(worse, unbounded, gate))).slice == "unbounded"
    assert slice_rows.worst_gate(replace(verdict, slices=verdict.slices[1:])) is None


def test_targets_say_asked_got_and_met(ship):
    first = target_rows.targets(example_view(example_run.nothing_meets()))[0]
    assert (first.asked, first.state) == ("decode_speed>=4.5x", "missed")
    assert [t.state for t in target_rows.targets(ship)] == ["met", "met", "met"]


def test_without_a_choice_no_target_is_met(ship):
    nobody = replace(ship, decision=replace(ship.decision, recommended=None, closest=""))
    assert {t.state for t in target_rows.targets(nobody)} == {"unknown"}
    assert triangle_rows.triangle(nobody) is None


def test_memory_stands_for_cost_without_a_price_and_says_so(ship):
    cost = triangle_rows.triangle(ship)[1]
    assert cost.better > 1
    assert "no price per hour was given" in cost.detail


def test_a_price_makes_cost_the_corner(ship):
    def priced(measured, usd):
        figures = tuple(f for f in measured.figures if f.name != "cost")
        return replace(measured, figures=(*figures, Figure("cost", "usd/Mtok", usd, 5)))

    candidates = tuple(replace(c, measured=priced(c.measured, 0.2)) for c in ship.candidates)
    cost = triangle_rows.triangle(replace(ship, baseline=priced(ship.baseline, 0.8), candidates=candidates))[1]
    assert cost.better == pytest.approx(4)
    assert "stands for cost" not in cost.detail


def test_a_gate_that_was_judged_stands_before_one_without_scores(ship):
    gate = ship.choice.verdict.slices[0]
    unscored = replace(gate, slice="zero tolerance", drop=None, low=None, high=None)
    assert slice_rows.worst_gate(replace(ship.choice.verdict, slices=(unscored, gate))) is gate


def test_limits_carry_their_level(ship):
    gate = replace(ship.choice.verdict.slices[0], level=0.975)
    assert slice_rows.limits_name(gate).replace(NBSP, " ") == "one-sided 97.5 % limits"


def test_a_target_asked_in_binary_units_is_answered_in_them(ship):
    result = ship.choice.verdict.targets[1]
    target = replace(result.target, text="weight_bytes<=1GiB", relative=False, unit="B", value=2.0**30)
    verdict = replace(ship.choice.verdict, targets=(replace(result, target=target),))
    candidates = tuple(replace(c, verdict=verdict) if c is ship.choice else c for c in ship.candidates)
    assert target_rows.targets(replace(ship, candidates=candidates))[0].got.replace(NBSP, " ") == "131 MiB"


def test_a_drop_is_shown_in_points(ship):
    assert target_rows.targets(ship)[2].got.replace(NBSP, " ") == "+0.5 pt"


@pytest.mark.parametrize(
    ("status", "verdict", "words"),
    [(0, "SHIP", "SHIP"), (3, "SHIP", "TARGETS NOT MET"), (3, "REJECT", "REJECT"), (4, "SHIP", "INVESTIGATE")],
)
def test_the_badge_follows_exit_status_and_verdict(ship, status, verdict, words):
    decision = replace(ship.decision, exit_status=status, verdict=Verdict(verdict))
    assert rows.badge(replace(ship, decision=decision)).words == words


def test_without_a_recommendation_the_closest_candidate_is_shown():
    view = example_view(example_run.nothing_meets())
    assert (view.choice.name, view.chosen) == ("onnx-int8", "closest")


def test_prompts_needed_are_said_once(ship):
    row = replace(ship.choice.verdict.slices[0], verdict=Verdict.INVESTIGATE, more_prompts=1200)
    assert slice_rows.more_prompts_text(row) == "1,200 more prompts would decide"
    assert slice_rows.more_prompts_text(replace(row, reason="Expect to need about 1,200 more.")) == ""
    assert slice_rows.more_prompts_text(replace(row, more_prompts=1187, reason="Needs about 1,200 more.")) == ""
    assert slice_rows.more_prompts_text(replace(row, more_prompts=None)) == "more prompts cannot decide this"
    assert slice_rows.more_prompts_text(replace(row, verdict=Verdict.SHIP)) == ""


def test_bits_of_a_candidate_that_was_not_timed_still_have_their_size():
    row = by_name(example_view(example_run.crashed()))["onnx-int4"]
    assert row.same_engine.replace(NBSP, " ") == "speed not measured, 20 % of the bytes of onnx-fp32"


def test_gates_come_first_and_then_the_slice_that_may_have_lost_most(ship):
    judged = slice_rows.slice_rows(ship.choice)
    assert judged[0].gated
    highs = [row.high for row in judged[1:]]
    assert highs == sorted(highs, reverse=True)


def test_a_figure_of_the_artifact_does_not_hide_a_measured_one(tmp_path):
    artifact = Artifact(tmp_path, "hf", "d", 100, 120, 50)
    assert Measured("m", "e", artifact).figure("weight_bytes").value == 100
    measured = Measured("m", "e", artifact, (Figure("weight_bytes", "B", 90.0),))
    assert measured.figure("weight_bytes").value == 90
    assert Measured("m", "e", artifact).figure("decode_speed") is None
