import pytest
from hypothesis import given
from hypothesis import strategies as st

from paredown.records.figure import Figure
from paredown.report import units


def plain(text: str) -> str:
    return text.replace(units.NBSP, " ")


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0125, "s", "12.5 ms"),
        (90.0, "s", "90.0 s".replace(".0", "")),
        (240.0, "s", "4 min"),
        (0.0000031, "s", "3.10 µs"),
        (0, "s", "0 s"),
        (269_030_784, "B", "269 MB"),
        (512, "B", "512 B"),
        (77.13, "tok/s", "77.1 tok/s"),
        (0.6129, "fraction", "61.3 %"),
        (0.021, "pt", "+2.1 pt"),
        (-0.021, "pt", "−2.1 pt"),
        (0.0, "pt", "0.0 pt"),
        (1.004, "ratio", "1.00×"),
        (0.19, "usd/Mtok", "0.190 USD/Mtok"),
        (8.16, "bit", "8.16 bits"),
        (14.2e9, "bytes/s", "14.2 GB/s"),
    ],
)
def test_a_value_is_shown_in_the_unit_that_people_read(value, unit, shown):
    assert plain(units.value_text(value, unit)) == shown


@given(st.floats(-1e12, 1e12, allow_nan=False))
def test_a_number_keeps_its_value_to_three_digits(value):
    shown = float(units.number(value).replace(",", "").replace("−", "-"))
    assert shown == pytest.approx(value, rel=5.1e-3, abs=1e-300)


def test_an_unknown_figure_says_why_and_is_never_zero():
    figure = Figure("energy", "J/tok", None, missing="no energy counter on this machine")
    assert units.figure_text(figure) == "not measured (no energy counter on this machine)"
    assert units.spread_text(figure) == ""
    assert units.figure_text(None, "its engine died") == "not measured (its engine died)"


def test_a_figure_of_a_void_trial_says_that_it_may_not_be_used():
    figure = Figure("ttft", "s", 0.0425, 60, "p50", note="void: sends were late")
    assert plain(units.figure_text(figure)) == "42.5 ms, not to be used (void: sends were late)"


def test_an_unbounded_side_is_infinity_with_a_round_bracket():
    assert plain(units.interval_text(0.040, None, "s")) == "[40.0, ∞) ms".replace("40.0", "40")
    assert plain(units.interval_text(None, 0.016, "pt")) == "(−∞, +1.6] pt"
    assert units.interval_text(None, None, "s") == ""


def test_limits_share_their_unit_only_when_it_is_the_same():
    assert plain(units.interval_text(0.0403, 0.0441, "s")) == "[40.3, 44.1] ms"
    assert plain(units.interval_text(0.989, 1.21, "s")) == "[989 ms, 1.21 s]"
    assert plain(units.interval_text(3.42, 3.85, "ratio")) == "[3.42, 3.85]×"


def test_a_spread_names_confidence_limits_and_count():
    figure = Figure("ttft", "s", 0.042, 59, "p50", 0.0401, 0.0447, confidence=0.9)
    assert plain(units.spread_text(figure)) == "90 % [40.1, 44.7] ms, n = 59"


def test_several_samples_without_limits_say_that_there_is_no_interval():
    assert plain(units.spread_text(Figure("startup", "s", 2.0, 3))) == "n = 3, no interval"


def test_a_size_read_from_a_file_needs_no_interval():
    assert units.spread_text(Figure("weight_bytes", "B", 5.0, 1)) == ""


def test_control_and_direction_characters_are_written_out():
    assert units.visible("a\x1b[31mb\u202ec\n\td\x00") == "a\\x1b[31mb\\u202ec\n\td\\x00"


def test_a_change_names_a_shared_unit_once():
    assert plain(units.change(units.ratio(1.3), units.ratio(1.34))) == "1.30 → 1.34×"
    assert plain(units.change(units.binary_size(2**20), "not measured")) == "1 MiB → not measured"


def test_ticks_have_no_zeros_after_the_point():
    assert [units.tick(t) for t in ("1.50×", "2.00×", "100×", "0.050 s")] == ["1.5×", "2×", "100×", "0.05 s"]


def test_a_setting_is_written_in_words():
    assert [units.setting(v) for v in (None, True, False, 3.0, "x")] == ["not set", "yes", "no", "3", "x"]
