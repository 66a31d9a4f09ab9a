"""What may be typed behind the name of a traffic or load shape."""

from __future__ import annotations

import pytest

from paredown import registry
from paredown.errors import UnknownNameError, UserError
from paredown.traffic import asked


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"limt": "3"}, "Did you mean 'limit'"),
        ({"limit": "0"}, "limit=0; give a whole number from 1 on"),
        ({"limit": "2.5"}, "limit=2.5"),
        ({"limit": "many"}, "limit=many"),
        ({"limit": True}, "limit=True"),
        ({"output_tokens": ""}, "output_tokens=;"),
        ({"time_scale": "0"}, "time_scale=0; give a number greater than 0"),
        ({"length_scale": "nan"}, "length_scale=nan"),
        ({"longest_gap_s": "inf"}, "longest_gap_s=inf"),
        ({"from_s": "-1"}, "from_s=-1; give a number from 0 on"),
        ({"from_s": "5", "until_s": "5"}, "leaves nothing"),
        ({"invalid": "ignore"}, "invalid=ignore; give refuse, clip or skip"),
        ({"cache": "hot"}, "cache=hot; give cold, warm or shared"),
    ],
)
def test_a_wrong_option_is_refused_with_what_to_give(options: dict[str, object], says: str) -> None:
    with pytest.raises(UserError, match=says):
        asked.reading("a.csv", options)


def test_options_are_read_as_numbers_and_words() -> None:
    read = asked.reading("a.csv", {"limit": "3", "from_s": "1.5", "until_s": 9, "invalid": "skip", "length_scale": 0.5})

    assert (read.limit, read.from_s, read.until_s, read.invalid, read.length_scale) == (3, 1.5, 9.0, "skip", 0.5)


def test_options_of_a_load_shape_get_the_types_that_it_declares() -> None:
    sweep, ramp = registry.load_shape("sweep"), registry.load_shape("ramp")

    assert asked.shape_options("sweep", sweep.options, {"rates": "1,2", "seed": "3"}) == {"rates": "1,2", "seed": 3}
    assert asked.shape_options("ramp", ramp.options, {"to_rate": "2.5", "over_s": "x"}) == {
        "to_rate": 2.5,
        "over_s": "x",
    }
    with pytest.raises(UnknownNameError, match="Did you mean 'rates'"):
        asked.shape_options("sweep", sweep.options, {"rate": "1"})
