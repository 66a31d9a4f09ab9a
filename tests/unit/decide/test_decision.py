from dataclasses import replace

import pytest

from paredown.decide import choose, decision, gates
from paredown.records.candidate import LeftOut, Rung
from paredown.records.golden import Fidelity
from paredown.records.verdict import Verdict
from tests.unit.decide.scenarios import ABOUT, BASELINE, PLACES, candidate, figures, judged

LEFT_OUT = (LeftOut("fp8", Rung.EIGHT_BIT, "needs compute capability 8.9"),)
GOOD, UNSURE, BAD = judged(6, 4, 440), judged(14, 9, 427), judged(60, 9, 381)
FAST = figures(91.2, 138e6)


def decide(*verdicts, about=ABOUT):
    return decision.make(verdicts, BASELINE, LEFT_OUT, about, PLACES)


def test_a_confirmed_candidate_that_meets_every_target_ships():
    made = decide(candidate("int8", GOOD, FAST))
    assert (made.recommended, made.verdict, made.exit_status) == ("int8", Verdict.SHIP, 0)
    assert (made.artifact, made.serve_command) == ("/models/int8", "paredown serve RUN int8")


def test_a_good_candidate_that_is_too_slow_is_the_best_effort():
    made = decide(candidate("int8", GOOD, figures(41.2, 138e6)))
    assert (made.recommended, made.exit_status) == ("int8", 3)


def test_a_good_candidate_with_a_target_that_was_not_measured_needs_more_trials():
    made = decide(candidate("int8", GOOD, FAST[:1]))
    assert (made.recommended, made.exit_status) == ("int8", 4)


def test_too_few_prompts_recommend_nothing_and_ask_for_more():
    made = decide(candidate("int8", UNSURE, FAST))
    assert (made.recommended, made.closest, made.verdict, made.exit_status) == (None, "int8", Verdict.INVESTIGATE, 4)


def test_more_prompts_cannot_help_a_candidate_that_is_too_slow():
    assert decide(candidate("int8", UNSURE, figures(30.0, 138e6))).exit_status == 3


def test_a_screening_alone_ships_nothing():
    made = decide(candidate("int8", GOOD, FAST, stage="screening"))
    assert (made.recommended, made.exit_status) == (None, 4)


def test_when_all_are_rejected_the_closest_is_named():
    made = decide(candidate("int8", BAD, FAST), candidate("int4", judged(90, 9, 381), figures(120, 91e6)))
    assert (made.recommended, made.closest, made.verdict, made.exit_status) == (None, "int8", Verdict.REJECT, 3)


def test_an_earlier_rung_that_meets_everything_is_not_traded_for_speed():
    made = decide(candidate("int8", GOOD, FAST), candidate("int4", GOOD, figures(120, 91e6)))
    assert made.recommended == "int8"


def test_a_failed_candidate_does_not_hide_a_good_one():
    made = decide(candidate("int4", stage="apply", error="the converter died"), candidate("int8", GOOD, FAST))
    assert made.recommended == "int8"


def test_nothing_tried_keeps_the_model_as_it_is():
    made = decide()
    assert (made.recommended, made.exit_status) == (None, 3)
    assert made.paragraph.startswith("Keep SmolLM2-135M-Instruct as it is: no candidate could be measured.")


def test_the_confirmation_goes_to_a_likely_candidate_before_a_faster_unlikely_one():
    screened = [
        candidate("int8", judged(2, 2, 146), FAST, stage="screening"),
        candidate("int4", judged(10, 5, 135), figures(120, 91e6), stage="screening"),
        candidate("broken", BAD, FAST, stage="screening"),
        candidate("dead", stage="apply", error="gone", verdict=Verdict.INVESTIGATE),
    ]
    order = choose.for_confirmation(
        screened, dict.fromkeys(("int8", "int4"), Rung.EIGHT_BIT), prompts_ratio=3.0, alpha=0.04
    )
    assert order == ("int8", "int4")


def test_among_likely_candidates_targets_come_before_rung_and_rung_before_speed():
    rows = judged(1, 1, 148)
    screened = [
        candidate("four", rows, figures(120, 91e6), stage="screening"),
        candidate("eight", rows, FAST, stage="screening"),
        candidate("wide", rows, figures(70, 265e6), stage="screening"),
        candidate("eight_fast", rows, figures(99, 138e6), stage="screening"),
    ]
    rungs = {"four": Rung.FOUR_BIT, "eight": Rung.EIGHT_BIT, "eight_fast": Rung.EIGHT_BIT, "wide": Rung.LOSSLESS}
    order = choose.for_confirmation(screened, rungs, prompts_ratio=3.0, alpha=0.04)
    assert order == ("eight_fast", "eight", "four", "wide")


def test_the_chance_to_ship_grows_with_the_prompts_held_back():
    rows = judged(3, 2, 145)
    few, many = (choose.chance_to_ship(rows, ratio, 0.04) for ratio in (1.0, 8.0))
    assert 0.0 < few < many < 1.0


def test_a_few_unlucky_prompts_do_not_outweigh_that_the_model_is_nearly_the_same():
    """10 lost against 5 gained of 234 is a drop of 2.1 points, and 1.3 standard deviations: likelier luck than harm."""
    chance = choose.chance_to_ship(judged(10, 5, 219), 3.0, 0.04)
    assert 0.5 < chance < 0.75


def test_many_lost_prompts_do_outweigh_it():
    assert choose.chance_to_ship(judged(24, 4, 206), 3.0, 0.04) < 0.2


def test_one_rejected_gate_rejects_and_an_open_one_leaves_it_open():
    ship, bad, unsure = GOOD[0], BAD[0], UNSURE[0]
    assert gates.combine([ship, ship]).verdict is Verdict.SHIP
    assert gates.combine([ship, unsure]).verdict is Verdict.INVESTIGATE
    assert gates.combine([unsure, bad]).verdict is Verdict.REJECT
    assert gates.combine([]).verdict is Verdict.INVESTIGATE


def test_watched_slices_never_decide_but_are_named_when_they_became_worse():
    rows = judged(9, 9, 640, watched=(9, 0))
    outcome = gates.combine([rows[0], replace(rows[1], verdict=Verdict.REJECT)])
    assert outcome.verdict is Verdict.SHIP
    assert outcome.reasons[-1] == "Safety (watched) became worse: 9 lost, 0 gained of 60."


@pytest.mark.parametrize(
    ("mean_kl", "top1", "passed"), [(0.3, 0.66, True), (1.2, 0.66, False), (0.3, 0.49, False), (None, None, None)]
)
def test_the_fidelity_gate_rejects_only_breakage(mean_kl, top1, passed):
    found = Fidelity(
        "int4", "full", (), 20, mean_kl, None, None, top1, 6144, "" if passed is not None else "no log-probs"
    )
    check = gates.fidelity(found, max_mean_kl=1.0, min_top1=0.5)
    assert check.passed is passed
    assert check.detail.endswith(".")
