"""What every scorer must keep, whichever it is."""

from __future__ import annotations

import dataclasses

import pytest

from paredown import registry
from paredown.contracts import Scorer, ScoringLevel
from paredown.records import codec
from paredown.records.golden import Answer, GoldenItem
from paredown.records.traffic import Message

QUESTION = (Message("user", "What is two and two?"),)
ITEMS = {
    "likelihood": (
        GoldenItem("i", "s", "likelihood", QUESTION, "1", choices=("3", "4")),
        Answer("i", choice_logprobs=(-2.0, -1.0), choice_tokens=(1, 1)),
    ),
    "perplexity": (
        GoldenItem("i", "s", "perplexity", QUESTION, "0", choices=("Four.",)),
        Answer("i", choice_logprobs=(0.0,), choice_tokens=(2,)),
    ),
    "judge": (GoldenItem("i", "s", "judge", QUESTION, "Four."), Answer("i", "Four.")),
    "code": (
        GoldenItem("i", "s", "code", QUESTION, "", arguments={"tests": "assert add(2, 2) == 4", "entry_point": "add"}),
        Answer("i", "def add(a, b):\n    return a + b"),
    ),
    "exact_match": (GoldenItem("i", "s", "exact_match", QUESTION, "four"), Answer("i", "Four.")),
    "number": (GoldenItem("i", "s", "number", QUESTION, "4"), Answer("i", "It is 4.")),
    "json_output": (GoldenItem("i", "s", "json_output", QUESTION, '{"sum": 4}'), Answer("i", '{"sum": 4}')),
    "tool_call": (
        GoldenItem("i", "s", "tool_call", QUESTION, '{"name": "add", "arguments": {"a": 2, "b": 2}}'),
        Answer("i", '{"name": "add", "arguments": {"b": 2, "a": 2}}'),
    ),
    "regular_expression": (
        GoldenItem("i", "s", "regular_expression", QUESTION, r"\b(4|four)\b", arguments={"flags": "i"}),
        Answer("i", "Four."),
    ),
    "contains": (GoldenItem("i", "s", "contains", QUESTION, "", arguments={"all": '["four"]'}), Answer("i", "Four.")),
    "needle": (
        GoldenItem(
            "i", "s", "needle", (Message("user", "It is copper, not tin."),), "copper", arguments={"others": '["tin"]'}
        ),
        Answer("i", "Copper."),
    ),
    "refusal": (GoldenItem("i", "s", "refusal", QUESTION, "refuse"), Answer("i", "I can't help with that.")),
    "instructions": (
        GoldenItem(
            "i", "s", "instructions", QUESTION, "", arguments={"checks": '[{"kind": "ends_with", "text": "4."}]'}
        ),
        Answer("i", "It is 4."),
    ),
}


@pytest.fixture(params=registry.names("scorers"))
def scorer(request: pytest.FixtureRequest) -> Scorer:
    return registry.scorer(request.param)


def test_every_own_scorer_has_an_item_here() -> None:
    assert set(registry.names("scorers")) == set(ITEMS)


def test_facts_are_declared(scorer: Scorer) -> None:
    assert scorer.summary
    assert scorer.version >= 1
    assert not scorer.likelihood or scorer.needs > ScoringLevel.NONE


def test_a_right_answer_scores_one_on_an_item_that_passes_its_own_check(scorer: Scorer) -> None:
    item, answer = ITEMS[scorer.name]
    scorer.check(item)
    assert scorer.score(item, answer).value == (1.0 if scorer.pure else None)


def test_a_scorer_that_asks_a_server_or_runs_code_says_what_to_type_first(scorer: Scorer) -> None:
    item, answer = ITEMS[scorer.name]
    assert scorer.pure or f"--scorer {scorer.name}:" in scorer.score(item, answer).why


def test_settings_have_somebody_who_checks_them(scorer: Scorer) -> None:
    assert (scorer.bind is not None) == bool(scorer.options)


def test_a_failed_answer_is_not_scored_and_keeps_its_reason(scorer: Scorer) -> None:
    score = scorer.score(ITEMS[scorer.name][0], Answer("i", failure="timeout: 30 s"))
    assert (score.item, score.value, score.why) == ("i", None, "timeout: 30 s")


def test_an_empty_answer_never_scores_one(scorer: Scorer) -> None:
    assert scorer.score(ITEMS[scorer.name][0], Answer("i")).value in (0.0, None)


def test_the_same_answer_scores_the_same_and_can_be_kept(scorer: Scorer) -> None:
    item, answer = ITEMS[scorer.name]
    first, second = scorer.score(item, answer), scorer.score(item, answer)
    assert codec.dumps(first) == codec.dumps(second)


def test_chance_is_a_share_or_unknown(scorer: Scorer) -> None:
    chance = scorer.chance(ITEMS[scorer.name][0])
    assert chance is None or 0.0 <= chance < 1.0


def test_a_twin_asks_the_same_and_its_right_choice_alone_is_right_by_its_own_scorer(scorer: Scorer) -> None:
    item, _ = ITEMS[scorer.name]
    twin = scorer.twin(item)
    if twin is None:
        return
    assert (twin.id, twin.scorer, twin.cluster) == (f"{item.id}~twin", "likelihood", item.cluster or item.id)
    assert (twin.messages, twin.slice, twin.tags) == (item.messages, item.slice, item.tags)
    registry.scorer("likelihood").check(twin)
    values = [scorer.score(item, Answer(item.id, choice)).value for choice in twin.choices]
    assert values == [float(number == int(twin.answer)) for number in range(len(values))]
    assert scorer.twin(item) == twin


TWINS = {"exact_match", "number", "json_output", "tool_call", "needle", "contains"}


def test_the_scorers_that_promise_twins_have_them() -> None:
    item, _ = ITEMS["contains"]
    with_rivals = dataclasses.replace(item, arguments={"all": '["four"]', "none": '["five", "six"]'})
    items = {name: item for name, (item, _) in ITEMS.items()} | {"contains": with_rivals}
    assert {name for name, item in items.items() if registry.scorer(name).twin(item) is not None} == TWINS


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\x00\ud800", "{" * 5000, "9" * 5000, "\U0010ffff" * 10])
def test_hostile_text_is_scored_without_an_error(scorer: Scorer, text: str) -> None:
    assert scorer.score(ITEMS[scorer.name][0], Answer("i", text)).value in (0.0, None)
