import pytest
from hypothesis import given
from hypothesis import strategies as st

from paredown.contracts import Metric
from paredown.errors import UnknownNameError, UserError
from paredown.records.figure import Figure
from paredown.records.machine import Machine
from paredown.records.verdict import Comparison
from paredown.spec import limits, measurable, targets


def metric(name, unit, better="lower", distribution=False, requires=()):
    compute = lambda evidence: Figure(name, unit, None, missing="not run")  # noqa: E731
    return Metric(name, unit, better, "", "", compute, distribution, requires)


METRICS = {
    m.name: m
    for m in (
        metric("ttft", "s", distribution=True),
        metric("e2e", "s", distribution=True),
        metric("e2e_50", "s", distribution=True),
        metric("output_throughput", "tok/s", "higher"),
        metric("decode_speed", "tok/s", "higher"),
        metric("peak_memory", "B"),
        metric("weight_bytes", "B"),
        metric("bits_per_parameter", "bit"),
        metric("cost", "usd/Mtok", requires=("price",)),
        metric("energy", "J/tok", requires=("energy_counter",)),
    )
}


@pytest.mark.parametrize(
    ("text", "metric_name", "statistic", "value", "unit"),
    [
        ("ttft_p95<=200ms", "ttft", "p95", 0.2, "s"),
        ("ttft <= 0.2 s", "ttft", "p50", 0.2, "s"),
        ("e2e_50_p99<=3s", "e2e_50", "p99", 3.0, "s"),
        ("latency_p95<=1min", "e2e", "p95", 60.0, "s"),
        ("peak_memory<=6GiB", "peak_memory", "", 6 * 2**30, "B"),
        ("memory<=6GB", "peak_memory", "", 6e9, "B"),
        ("cost<=0.20usd/Mtok", "cost", "", 0.20, "usd/Mtok"),
        ("cost<=$0.2/Mtok".replace("$0.2/", "0.2$/"), "cost", "", 0.2, "usd/Mtok"),
        ("throughput>=500tok/s", "output_throughput", "", 500.0, "tok/s"),
        ("energy<=250mJ/tok", "energy", "", 0.25, "J/tok"),
        ("bits_per_parameter<=4.5bits", "bits_per_parameter", "", 4.5, "bit"),
    ],
)
def test_values_are_converted_to_the_base_unit_of_the_metric(text, metric_name, statistic, value, unit):
    target = targets.parse(text, METRICS)
    assert (target.metric, target.statistic, target.unit, target.relative) == (metric_name, statistic, unit, False)
    assert target.value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "value"), [("decode_speed>=3.5x", 3.5), ("weight_bytes<=55%", 0.55), ("speed ≥ 250 %", 2.5)]
)
def test_x_and_percent_are_relative_to_the_baseline(text, value):
    target = targets.parse(text, METRICS)
    assert target.relative
    assert target.value == pytest.approx(value)


def test_a_drop_in_points_is_a_fraction_for_a_slice_or_for_all():
    pooled, sliced = (
        targets.parse("quality_drop<=2pt", METRICS),
        targets.parse("quality_drop[safety]<=3 points", METRICS),
    )
    assert (pooled.slice, pooled.value, pooled.comparison) == ("all", 0.02, Comparison.AT_MOST)
    assert (sliced.slice, sliced.value) == ("safety", 0.03)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("ttfp<=1s", "Did you mean 'ttft'?"),
        ("ttfp_p95<=1s", "Unknown metric 'ttfp'. Did you mean 'ttft'?"),
        ("quality_dorp<=1pt", "Did you mean 'quality_drop'?"),
        ("ttft_p95<=200mms", "unknown unit 'mms'. Did you mean 'ms'?"),
        ("peak_memory<=6gib", "unknown unit 'gib'. Did you mean 'GiB'?"),
        ("ttft_p95<=6GiB", "ttft is a time, for example 200ms or 1.5s, and 'GiB' is none of that"),
        ("ttft_p95<=200", "has no unit: ttft is a time"),
        ("ttft_p42<=1s", "there is no statistic 'p42'. Known: p50, p95, p99, mean"),
        ("peak_memory_p95<=1GB", "is one figure and has no p95. Write 'peak_memory'"),
        ("decode_speed<=3x", "decode_speed is better when it is higher. Write >="),
        ("ttft<200ms", "compares with '<'. Write <= instead"),
        ("ttft=>200ms", "Write >= instead"),
        ("ttft", "is no target. Write metric"),
        ("ttft<=fast", "'fast' is no number"),
        ("ttft<=-3s", "must be larger than 0"),
        ("ttft<=0s", "must be larger than 0"),
        ("quality_drop<=0pt", "can never be shown"),
        ("quality_drop>=2pt", "Write 'quality_drop<=2pt'"),
        ("quality_drop<=2%", "Write '2pt'"),
        ("quality_drop<=120pt", "100 points or more"),
        ("quality_drop[]<=2pt", "brackets are empty"),
        ("ttft[safety]<=1s", "only quality_drop can name a slice"),
    ],
)
def test_a_wrong_target_is_answered_with_what_to_type(text, answer):
    with pytest.raises(UserError) as caught:
        targets.parse(text, METRICS)
    assert answer in str(caught.value)


