"""Quality alone, on the fake engine."""

from __future__ import annotations

import pytest

from paredown.errors import UserError
from paredown.flow import single
from paredown.flow.progress import Silent
from paredown.records.verdict import Verdict
from paredown.testing import fake_models


def test_evaluate_gives_a_score_for_each_slice_with_what_guessing_gives(world) -> None:
    rows = {row.slice: row for row in single.evaluate(world.spec(), None, Silent())}
    assert set(rows) == {"facts", "reasoning"}
    assert 0.8 < (rows["facts"].score or 0) < 1.0
    assert rows["reasoning"].scored == 120
    assert rows["reasoning"].unscored == 0


@pytest.mark.slow
def test_compare_ships_an_identical_copy_and_rejects_one_that_lost_a_third(world, tmp_path) -> None:
    copy = fake_models.variant(world.model, tmp_path / "copy")
    same = single.compare(world.spec(), copy, None, Silent())
    assert same.verdict is Verdict.SHIP
    worse = fake_models.variant(world.model, tmp_path / "worse", right_fraction={"": 0.6})
    # The fake model is all or nothing: where its answer is another one, the KL is beyond any limit of the gate before.
    lost = single.compare(world.spec(fidelity={"max_mean_kl": 20.0}), worse, None, Silent())
    assert lost.verdict is Verdict.REJECT
    assert lost.slices[0].counts.lost > lost.slices[0].counts.gained


@pytest.mark.slow
def test_a_second_candidate_in_the_same_record_does_not_measure_the_baseline_again(world, tmp_path) -> None:
    copy, record = fake_models.variant(world.model, tmp_path / "copy"), tmp_path / "record"
    first, second = Silent(), Silent()
    single.compare(world.spec(), copy, record, first)
    worse = fake_models.variant(world.model, tmp_path / "worse", right_fraction={"": 0.6})
    assert single.compare(world.spec(), worse, record, second).verdict is Verdict.REJECT
    assert "Baseline: answers and texts" in first.titles
    assert "Baseline: answers and texts" not in second.titles


@pytest.mark.slow
def test_compare_catches_a_lost_chat_template_before_any_prompt(world, tmp_path) -> None:
    bare = fake_models.without_chat_template(world.model, tmp_path / "bare")
    found = single.compare(world.spec(), bare, None, Silent())
    assert found.verdict is Verdict.REJECT
    assert found.slices == ()
    assert "chat template" in " ".join(found.reasons)


def test_compare_with_a_directory_that_is_not_there_says_so(world, tmp_path) -> None:
    with pytest.raises(UserError, match="is no directory"):
        single.compare(world.spec(), tmp_path / "nowhere", None, Silent())
