"""Lines of logs: every form in which they come, and what gives no item."""

from __future__ import annotations

import json

import pytest

from paredown.curate.log_lines import Exchange, Flaw, read
from paredown.records.traffic import Message

ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi?"}]
BODY = {"model": "m", "messages": ASK, "max_tokens": 9}
ANSWERED = {"choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]}


def one(line: object) -> Exchange | Flaw:
    content = line if isinstance(line, bytes) else json.dumps(line).encode()
    (found,) = read(content, "log")
    return found


@pytest.mark.parametrize(
    "line",
    [
        {**BODY, "response": ANSWERED},
        {
            "custom_id": "a",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": BODY,
            "response": {"body": ANSWERED},
        },
        {"request": BODY, "response": ANSWERED},
        {"request_body": json.dumps(BODY), "response": json.dumps(ANSWERED)},
        {**BODY, "response": "Hello."},
        {**BODY, "messages": [*ASK, {"role": "assistant", "content": "Hello."}]},
        {**BODY, "response": [{"choices": [{"delta": {"content": part}}]} for part in ("Hel", "lo.")]},
        {**BODY, "messages": [{"role": "developer", "content": "Be brief."}, ASK[1]], "response": ANSWERED},
        {
            **BODY,
            "messages": [ASK[0], {"role": "user", "content": [{"type": "text", "text": "Hi?"}]}],
            "answer": "Hello.",
        },
    ],
)
def test_every_form_gives_the_same_exchange(line: object) -> None:
    found = one(line)
    assert isinstance(found, Exchange)
    assert found.messages == (Message("system", "Be brief."), Message("user", "Hi?"))
    assert (found.answer, found.max_tokens, found.cut) == ("Hello.", 9, False)


def test_an_answer_that_is_json_stays_as_it_was_written() -> None:
    found = one({**BODY, "response": '{"a": 1}', "response_format": {"type": "json_object"}})
    assert isinstance(found, Exchange)
    assert (found.answer, found.wants_json) == ('{"a": 1}', True)


def test_tools_stand_in_the_system_message_and_a_call_is_written_as_json() -> None:
    tool = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
    called = {"function": {"name": "add", "arguments": '{"a": 1}'}}
    found = one(
        {**BODY, "tools": [tool], "response": {"choices": [{"message": {"content": None, "tool_calls": [called]}}]}}
    )
    assert isinstance(found, Exchange)
    assert found.has_tools
    assert found.messages[0].content.startswith("Be brief.\n\n")
    assert '"name": "add"' in found.messages[0].content
    assert json.loads(found.answer) == {"name": "add", "arguments": {"a": 1}}


def test_an_earlier_call_of_the_conversation_reads_as_json_and_its_result_may_be_the_last_turn() -> None:
    called = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}
    found = one({"messages": [ASK[1], called, {"role": "tool", "content": "3"}]})
    assert isinstance(found, Exchange)
    assert [m.role for m in found.messages] == ["user", "assistant", "tool"]
    assert found.messages[1].content == '{"name": "f", "arguments": {}}'


def test_an_answer_that_hit_its_limit_is_marked() -> None:
    cut = {"choices": [{"message": {"content": "Hel"}, "finish_reason": "length"}]}
    found = one({**BODY, "response": cut})
    assert isinstance(found, Exchange)
    assert found.cut


@pytest.mark.parametrize(
    ("further", "group"),
    [
        ({"user": "u1"}, "user u1"),
        ({"user": "u1", "metadata": {"session_id": 7}}, "session_id 7"),
        ({"conversation_id": "c"}, "conversation_id c"),
        ({}, ""),
    ],
)
def test_the_conversation_comes_before_the_user_as_group(further: dict[str, object], group: str) -> None:
    found = one({**BODY, **further})
    assert isinstance(found, Exchange)
    assert found.group == group


def test_the_schema_is_kept() -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    found = one({**BODY, "response_format": wanted})
    assert isinstance(found, Exchange)
    assert (found.wants_json, json.loads(found.schema)) == (True, {"type": "object"})


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{\xff}", "not UTF-8"),
        (b"{half", "not JSON"),
        (b"[1]", "no JSON object"),
        ({"usage": {"prompt_tokens": 3}}, "no messages"),
        ({"messages": []}, "no messages"),
        ({"messages": [{"role": "user", "content": ""}]}, "an empty message or one that is no text"),
        ({"messages": [{"role": "user", "content": 5}]}, "an empty message or one that is no text"),
        ({"messages": [{"role": "narrator", "content": "x"}]}, "a role that is not known"),
        ({"messages": ["x"]}, "a message that is no object"),
        (
            {"prompt": "<|im_start|>user\nHi<|im_end|>\n"},
            "a prompt with the chat template in it already (log the messages)",
        ),
        ({"messages": [ASK[0]]}, "no turn of a user to answer"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            "images, sound or files in a message",
        ),
        (b'{"messages": [{"role": "user", "content": "\\ud800"}]}', "half of a surrogate pair in a text"),
        ({**BODY, "tools": "all"}, "tools are no list"),
    ],
)
def test_a_line_that_gives_no_item_says_why_and_where(line: object, why: str) -> None:
    assert one(line) == Flaw("log:1", why)


def test_empty_lines_are_skipped_and_numbers_are_those_of_the_file() -> None:
    good = json.dumps(BODY).encode()
    found = list(read(b"\n" + good + b"\n\nx\n", "log"))
    assert [one.where for one in found] == ["log:2", "log:4"]
