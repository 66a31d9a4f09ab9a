"""Rows become checked items; every mistake names place, field, what was found and what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from paredown.contracts import RawRow
from paredown.errors import UserError
from paredown.evaluate import rows
from paredown.records import codec
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message


def parse(**fields: Any) -> GoldenItem:
    return rows.parse(RawRow(fields, "my.jsonl:17"))


def test_prompt_and_answer_are_scored_by_exact_match() -> None:
    item = parse(prompt="Capital of France?", answer="Paris")
    assert (item.scorer, item.slice, item.answer, item.where) == ("exact_match", "default", "Paris", "my.jsonl:17")
    assert item.messages == (Message("user", "Capital of France?"),)


def test_choices_make_it_likelihood_and_the_answer_their_text_or_number() -> None:
    assert parse(prompt="?", choices=["x", "y"], answer="y").answer == "1"
    assert parse(prompt="?", choices=["x", "y"], answer=1).answer == "1"
    assert parse(prompt="?", choices=["x", "y"], answer="1").answer == "1"
    assert parse(prompt="?", choices=["x", "y"], answer="y").scorer == "likelihood"


def test_of_choices_that_are_numbers_the_text_counts_in_the_short_form() -> None:
    assert parse(prompt="?", choices=["0", "2", "1"], answer="1").answer == "2"


def test_in_the_full_form_the_answer_is_the_number_of_the_choice() -> None:
    full = {"messages": [{"role": "user", "content": "?"}], "scorer": "likelihood", "choices": ["0", "2", "1"]}
    assert parse(**full, answer="1").answer == "1"


def test_a_system_message_goes_first() -> None:
    assert [m.role for m in parse(prompt="?", system="Be brief.", answer="x").messages] == ["system", "user"]


def test_an_item_as_json_is_read_back_as_it_was() -> None:
    item = GoldenItem(
        "a1",
        "tool-calls",
        "likelihood",
        (Message("system", "s"), Message("user", "u")),
        "0",
        choices=("yes", "no"),
        max_tokens=7,
        tags={"language": "de"},
        arguments={"normalize": "bytes"},
        cluster="doc-1",
        zero_tolerance=True,
        where="my.jsonl:17",
    )
    plain = codec.to_plain(item)
    assert rows.parse(RawRow({k: v for k, v in plain.items() if k != "where"}, "my.jsonl:17")) == item
    assert rows.parse(RawRow({**plain, "where": "elsewhere:1"}, "my.jsonl:17")) == item


def test_an_id_that_is_not_given_follows_from_the_content() -> None:
    assert parse(prompt="?", answer="x").id == parse(prompt="?", answer="x", slice="other").id
    assert parse(prompt="?", answer="x").id != parse(prompt="?", answer="y").id


def test_objects_in_arguments_and_answers_are_kept_as_json_text() -> None:
    schema = {"type": "object", "required": ["ö"]}
    item = parse(prompt="?", scorer="json_output", arguments={"schema": schema}, answer={"ö": 1})
    assert item.arguments["schema"] == '{"type": "object", "required": ["ö"]}'
    assert item.answer == '{"ö": 1}'
    assert parse(prompt="?", answer=["Paris", "City of Paris"]).answer == '["Paris", "City of Paris"]'
    assert parse(prompt="?", scorer="number", answer=4).answer == "4"


def test_a_text_by_itself_is_scored_by_perplexity() -> None:
    item = parse(text="Once upon a time.")
    assert (item.scorer, item.messages, item.choices, item.answer) == ("perplexity", (), ("Once upon a time.",), "0")
    assert item.id != parse(text="Another text.").id


def test_a_reference_answer_to_a_prompt_is_scored_by_perplexity_when_asked_for() -> None:
    item = parse(prompt="?", answer="Paris, of course.", scorer="perplexity")
    assert (item.messages, item.choices, item.answer) == ((Message("user", "?"),), ("Paris, of course.",), "0")


def test_a_text_by_itself_is_read_back_from_its_json() -> None:
    item = parse(text="Once upon a time.", slice="prose", cluster="tale")
    assert rows.parse(RawRow(codec.to_plain(item), "my.jsonl:17")) == item


def test_a_scorer_that_has_all_in_its_arguments_does_without_an_answer() -> None:
    item = parse(prompt="?", scorer="contains", arguments={"all": ["Paris"]})
    assert item.answer == ""
    assert item == parse(prompt="?", scorer="contains", arguments={"all": ["Paris"]}, answer="")


FINE = {"prompt": "?", "answer": "x"}
TURNS = [{"role": "user", "content": "?"}]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "field 'prompt' is missing; expected a text, or 'messages'."),
        ({"prompt": "?"}, "field 'answer' is missing; expected a text."),
        ({**FINE, "prompt": 5}, "field 'prompt' is 5; expected a text."),
        ({**FINE, "prompt": ""}, "field 'prompt' is empty; expected a text."),
        ({**FINE, "prompt": "\ud800"}, "field 'prompt' holds half of a surrogate pair; expected valid Unicode."),
        ({**FINE, "anwser": "y"}, "field 'anwser' is not known; did you mean 'answer'?"),
        ({**FINE, "scorer": "exact_mach"}, "Did you mean 'exact_match'?"),
        ({**FINE, "slice": "long context"}, "field 'slice' is 'long context'; expected letters, digits"),
        ({**FINE, "messages": TURNS}, "field 'prompt' is given beside 'messages'; expected one of the two."),
        (
            {**FINE, "arguments": {"raw": True}},
            "'arguments.raw' is given for 'exact_match'; expected true, and a scorer",
        ),
        ({**FINE, "choices": ["x", "z"], "arguments": {"raw": 1}}, "'arguments.raw' is given for 'likelihood'"),
        (
            {**FINE, "choices": ["x", "z"], "system": "s", "arguments": {"raw": True}},
            "field 'messages' has 2 turns; expected one of the user, as arguments.raw is true.",
        ),
        ({**FINE, "max_tokens": 0}, "field 'max_tokens' is 0; expected a whole number from 1 to 8192."),
        ({**FINE, "max_tokens": True}, "field 'max_tokens' is true;"),
        ({**FINE, "zero_tolerance": "yes"}, "field 'zero_tolerance' is \"yes\"; expected true or false."),
        ({**FINE, "tags": ["a"]}, "field 'tags' is [\"a\"]; expected an object."),
        ({**FINE, "tags": {"a": True}}, "field 'tags.a' is true; expected a text."),
        ({**FINE, "arguments": {"mode": "near"}}, "field 'arguments.mode' is 'near'; expected one of"),
        ({"prompt": "?", "answer": None}, "field 'answer' is null; expected a text."),
        ({**FINE, "id": "a~twin"}, "field 'id' is 'a~twin'; expected one that does not end in '~twin'"),
        ({"prompt": "?", "answer": True}, "field 'answer' is true; expected a text."),
        ({**FINE, "slice": ""}, "field 'slice' is empty; expected a text."),
        ({"text": 5}, "field 'text' is 5; expected a text."),
        ({"text": ""}, "field 'text' is empty; expected a text."),
        ({"text": " "}, "field 'choices' has an empty text"),
        ({"text": "x", "prompt": "?"}, "field 'prompt' is given beside 'text'; expected one of the two"),
        ({"text": "x", "answer": "y"}, "field 'answer' is given beside 'text'"),
        ({"text": "x", "messages": TURNS}, "field 'text' is given beside 'messages'; expected one of the two."),
        ({"text": "x", "scorer": "number"}, "field 'text' is given, but the scorer 'number' judges answers;"),
        ({**FINE, "scorer": "perplexity", "answer": ""}, "field 'answer' is empty; expected the reference answer."),
        ({**FINE, "scorer": "perplexity", "choices": ["x"]}, "field 'choices' is given, but the scorer 'perplexity'"),
        ({"messages": [], "choices": ["a", "b"], "answer": "0"}, "field 'messages' is [];"),
        ({**FINE, "choices": "a,b"}, "field 'choices' is \"a,b\"; expected a list of texts."),
        ({**FINE, "choices": ["x", 5]}, "field 'choices[1]' is 5; expected a text."),
        ({**FINE, "choices": ["x"]}, "field 'choices' has 1 entries; expected at least two texts."),
        (
            {**FINE, "choices": ["y", "z"]},
            "field 'answer' is \"x\"; expected one of the choices, or a number from 0 to 1.",
        ),
        ({**FINE, "choices": ["x", "z"], "answer": 2}, "expected the number of the right choice, 0 to 1."),
        ({**FINE, "choices": ["x", "y"], "scorer": "number"}, "field 'choices' is given, but the scorer 'number'"),
        ({"messages": [], "answer": "x"}, "field 'messages' is [];"),
        (
            {"messages": ["hi"], "answer": "x"},
            "field 'messages[0]' is \"hi\"; expected an object with 'role' and 'content'.",
        ),
        ({"messages": [{"role": "bot", "content": "?"}], "answer": "x"}, "field 'messages[0].role' is 'bot';"),
        ({"messages": [{"role": "assistant", "content": "?"}], "answer": "x"}, "expected 'user', as the last turn."),
        ({"messages": TURNS, "system": "s", "answer": "x"}, "field 'system' is given beside 'messages';"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(fields: Mapping[str, Any], says: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(**fields)
    message = str(caught.value)
    assert message.startswith("my.jsonl:17: ")
    assert says in message
    assert "\n" not in message
