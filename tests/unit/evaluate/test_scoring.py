"""Scorers with their settings: several answers at once, what is scored again, and what counts as the same scoring."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import pytest

from paredown import registry
from paredown.contracts import Option, Scorer
from paredown.errors import ScorerError
from paredown.evaluate import scoring
from paredown.flow import quality
from paredown.records.golden import Answer, GoldenItem, Score
from paredown.records.traffic import Message


def item(name: str, scorer: str = "odd") -> GoldenItem:
    return GoldenItem(name, "s", scorer, (Message("user", "?"),), "x")


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replaces the scorer `odd` (made of `exact_match`) by one with the given properties."""
    real = registry.scorer

    def make(**properties: Any) -> Scorer:
        made = dataclasses.replace(real("exact_match"), name="odd", **properties)
        monkeypatch.setattr(registry, "scorer", lambda name: made if name == "odd" else real(name))
        return made

    return make


def test_settings_reach_the_function_that_scores_with_defaults_for_the_rest(plug_in: Any) -> None:
    seen: list[dict[str, object]] = []

    def bind(options: Any) -> Any:
        seen.append(dict(options))
        return lambda one, _: Score(one.id, 1.0)

    plug_in(options=(Option("a", 1, ""), Option("b", 2, "")), bind=bind)
    scoring.score([item("i")], [Answer("i")], {"odd": {"b": 3}})
    assert seen == [{"a": 1, "b": 3}]


def test_only_options_that_change_numbers_make_it_another_scoring(plug_in: Any) -> None:
    plug_in(options=(Option("speed", 1, ""), Option("model", "m", "", changes_numbers=True)))
    plain = scoring.identity(["odd"], {})
    assert scoring.identity(["odd"], {"odd": {"speed": 2}}) == plain
    assert scoring.identity(["odd"], {"odd": {"model": "n"}}) != plain


def test_answers_are_scored_at_once_where_the_scorer_allows_it_and_stay_in_order(plug_in: Any) -> None:
    together = threading.Barrier(3, timeout=5)

    def score(one: GoldenItem, _: Answer) -> Score:
        together.wait()
        return Score(one.id, 1.0)

    plug_in(at_once=3, score=score)
    items = [item("a"), item("b"), item("c")]
    found = scoring.score(items, [Answer(one.id) for one in items])
    assert [one.item for one in found] == ["a", "b", "c"]


def test_scores_of_what_asks_a_server_stand_and_all_others_are_made_again(plug_in: Any) -> None:
    plug_in(pure=False, score=lambda one, _: Score(one.id, 0.0))
    items = [item("a"), item("b", "exact_match")]
    recorded = [Score("a", 0.7), Score("b", 0.0)]
    found = scoring.score_again(items, [Answer("a", text="y"), Answer("b", text="x")], recorded)
    assert [one.value for one in found] == [0.7, 1.0]


def test_what_a_scorer_says_of_all_its_scores_is_kept_by_its_name(plug_in: Any) -> None:
    plug_in(summarize=lambda scores: f"{len(scores)} judged")
    items = [item("a"), item("b", "exact_match"), item("c")]
    assert scoring.summaries(items, [Score(one.id, 1.0) for one in items]) == {"odd": "2 judged"}


@pytest.mark.parametrize(("lost", "of", "raises"), [(1, 4, False), (2, 20, False), (3, 20, True), (2, 4, True)])
def test_a_judge_out_of_reach_stops_the_run_and_one_missing_score_does_not(lost: int, of: int, raises: bool) -> None:
    items = [item(str(place), "judge") for place in range(of)]
    scores = [
        Score(one.id, None, "the judge is away", outage=True) if place < lost else Score(one.id, None, "no verdict")
        for place, one in enumerate(items)
    ]
    if not raises:
        quality.refuse_outage(items, scores)
        return
    with pytest.raises(ScorerError, match=f"could not score {lost} of {of} answers: the judge is away"):
        quality.refuse_outage(items, scores)
