"""Items from logged requests: which scorer judges which answer, and what the row holds."""

from __future__ import annotations

import json

import pytest

from paredown.contracts import RawRow
from paredown.curate import items
from paredown.curate.items import Frozen
from paredown.curate.log_lines import Exchange
from paredown.evaluate import rows
from paredown.records.traffic import Message

CALL = '{"name": "add", "arguments": {"a": 1}}'
SCHEMA = '{"type": "object", "required": ["city"]}'


def row(
    answer: str, *, cut: bool = False, salt: bytes = b"s", scorer: str = "auto", **more: object
) -> dict[str, object]:
    exchange = Exchange("logs/log:3", (Message("user", "Go on."),), **more)
    found = items.row(Frozen(exchange, "en.short", answer, "log", 40, cut), scorer=scorer, salt=salt)
    assert rows.parse(RawRow(json.loads(json.dumps(found)), "log:3")).slice == "en.short"
    return found


@pytest.mark.parametrize("text", [CALL, f"<tool_call>{CALL}</tool_call>", f"```json\n{CALL}\n```", f" {CALL}\n"])
def test_one_call_is_judged_by_syntax_however_it_is_wrapped(text: str) -> None:
    found = row(text, has_tools=True)
    assert (found["scorer"], found["answer"]) == ("tool_call", json.loads(CALL))


@pytest.mark.parametrize("text", [f"[{CALL}, {CALL}]", "I call nothing.", '{"name": "add"}'])
def test_several_calls_none_or_half_a_call_are_texts(text: str) -> None:
    assert row(text, has_tools=True)["scorer"] == "perplexity"


def test_a_call_where_no_tool_was_offered_is_a_text() -> None:
    assert row(CALL)["scorer"] == "perplexity"


def test_json_that_was_asked_for_keeps_its_schema() -> None:
    found = row('{"city": "Ulm"}', wants_json=True, schema=SCHEMA)
    assert (found["scorer"], found["arguments"]) == ("json_output", {"schema": SCHEMA})


@pytest.mark.parametrize("schema", ['{"type": "array"}', '{"patternProperties": {}}'])
def test_a_schema_that_the_answer_breaks_or_the_scorer_does_not_know_is_left_out(schema: str) -> None:
    found = row('{"city": "Ulm"}', wants_json=True, schema=schema)
    assert (found["scorer"], found["arguments"]) == ("json_output", {})


@pytest.mark.parametrize("text", ["Ulm", '{"city": "Ul', "3"])
def test_what_is_no_json_object_or_list_is_a_text(text: str) -> None:
    assert row(text, wants_json=True)["scorer"] == "perplexity"


def test_an_answer_that_was_cut_is_a_text_and_says_so() -> None:
    found = row('{"city": "Ulm"}', wants_json=True, cut=True)
    assert (found["scorer"], found["choices"]) == ("perplexity", ['{"city": "Ulm"}'])
    assert found["tags"] == {"log": "log:3", "answer": "log, cut"}


def test_answers_have_room_for_twice_the_frozen_one_or_what_the_request_allows() -> None:
    assert row("So.", scorer="judge")["max_tokens"] == 80
    assert row("So.", scorer="judge", max_tokens=9)["max_tokens"] == 9
    assert row("So.", scorer="judge", max_tokens=100_000)["max_tokens"] == items.MOST_TOKENS


def test_a_group_is_hashed_with_the_salt() -> None:
    one, same = row("So.", group="user 7"), row("Other.", group="user 7")
    assert one["cluster"] == same["cluster"]
    assert one["cluster"] != row("So.", group="user 7", salt=b"t")["cluster"]
    assert "cluster" not in row("So.")
