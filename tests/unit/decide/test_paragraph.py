"""Golden texts, in `paragraphs/`: read them aloud before changing them."""

from dataclasses import replace
from pathlib import Path

import pytest

from paredown.decide import decision, phrases
from paredown.records.candidate import LeftOut, Rung
from paredown.records.verdict import AgainstBaseline
from tests.unit.decide.scenarios import ABOUT, BASELINE, PLACES, candidate, figures, judged

FAST = figures(91.2, 138e6)
BUILTIN = replace(
    ABOUT,
    golden_builtin=True,
    targets_assumed=True,
    caution="These weights were stored in 4 bits by their packager, so that 4-bit losses are understated",
)

FIRST_TRY = candidate("int8", judged(6, 4, 440), FAST)
SCENARIOS = {
    "ships": ([FIRST_TRY], ABOUT),
    "ships_on_builtin_prompts": ([candidate("int8", judged(0, 0, 450), FAST)], BUILTIN),
    "ships_though_a_watched_slice_became_worse": ([candidate("int8", judged(9, 9, 640, (9, 0)), FAST)], ABOUT),
    "good_but_too_slow": ([candidate("int8", judged(6, 4, 440), figures(41.2, 138e6))], ABOUT),
    "too_few_prompts": ([candidate("int8", judged(14, 9, 427), FAST)], ABOUT),
    "stopped_before_the_confirmation": (
        [candidate("int8", judged(2, 2, 146), FAST, stage="screening")],
        replace(ABOUT, stopped="the time budget of 10 min ran out"),
    ),
    "rejected": ([candidate("int8", judged(60, 9, 381), FAST)], ABOUT),
    "broken_at_the_smoke_gate": ([candidate("int8", stage="smoke", error="The chat template was lost.")], ABOUT),
    "engine_and_weights_told_apart": (
        [candidate("wide", judged(0, 0, 150), figures(70, 265e6), stage="screening"), FIRST_TRY],
        replace(ABOUT, wide={"int8": "wide"}),
    ),
    "a_percentile_that_thirty_requests_do_not_carry": (
        [candidate("int8", judged(6, 4, 440), FAST, asked=("ttft_p95<=200ms", "quality_drop<=3pt"))],
        ABOUT,
    ),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_paragraph_reads_as_it_should(name):
    verdicts, about = SCENARIOS[name]
    left_out = [LeftOut("fp8", Rung.EIGHT_BIT, "needs compute capability 8.9")]
    expected = (Path(__file__).parent / "paragraphs" / f"{name}.txt").read_text(encoding="utf-8")
    assert decision.make(verdicts, BASELINE, left_out, about, PLACES).paragraph == " ".join(expected.split())


@pytest.mark.parametrize(("low", "high", "said"), [(0.97, 1.08, True), (1.02, 1.08, False)])
def test_a_figure_that_does_not_differ_beyond_noise_is_said_not_to(low, high, said):
    found = candidate("int8", measured=figures(26.0, 140e6))
    found = replace(found, ratios=(AgainstBaseline("decode_speed", 1.05, low, high, 6, in_turns=True),))
    (speed, *_) = (phrases.figure_phrase(pair) for pair in phrases.headline_figures(found, BASELINE))
    assert speed == (
        "decoding speed 26 tokens/s, no difference from the 25.3 tokens/s before that goes beyond noise"
        if said
        else "decoding speed 26 tokens/s, 105 % of the 25.3 tokens/s before"
    )
