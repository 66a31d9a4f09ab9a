"""One whole answer of a chat model: what is sent again, and in which words."""

from __future__ import annotations

import json

from paredown.client.completion import Completion, Fields, complete
from paredown.client.server import Server
from paredown.records.traffic import Message
from paredown.testing.scripted_server import Part, Received, serving_in_thread

GOOD = {"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}


def http(body: object, status: str = "200 OK", *heads: str) -> list[Part]:
    raw = json.dumps(body).encode()
    head = "\r\n".join((f"HTTP/1.1 {status}", f"Content-Length: {len(raw)}", *heads))
    return [f"{head}\r\n\r\n".encode() + raw]


def asked(*replies: list[Part], fields: Fields | None = None) -> tuple[Completion, list[Received], list[float]]:
    pauses: list[float] = []
    with serving_in_thread(lambda received: replies[received.number]) as server:
        found = complete(
            Server(server.url, "", "m"),
            (Message("user", "Well?"),),
            max_tokens=7,
            timeout_s=5.0,
            fields=fields,
            sleep=pauses.append,
        )
    return found, server.received, pauses


def test_the_answer_comes_whole_and_greedy() -> None:
    found, (received,), _ = asked(http(GOOD))
    assert (found.text, found.finish_reason, found.failure) == ("Yes.", "stop", "")
    assert received.path == "/v1/chat/completions"
    assert received.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Well?"}],
        "max_tokens": 7,
        "stream": False,
        "temperature": 0,
    }


def test_a_busy_server_is_asked_again_after_the_pause_that_it_names() -> None:
    busy, failing = http({}, "429 Too Many Requests", "Retry-After: 7"), http({}, "502 Bad Gateway")
    found, received, pauses = asked(busy, failing, http(GOOD))
    assert (found.text, found.tries, pauses) == ("Yes.", 3, [7.0, 1.0])
    assert len(received) == 3


def test_a_server_that_wants_an_hour_is_not_waited_for() -> None:
    found, _, pauses = asked(http({}, "429 Too Many Requests", "Retry-After: 3600"), http(GOOD))
    assert (found.text, found.tries, pauses) == ("", 1, [])
    assert found.failure.startswith("answered 429 and says")


def test_fields_that_the_server_refuses_are_named_otherwise_or_left_out_and_remembered() -> None:
    one = http({"error": {"message": "Use max_completion_tokens, not max_tokens."}}, "400 Bad Request")
    two = http({"error": {"message": "temperature must be 1."}}, "400 Bad Request")
    found, received, pauses = asked(one, two, http(GOOD))
    assert (found.text, found.fields, pauses) == ("Yes.", Fields("max_completion_tokens", temperature=False), [])
    assert received[2].body["max_completion_tokens"] == 7
    assert not {"max_tokens", "temperature"} & set(received[2].body)
    _, (again,), _ = asked(http(GOOD), fields=found.fields)
    assert set(again.body) == set(received[2].body)


def test_a_refusal_that_no_other_field_mends_is_told_at_once() -> None:
    found, received, _ = asked(http({"error": "no such model"}, "404 Not Found"))
    assert found.failure == 'answered 404 and says: "no such model"'
    assert len(received) == 1
