from dataclasses import replace

import pytest

from paredown.records.figure import Figure
from paredown.report.measurement import headline


def test_one_void_traffic_of_several_makes_it_partly_void(everything):
    assert headline.badge(replace(everything, curves=())).words == "PARTLY VOID"


def test_a_void_point_of_a_curve_makes_it_partly_void(everything):
    assert headline.badge(replace(everything, traffics=everything.traffics[:1])).words == "PARTLY VOID"


def test_only_void_traffics_make_it_void(everything):
    badge = headline.badge(replace(everything, traffics=everything.traffics[2:]))
    assert (badge.words, badge.class_) == ("VOID", "missed")


def test_failures_alone_are_a_caution(everything):
    badge = headline.badge(replace(everything, traffics=everything.traffics[1:2], curves=(), cautions=()))
    assert badge.words == "WITH CAUTIONS"


def test_a_clean_measurement_says_measured(minimal):
    assert headline.badge(minimal).words == "MEASURED"
    assert headline.warnings(minimal) == ()


def test_tiles_name_each_first_figure_also_where_it_is_missing(minimal):
    traffic = replace(minimal.traffics[0], figures=(Figure("goodput", "req/s", None, missing="no limits were given"),))
    tiles = {tile.metric: tile for tile in headline.tiles(traffic)}
    assert set(tiles) == set(headline.LOOKED_AT_FIRST)
    assert (tiles["goodput"].value, tiles["goodput"].why) == ("not measured", "no limits were given")
    assert tiles["ttft_p50"].state == "missing"


def test_a_void_tile_says_that_it_may_not_be_used(everything):
    tile = headline.tiles(everything.traffics[2])[0]
    assert (tile.state, tile.why) == ("void", "void, not to be used")


@pytest.mark.parametrize(
    ("failure", "words"),
    [("status_429", "answered 429, too many requests"), ("status_418", "answered 418"), ("of_theirs", "")],
)
def test_a_failure_class_is_explained_where_it_is_known(failure, words):
    assert headline.meaning(failure) == words


def test_a_server_of_somebody_else_is_measured_from_this_machine(everything):
    assert "14:12:09+01:00 on Example processor" in headline.where(everything)
    assert "14:12:09+01:00 from Example processor" in headline.where(replace(everything, engine="endpoint"))
