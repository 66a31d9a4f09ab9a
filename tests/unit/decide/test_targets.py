import pytest

from paredown.decide import targets
from paredown.records.figure import Figure
from paredown.records.verdict import AgainstBaseline, Verdict
from paredown.spec import targets as texts
from tests.unit.decide import scenarios


def check(text, figures, baseline=(), rows=()):
    (result,) = targets.check(texts.parse_all([text], scenarios.METRICS), figures, baseline, rows)
    return result


def test_a_relative_target_is_a_ratio_to_the_baseline():
    result = check(
        "decode_speed>=2.5x", [Figure("decode_speed", "tok/s", 91.0)], [Figure("decode_speed", "tok/s", 25.3)]
    )
    assert result.met is True
    assert result.ratio == pytest.approx(91.0 / 25.3)
    assert result.reason == "91 tokens/s against 25.3 tokens/s: 3.6×, at least 2.5× asked."


def test_a_share_exactly_at_its_limit_is_met():
    assert (
        check("weight_bytes<=55%", [Figure("weight_bytes", "B", 55.0)], [Figure("weight_bytes", "B", 100.0)]).met
        is True
    )


def test_an_absolute_target_is_compared_in_the_base_unit_whatever_the_figures_unit():
    figures = [Figure("ttft", "ms", 212.0, 80, "p95", 190.0, 230.0)]
    assert check("ttft_p95<=200ms", figures).met is False
    assert check("ttft_p95<=0.25s", figures).met is True


@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        ([], "Not measured: there is no such figure."),
        ([Figure("decode_speed", "tok/s", None, missing="the engine died")], "Not measured: the engine died."),
        (
            [Figure("decode_speed", "tok/s", 9.0, note="void: requests were sent late")],
            "Not usable: void: requests were",
        ),
        ([Figure("decode_speed", "apples", 9.0)], "Not comparable: it is in 'apples'"),
    ],
)
def test_what_was_not_measured_is_neither_met_nor_missed(figures, reason):
    result = check("decode_speed>=10tok/s", figures)
    assert result.met is None
    assert result.reason.startswith(reason)


def test_without_a_baseline_figure_a_ratio_is_not_measured():
    result = check("decode_speed>=2x", [Figure("decode_speed", "tok/s", 91.0)])
    assert (result.met, result.reason) == (None, "Not measured on the baseline: there is no such figure.")


def test_a_void_baseline_gives_no_ratio():
    before = [Figure("decode_speed", "tok/s", 25.0, note="void: late")]
    assert check("decode_speed>=2x", [Figure("decode_speed", "tok/s", 91.0)], before).met is None


def test_a_percentile_without_an_upper_limit_says_so():
    result = check("ttft_p95<=200ms", [Figure("ttft", "s", 0.18, 30, "p95", 0.15, None)])
    assert result.met is True
    assert result.reason.endswith("Its upper limit is unbounded: 30 samples, p95 takes 59.")


def test_a_value_within_its_target_whose_limit_is_beyond_is_not_certain():
    result = check("ttft_p95<=200ms", [Figure("ttft", "s", 0.18, 90, "p95", 0.15, 0.23)])
    assert (
        result.reason == "180 ms, at most 200 ms asked. Not certain: the interval (150 ms to 230 ms) reaches past it."
    )


def test_p99_is_not_measured_for_want_of_samples():
    assert check("ttft_p99<=1s", []).reason == "Not measured: p99 takes 299 samples."


def test_a_distribution_without_a_statistic_means_its_median():
    figures = [Figure("ttft", "s", 9.0, 30, "p95"), Figure("ttft", "s", 0.1, 30, "p50", 0.09, 0.11)]
    assert check("ttft<=200ms", figures).met is True


@pytest.mark.parametrize(("lost", "gained", "met"), [(4, 4, True), (60, 4, False), (9, 9, None)])
def test_a_drop_is_met_missed_or_open_as_its_gate_says(lost, gained, met):
    rows = scenarios.judged(lost, gained, 460 if met is not None else 150)
    result = check("quality_drop<=3pt", [], rows=rows)
    assert result.met is met
    assert result.reason == rows[0].reason
    assert (result.figure.value, result.figure.count) == (rows[0].drop, rows[0].counts.n)


