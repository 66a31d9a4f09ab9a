"""Golden items are asked in shared-prefix batches, stored batch by batch, and scored."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from paredown import registry
from paredown.contracts import ScoringLevel
from paredown.errors import EngineDied
from paredown.evaluate import answers
from paredown.evaluate.answers import BatchPolicy
from paredown.records.golden import Answer, Evaluation, GoldenItem
from paredown.records.traffic import Message

Make = Callable[..., Any]


def choice(name: str, *choices: str, answer: str = "0") -> GoldenItem:
    return GoldenItem(name, "s", "likelihood", (Message("user", f"Question {name}"),), answer, choices=choices)


def written(name: str, answer: str = "x") -> GoldenItem:
    return GoldenItem(name, "s", "exact_match", (Message("user", name),), answer, max_tokens=8)


def run(engine: Any, items: list[GoldenItem], **more: Any) -> Evaluation:
    given = {"candidate": "c", "split": "screening", "level": ScoringLevel.FULL, "complete": engine.complete, **more}
    return answers.run(engine, items, **given)


def test_choices_get_the_sum_of_the_log_probabilities_of_their_tokens(toy: Make) -> None:
    engine, item = toy(), choice("a", "yes", "no!!")
    (answer,) = run(engine, [item]).answers
    prompt = engine.render(item.messages)
    for place, text in enumerate(item.choices):
        ids = engine.ids(text)
        by_hand = [engine.logprobs((*prompt, *ids[:n]))[token] for n, token in enumerate(ids)]
        assert answer.choice_logprobs[place] == pytest.approx(math.fsum(by_hand))
    assert answer.choice_tokens == (3, 4)


def test_single_token_choices_share_one_position_and_give_the_same_numbers(toy: Make) -> None:
    engine, items = toy(), [choice("a", "A", "B", "C", "D"), choice("b", "A", "BC")]
    shared = run(engine, items)
    assert [len(batch) for batch in engine.asked] == [1 + 2]
    apart = run(engine, items, level=ScoringLevel.TARGET_ONLY)
    assert len(engine.asked[-1]) == 4 + 2
    for one, other in zip(shared.answers, apart.answers, strict=True):
        assert one.choice_logprobs == pytest.approx(other.choice_logprobs)


def test_a_raw_prompt_has_no_template_and_its_last_space_belongs_to_the_choices(toy: Make) -> None:
    engine = toy()
    message = (Message("user", "Q: 1+1? A: "),)
    raw = GoldenItem("r", "facts", "likelihood", message, "0", ("two", "three"), arguments={"raw": True})
    templated = replace(raw, id="t", arguments={})
    found, other = run(engine, [raw, templated]).answers
    prompt = engine.ids("Q: 1+1? A:")
    for choice, value in zip((" two", " three"), found.choice_logprobs, strict=True):
        ids = engine.ids(choice)
        wanted = sum(engine.logprobs((*prompt, *ids[:place]))[token] for place, token in enumerate(ids))
        assert value == pytest.approx(wanted)
    assert found.choice_tokens == (4, 6)
    assert other.choice_tokens == (3, 5)


def test_a_text_by_itself_is_scored_from_its_second_token(toy: Make) -> None:
    engine = toy()
    text = GoldenItem("t", "prose", "perplexity", (), "0", choices=("Once more.",))
    short = GoldenItem("s", "prose", "perplexity", (), "0", choices=("A",))
    evaluation = run(engine, [text, short])
    ids = engine.ids("Once more.")
    by_hand = [engine.logprobs(tuple(ids[:n]))[ids[n]] for n in range(1, len(ids))]
    assert evaluation.answers[0].choice_logprobs[0] == pytest.approx(math.fsum(by_hand))
    assert evaluation.scores[0].value == pytest.approx(math.exp(math.fsum(by_hand) / len(by_hand)))
    assert evaluation.scores[1].value is None
    assert evaluation.scores[1].why == "a text of one token has nothing to be scored"


def test_requests_are_sorted_by_token_ids_and_answers_stand_in_the_order_of_the_items(toy: Make) -> None:
    engine, items = toy(), [choice(name, "ab", "cd") for name in "hgfedcba"]
    evaluation = run(engine, items)
    asked = [request.token_ids for request in engine.asked[0]]
    assert asked == sorted(asked)
    assert [answer.item for answer in evaluation.answers] == list("hgfedcba")
    assert [score.item for score in evaluation.scores] == list("hgfedcba")


def test_the_other_policy_of_the_control_asks_in_the_opposite_order(toy: Make) -> None:
    engine, items = toy(), [choice(name, "ab", "cd") for name in "abcd"]
    usual = run(engine, items)
    other = run(engine, items, policy=BatchPolicy(batch_items=3, concurrency=2, reverse=True))
    asked = [request.token_ids for batch in engine.asked[1:] for request in batch]
    assert asked == sorted(asked, reverse=True)
    assert [len(batch) for batch in engine.asked[1:]] == [6, 2]
    assert usual.answers == other.answers
    assert usual.batch_policy != other.batch_policy


def test_generated_items_are_asked_over_http_with_their_own_limit(toy: Make) -> None:
    engine = toy(scripted={"a": "X.", "b": "far too long"})
    evaluation = run(engine, [written("a"), written("b")])
    assert [score.value for score in evaluation.scores] == [1.0, 0.0]
    assert [answer.finish_reason for answer in evaluation.answers] == ["stop", "length"]
    assert evaluation.answers[0].token_ids == engine.ids("X.")
    assert evaluation.generated_tokens == 2 + 8


def test_tokens_of_both_paths_are_counted(toy: Make) -> None:
    engine = toy(scripted={"a": "X."})
    items = [written("a"), choice("b", "A", "B")]
    evaluation = run(engine, items)
    prompts = sum(len(engine.render(item.messages)) for item in items)
    assert evaluation.prefill_tokens == prompts + 1
    assert run(engine, items).prefill_tokens == prompts + 1


def test_each_batch_is_handed_over_as_soon_as_it_is_finished(toy: Make) -> None:
    engine, seen = toy(), []

    def kill_after_two(batch: tuple[Answer, ...]) -> None:
        seen.append(batch)
        if len(seen) == 2:
            raise KeyboardInterrupt

    items = [choice(name, "A", "B") for name in "abcdef"]
    with pytest.raises(KeyboardInterrupt):
        run(engine, items, policy=BatchPolicy(batch_items=2), on_batch=kill_after_two)
    kept = [answer for batch in seen for answer in batch]
    assert len(kept) == 4
    whole = run(engine, items, policy=BatchPolicy(batch_items=2), done=kept)
    assert len(engine.asked) == 2 + 1
    assert whole.answers == run(engine, items).answers


def test_an_answer_that_failed_before_is_asked_again(toy: Make) -> None:
    engine = toy(scripted={"a": "X."})
    assert run(engine, [written("a")], done=[Answer("a", failure="timeout")]).scores[0].value == 1.0


def test_nothing_is_asked_when_all_is_done(toy: Make) -> None:
    engine = toy()
    evaluation = run(engine, [written("a")], done=[Answer("a", text="x")])
    assert (engine.asked, engine.generated, evaluation.scores[0].value) == ([], [], 1.0)


def test_below_the_level_that_a_scorer_needs_its_items_are_not_scored_with_the_reason(toy: Make) -> None:
    engine = toy(scripted={"b": "x"})
    evaluation = run(engine, [choice("a", "A", "B"), written("b")], level=ScoringLevel.NONE)
    assert [score.value for score in evaluation.scores] == [None, 1.0]
    assert evaluation.scores[0].why == "likelihood needs the scoring level TARGET_ONLY, this engine gives NONE"


def test_an_item_that_does_not_fit_the_context_is_not_scored(toy: Make) -> None:
    evaluation = run(toy(context_length=20), [choice("a", "A", "B")])
    assert evaluation.scores[0].value is None
    assert "do not fit the context of 20" in evaluation.scores[0].why


def test_a_request_that_fails_is_not_scored_and_one_that_ends_at_once_is_wrong(toy: Make) -> None:
    engine = toy(failing={"a": "status_500", "b": "no_tokens", "c": "malformed"})
    evaluation = run(engine, [written(name) for name in "abc"])
    assert [(score.value, score.why) for score in evaluation.scores] == [
        (None, "status_500"),
        (0.0, ""),
        (None, "malformed"),
    ]


def test_an_engine_that_died_while_generating_is_raised_and_not_scored_as_wrong(toy: Make) -> None:
    with pytest.raises(EngineDied):
        run(toy(failing={"a": "disconnected"}, dead=True), [written("a")])


def test_a_log_probability_that_is_no_number_is_not_scored(toy: Make) -> None:
    evaluation = run(toy(nan_at=0), [choice("a", "A", "B")])
    assert evaluation.scores[0].why == "a log-probability is not a finite number"


def test_a_scorer_that_throws_costs_its_item_only(toy: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    real = registry.scorer

    def broken(item: GoldenItem, answer: Answer) -> Any:
        raise KeyError(item.id)

    monkeypatch.setattr(
        registry, "scorer", lambda name: replace(real(name), score=broken) if name == "number" else real(name)
    )
    items = [replace(written("a", "1"), scorer="number"), written("b")]
    evaluation = run(toy(scripted={"a": "1", "b": "x"}), items)
    assert [score.value for score in evaluation.scores] == [None, 1.0]
    assert evaluation.scores[0].why == "the scorer number failed: KeyError: 'a'"
