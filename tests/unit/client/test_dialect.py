"""What a server takes is found out by asking it, and what stands in the way is said in a sentence."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Mapping, Sequence

import pytest

from paredown.client.dialect import MOST_REQUESTS, first_model, probe
from paredown.client.server import Server
from paredown.errors import UserError
from paredown.records.dialect import Dialect
from paredown.testing.scripted_server import (
    STREAM_HEAD,
    Part,
    Received,
    ScriptedServer,
    answer,
    chunk,
    event,
    serving_in_thread,
)


def status(code: int, body: object) -> list[Part]:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return [b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (code, len(raw)), raw]


def refusing(*fields: str, says: Callable[[str], object]) -> Callable[[Received], Sequence[Part]]:
    """A server that complains about the first of these fields that a request has."""

    def script(received: Received) -> Sequence[Part]:
        found = next((field for field in fields if field in received.body), None)
        if found is not None:
            return status(400, says(found))
        parts = answer(range(8))
        return parts if "stream_options" in received.body else [*parts[:-2], parts[-1]]

    return script


def probed(script: Callable[[Received], Sequence[Part]], key: str = "k") -> tuple[Dialect, ScriptedServer]:
    with serving_in_thread(script) as server:
        return probe(Server(server.url, key, "m"), 20.0), server


def test_a_server_that_takes_everything_is_asked_once() -> None:
    dialect, server = probed(lambda _: answer(range(8)))

    assert dialect == Dialect()
    assert len(server.received) == 1


COMPLAINTS: Mapping[str, Callable[[str], object]] = {
    "OpenAI": lambda field: {"error": {"message": f"Unrecognized request argument supplied: {field}", "code": None}},
    "pydantic": lambda field: {"detail": [{"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs"}]},
    "plain text": lambda field: f"unknown field `{field}` at line 1",
}


@pytest.mark.parametrize("complaint", COMPLAINTS)
def test_fields_that_are_complained_about_are_left_out_one_after_another(complaint: str) -> None:
    dialect, server = probed(refusing("ignore_eos", "return_token_ids", "stream_options", says=COMPLAINTS[complaint]))

    assert dialect == Dialect(ignore_eos=False, return_token_ids=False, include_usage=False)
    assert len(server.received) == 4


def test_one_field_that_is_refused_costs_only_itself() -> None:
    dialect, server = probed(refusing("return_token_ids", says=COMPLAINTS["OpenAI"]))

    assert dialect == Dialect(return_token_ids=False)
    assert len(server.received) == 2


def test_the_other_name_of_the_limit_is_tried() -> None:
    def says(field: str) -> object:
        return {"error": {"message": f"Unsupported parameter: '{field}'. Use 'max_completion_tokens' instead."}}

    dialect, server = probed(refusing("max_tokens", says=says))

    assert dialect == Dialect(max_tokens_field="max_completion_tokens")
    assert server.received[-1].body["max_completion_tokens"] == 8


def test_a_complaint_that_names_nothing_leaves_out_all_that_is_optional() -> None:
    dialect, server = probed(refusing("ignore_eos", says=lambda _: "Bad Request"))

    assert dialect == Dialect(ignore_eos=False, return_token_ids=False, include_usage=False)
    assert len(server.received) == 2


def test_a_field_that_is_taken_and_not_heeded_counts_as_refused() -> None:
    short = [STREAM_HEAD, event(chunk("hello", None, "stop")), event("[DONE]")]
    dialect, _ = probed(lambda _: short)

    assert dialect == Dialect(ignore_eos=False, return_token_ids=False, include_usage=False)


def test_a_server_that_refuses_whatever_it_is_asked_is_given_up_soon() -> None:
    with serving_in_thread(lambda _: status(400, "max_tokens ignore_eos no")) as server:
        with pytest.raises(UserError, match="ignore_eos no"):
            probe(Server(server.url, "", "m"), 20.0)

        assert len(server.received) < MOST_REQUESTS


@pytest.mark.parametrize(
    ("code", "body", "key", "said"),
    [
        (401, {"error": {"message": "Invalid key"}}, "k", "API key was not accepted.*api-key-variable.*Invalid key"),
        (403, "no", "", "API key is missing"),
        (404, {"detail": "Not Found"}, "", "/v1/chat/completions answered 404.*without /v1"),
        (429, {"error": {"message": "quota used up"}}, "", "429.*quota used up"),
        (503, "loading model", "", "503.*loading model"),
        (400, {"error": {"message": "temperature must be 1"}}, "", "temperature must be 1"),
    ],
)
def test_what_stands_in_the_way_is_said(code: int, body: object, key: str, said: str) -> None:
    with pytest.raises(UserError, match=f"(?s){said}"):
        probed(lambda _: status(code, body), key)


def test_an_answer_that_is_no_stream_is_said() -> None:
    with pytest.raises(UserError, match="malformed"):
        probed(lambda _: status(200, {"choices": []}))


def test_a_server_that_is_not_there_is_said() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for asked in (lambda s: probe(s, 20.0), lambda s: first_model(s, 20.0)):
        with pytest.raises(UserError, match="refused"):
            asked(Server(f"http://127.0.0.1:{port}", "", "m"))


def test_a_certificate_of_nobody_known_names_the_flag(certificates) -> None:
    with (
        serving_in_thread(lambda _: answer(range(8)), tls=certificates.server_context()) as server,
        pytest.raises(UserError, match="--ca-file"),
    ):
        probe(Server(server.url, "", "m"), 20.0)


def test_the_first_model_of_the_list_is_named() -> None:
    def script(received: Received) -> Sequence[Part]:
        assert received.path == "/v1/models"
        assert received.headers["authorization"] == "Bearer k"
        return status(200, {"object": "list", "data": [{"id": "org/one"}, {"id": "two"}]})

    with serving_in_thread(script) as server:
        assert first_model(Server(server.url + "/v1", "k", ""), 20.0) == "org/one"


@pytest.mark.parametrize("body", [{"data": []}, {"data": [{"id": 5}]}, [], "text", {"data": "x"}])
def test_a_list_without_a_model_is_said(body: object) -> None:
    with serving_in_thread(lambda _: status(200, body)) as server, pytest.raises(UserError, match="--model-name"):
        first_model(Server(server.url, "", ""), 20.0)


def test_a_list_that_does_not_come_in_time_is_said() -> None:
    async def for_ever() -> None:
        await asyncio.sleep(5)

    with serving_in_thread(lambda _: [for_ever]) as server, pytest.raises(UserError, match="timeout"):
        first_model(Server(server.url, "", ""), 0.2)
