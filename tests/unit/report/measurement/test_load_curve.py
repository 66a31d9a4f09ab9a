from dataclasses import replace

from paredown.report import measurement
from paredown.report.measurement.load_curve import with_load_curves


def steps(everything, option, *loads, names=None):
    chat = everything.traffics[0]
    return tuple(
        replace(chat, traffic=name or f"chat, {load} of it", load_shape="poisson", options={option: load, "seed": i})
        for i, (load, name) in enumerate(zip(loads, names or [""] * len(loads), strict=True))
    )


def swept(everything, traffics):
    return with_load_curves(replace(everything, traffics=traffics, curves=())).curves


def test_the_steps_of_a_sweep_become_a_curve_by_rising_load(everything):
    (curve,) = swept(everything, (everything.traffics[1], *steps(everything, "rate", 4.0, 1.0, 2.0)))
    assert (curve.name, curve.axis, curve.unit) == ("load", "request rate", "req/s")
    assert [(p.x, p.label) for p in curve.points] == [(1.0, "1.0 of it"), (2.0, "2.0 of it"), (4.0, "4.0 of it")]


def test_concurrencies_are_an_axis_too(everything):
    (curve,) = swept(everything, steps(everything, "concurrency", 1, 2))
    assert curve.axis == "concurrency"


def test_why_a_step_is_void_stays_with_its_point(everything):
    first, second = steps(everything, "rate", 1.0, 2.0)
    (curve,) = swept(everything, (first, replace(second, void="late", failures={"timeout": 1})))
    assert [(p.void, p.failures) for p in curve.points] == [("", {}), ("late", {"timeout": 1})]


def test_notes_of_the_steps_stand_once_at_the_curve(everything):
    noted = tuple(replace(step, notes=("clipped",)) for step in steps(everything, "rate", 1.0, 2.0))
    assert swept(everything, noted)[0].notes == ("the steps of chat", "clipped")


def test_traffics_that_are_no_steps_make_no_curve(everything):
    assert swept(everything, everything.traffics) == ()
    assert swept(everything, steps(everything, "rate", 1.0)) == ()
    assert swept(everything, steps(everything, "rate", 1.0, 2.0, names=["chat", "long"])) == ()
    assert swept(everything, steps(everything, "burstiness", 1.0, 2.0)) == ()
    assert swept(everything, steps(everything, "rate", 2.0, 2.0)) == ()


def test_a_measurement_that_has_a_load_curve_keeps_it(everything):
    assert with_load_curves(everything) is everything


def test_the_page_of_a_sweep_draws_it_and_folds_the_steps(everything):
    text = measurement.html(replace(everything, traffics=steps(everything, "rate", 1.0, 2.0, 3.0, 4.0, 5.0), curves=()))
    assert "Output throughput against time to first token" in text
    assert text.count("<summary>Charts and figures under") == 5
