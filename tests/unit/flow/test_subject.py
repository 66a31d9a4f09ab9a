"""What is measured by itself: a model of ours or somebody else's server, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.flow import subject as subjects
from paredown.flow.progress import Silent
from paredown.flow.subject import ModelAsked, ServerAsked, Subject
from paredown.testing import scripted_server
from paredown.testing.scripted_server import Part, Received

ANSWER_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"


def json_answer(body: bytes) -> list[Part]:
    return [ANSWER_HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body]


def a_server(request: Received) -> list[Part]:
    if request.path == "/v1/models":
        return json_answer(b'{"object": "list", "data": [{"id": "their-model"}]}')
    if request.path == "/tokenize":
        return [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"]
    return scripted_server.answer([1, 2])


def of_server(url: str, tmp_path: Path, **more: object) -> Subject:
    return subjects.of_server(ServerAsked(url, **more), tmp_path, tmp_path / "cache", Silent())  # type: ignore[arg-type]


def test_a_servers_first_model_is_asked_when_none_is_named(tmp_path: Path) -> None:
    with scripted_server.serving_in_thread(a_server) as server:
        found = of_server(server.url, tmp_path)
    assert found.candidate.engine_options["model"] == "their-model"
    assert found.name == f"their-model at {server.url}"
    assert not found.fresh
    assert found.artifact is None


def test_an_address_may_end_in_v1(tmp_path: Path) -> None:
    with scripted_server.serving_in_thread(a_server) as server:
        assert of_server(f"{server.url}/v1/", tmp_path).candidate.engine_options["url"] == server.url


def test_a_server_without_tokenizer_says_what_to_give_when_lengths_are_asked_for(tmp_path: Path) -> None:
    with scripted_server.serving_in_thread(a_server) as server:
        found = of_server(server.url, tmp_path)
        with pytest.raises(UserError, match="--tokenizer"):
            found.tokens.encode_conversation([{"role": "user", "content": "Hello"}])


@pytest.mark.parametrize("given", ["ftp://x", "http://", "http://host:port", "http://user:key@host", "http://h/?a=1"])
def test_what_is_no_address_is_refused_before_anything_is_sent(given: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no address of a server"):
        of_server(given, tmp_path)


def test_a_key_variable_that_is_not_set_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(UserError, match="NO_SUCH_KEY, which is not set"):
        of_server("http://127.0.0.1:9", tmp_path, api_key_variable="NO_SUCH_KEY")


def test_authorities_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.pem does not exist"):
        of_server("https://127.0.0.1:9", tmp_path, ca_file=tmp_path / "nowhere.pem")


def test_a_server_over_a_network_comes_with_a_caution() -> None:
    assert any("over a network" in text for text in subjects._server_cautions("http://10.1.2.3:8000"))
    assert not any("over a network" in text for text in subjects._server_cautions("http://localhost:8000"))


def test_a_model_is_measured_on_the_engine_that_opens_it(world, tmp_path: Path) -> None:
    found = subjects.of_model(ModelAsked(str(world.model)), tmp_path, tmp_path / "cache", Silent())
    assert found.engine.name == "fake"
    assert found.fresh
    assert found.tokens is not None


def test_an_engine_that_does_not_open_the_format_is_refused_with_those_that_do(world, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="These do: fake"):
        subjects.of_model(ModelAsked(str(world.model), engine="transformers"), tmp_path, tmp_path / "cache", Silent())


def test_the_dialect_that_was_found_is_part_of_the_candidate(tmp_path: Path) -> None:
    def strict(request: Received) -> list[Part]:
        if request.path == "/v1/chat/completions" and "return_token_ids" in _fields(request.body):
            body = b'{"error": {"message": "Unrecognized request argument supplied: return_token_ids"}}'
            head = f"HTTP/1.1 400 Bad Request\r\nContent-Length: {len(body)}\r\nConnection: close\r\n".encode()
            return [head + b"Content-Type: application/json\r\n\r\n" + body]
        return a_server(request)

    with scripted_server.serving_in_thread(strict) as server:
        options = of_server(server.url, tmp_path).candidate.engine_options
    assert options["return_token_ids"] is False
    assert options["ignore_eos"] is True


def _fields(body: Mapping[str, object]) -> set[str]:
    return set(body)
