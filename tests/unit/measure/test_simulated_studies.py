"""A planted slowdown of 10 % is found, and a model does not differ from itself: simulated from raw events up."""

from __future__ import annotations

import pytest

from benchmarks.bench_noise import MODELS, SAME_SEED, SLOWDOWN, rates
from paredown.flow.speed import FINAL_BLOCKS

STUDIES = 100
SAME_STUDIES = 300


@pytest.mark.slow
@pytest.mark.parametrize("model", [name for name in MODELS if "unseen" not in name])
def test_a_planted_slowdown_is_found_and_none_is_seen_where_none_is(model: str) -> None:
    planted = rates(MODELS[model], SLOWDOWN, STUDIES, FINAL_BLOCKS)["decode_speed"]
    same = rates(MODELS[model], 0.0, SAME_STUDIES, FINAL_BLOCKS, first_seed=SAME_SEED)["decode_speed"]

    assert planted["ours"] >= 0.95
    assert same["reported"] <= 0.05


def test_an_episode_of_load_hides_a_slowdown_unless_its_rounds_are_measured_again() -> None:
    seen, unseen = (
        rates(MODELS[name], SLOWDOWN, 12, FINAL_BLOCKS)["decode_speed"]["ours"]
        for name in ("load episode, seen", "load episode, unseen")
    )

    assert unseen < seen