def test_a_drop_that_was_not_judged_is_open():
    assert check("quality_drop<=3pt", []).met is None
    assert scenarios.judged(4, 4, 460)[0].verdict is Verdict.SHIP


@pytest.mark.parametrize(("speed", "clearly"), [(88.0, True), (95.0, False), (105.0, False)])
def test_a_short_trial_misses_clearly_only_beyond_the_slack(speed, clearly):
    before = [Figure("decode_speed", "tok/s", 40.0, 8, low=38.0, high=42.0)]
    figures = [Figure("decode_speed", "tok/s", speed, 8, low=speed - 2, high=speed + 2)]
    assert targets.clearly_missed(check("decode_speed>=2.5x", figures, before)) is clearly


def test_an_exact_size_is_missed_by_a_hair():
    result = check("weight_bytes<=60%", [Figure("weight_bytes", "B", 61.0)], [Figure("weight_bytes", "B", 100.0)])
    assert targets.clearly_missed(result)


def test_a_rate_without_limits_is_not_taken_for_exact():
    before = [Figure("decode_speed", "tok/s", 40.0, 2)]
    assert not targets.clearly_missed(check("decode_speed>=2.5x", [Figure("decode_speed", "tok/s", 95.0, 1)], before))


SPEED, BEFORE = [Figure("decode_speed", "tok/s", 91.0)], [Figure("decode_speed", "tok/s", 25.3)]


def in_turns(ratio, low, high, rounds=6, *, turns=True, asked="decode_speed>=3.5x"):
    against = AgainstBaseline("decode_speed", ratio, low, high, rounds, in_turns=turns)
    (result,) = targets.check(texts.parse_all([asked], scenarios.METRICS), SPEED, BEFORE, ratios=[against])
    return result


def test_a_relative_target_is_judged_by_the_rounds():
    result = in_turns(3.4, 3.38, 3.42)
    assert (result.met, result.ratio, result.certain) == (False, 3.4, True)
    assert result.reason == "91 tokens/s against 25.3 tokens/s: 3.4×, at least 3.5× asked."


def test_limits_that_agree_with_the_value_make_it_certain():
    result = in_turns(3.6, 3.52, 3.7)
    assert (result.met, result.certain) == (True, True)
    assert "Not certain" not in result.reason


@pytest.mark.parametrize(("ratio", "met", "how"), [(3.6, True, "past it"), (3.45, False, "it")])
def test_limits_on_both_sides_of_the_target_make_it_uncertain(ratio, met, how):
    result = in_turns(ratio, 3.4, 3.8)
    assert (result.met, result.certain) == (met, False)
    assert result.reason.endswith(f"Not certain: the interval (3.4× to 3.8×, 6 rounds) reaches {how}.")


def test_an_at_most_target_looks_at_the_upper_limit():
    figures, before = [Figure("ttft", "s", 0.05, 24, "p50")], [Figure("ttft", "s", 0.1, 24, "p50")]
    for high, certain in ((0.56, False), (0.54, True)):
        against = AgainstBaseline("ttft_p50", 0.5, 0.45, high, 6, in_turns=True)
        (result,) = targets.check(texts.parse_all(["ttft<=55%"], scenarios.METRICS), figures, before, ratios=[against])
        assert (result.met, result.certain) == (True, certain)


def test_a_ratio_that_was_not_measured_in_turns_is_the_quotient_of_the_figures_and_not_certain():
    result = in_turns(9.0, 8.0, 10.0, turns=False)
    assert result.ratio == pytest.approx(91.0 / 25.3)
    assert result.reason.endswith("Not certain: the two were not measured in turns.")


def test_one_round_carries_no_interval():
    result = in_turns(3.6, None, None, rounds=1)
    assert (result.met, result.certain) == (True, None)
    assert result.reason.endswith("Not certain: 1 round carries no interval.")