@given(st.text(max_size=30))
def test_any_text_gives_a_target_or_a_sentence(text):
    message = "."
    try:
        targets.parse(text, METRICS)
    except UserError as error:
        message = str(error)
    assert message.endswith(".")


def test_the_same_target_twice_is_refused():
    with pytest.raises(UserError, match="same thing"):
        targets.parse_all(["ttft_p95<=1s", "ttft_p95<=200ms"], METRICS)
    assert len(targets.parse_all(["ttft_p95<=1s", "ttft_p50<=200ms", "ttft_p95<=50%"], METRICS)) == 3


def machine(energy_counter=""):
    return Machine("", "", "", 2, 2, (), 2**34, (), {}, energy_counter)


def test_energy_without_a_counter_is_refused_before_anything_runs():
    asked = targets.parse_all(["energy<=1J/tok"], METRICS)
    with pytest.raises(UserError, match="no energy counter"):
        measurable.check(asked, METRICS, machine(), None)
    measurable.check(asked, METRICS, machine("rapl"), None)


def test_cost_without_a_price_is_refused_with_the_flag_to_add():
    asked = targets.parse_all(["cost<=1usd/Mtok", "quality_drop<=2pt"], METRICS)
    with pytest.raises(UserError, match="--price-per-hour"):
        measurable.check(asked, METRICS, machine(), None)
    measurable.check(asked, METRICS, machine(), 0.8)


def test_unknown_metrics_carry_what_is_known():
    with pytest.raises(UnknownNameError) as caught:
        targets.parse("speeed>=2x", {"decode_speed": METRICS["decode_speed"]})
    assert caught.value.known == ("decode_speed", "quality_drop")


LOAD_METRICS = {
    m.name: m
    for m in (
        *METRICS.values(),
        metric("goodput", "req/s", "higher", requires=("limits",)),
        metric("good_fraction", "fraction", "higher", requires=("limits",)),
    )
}


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("goodput>=12req/s", 12.0, "req/s"),
        ("goodput>=90 requests/min", 1.5, "req/s"),
        ("good_fraction>=95%", 0.95, "fraction"),
        ("good_fraction>=99.5 %", 0.995, "fraction"),
    ],
)
def test_rates_and_shares_have_units_of_their_own(text, value, unit):
    target = targets.parse(text, LOAD_METRICS)
    assert (target.unit, target.relative) == (unit, False)
    assert target.value == pytest.approx(value)


def test_x_of_a_share_is_still_relative_to_the_baseline():
    assert targets.parse("good_fraction>=0.9x", LOAD_METRICS).relative


@pytest.mark.parametrize("text", ["good_fraction>=101%", "good_fraction>=0.95"])
def test_a_share_is_of_the_whole_and_has_its_sign(text):
    with pytest.raises(UserError, match="share of the whole"):
        targets.parse(text, LOAD_METRICS)


def test_latency_targets_become_limits_of_each_request_whatever_their_statistic():
    asked = ["ttft_p95<=200ms", "e2e<=3s", "e2e_50_p99<=1.5s", "decode_speed>=20tok/s", "peak_memory<=6GiB"]
    assert limits.per_request(targets.parse_all(asked, METRICS)) == {"ttft": 0.2, "e2e": 3.0, "e2e_50": 1.5}


def test_of_two_limits_on_one_latency_the_larger_is_that_of_each_request():
    asked = targets.parse_all(["ttft_p50<=100ms", "ttft_p95<=200ms"], METRICS)
    assert limits.per_request(asked) == {"ttft": 0.2}


def test_a_relative_target_limits_no_request():
    assert limits.per_request(targets.parse_all(["ttft_p95<=50%", "quality_drop<=2pt"], METRICS)) == {}


def test_goodput_without_a_latency_target_is_refused_before_the_run():
    asked = targets.parse_all(["goodput>=12req/s"], LOAD_METRICS)
    with pytest.raises(UserError, match="what a good request is"):
        measurable.check(asked, LOAD_METRICS, machine(), None)
    with_limit = targets.parse_all(["goodput>=12req/s", "ttft_p95<=200ms"], LOAD_METRICS)
    measurable.check(with_limit, LOAD_METRICS, machine(), None)
