"""A server's own tokenizer, asked over loopback: vLLM's form, llama.cpp's form, and servers that have neither."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from paredown import registry
from paredown.errors import UserError
from paredown.hosts import launch
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.measure import load as sending
from paredown.measure.load import SendSettings
from paredown.testing import candidates
from paredown.traffic import synthetic
from paredown.traffic.remote_tokens import RemoteTokens

MESSAGES = [{"role": "user", "content": "hello"}]
KEY = "secret"


class Answers(BaseHTTPRequestHandler):
    """Answers by path from `routes`; keeps what was asked. `hang_up`: closes after each answer without saying so."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    routes: Mapping[str, Any] = {}
    asked: list[tuple[str, Any]] = []  # noqa: RUF012  one list for each server, made with its class
    hang_up = False

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body))
        self._answer(body)

    def do_GET(self) -> None:
        self.asked.append((self.path, None))
        self._answer(None)

    def _answer(self, body: Any) -> None:
        status, plain = 404, {"error": "no such route"}
        if self.headers["Authorization"] != f"Bearer {KEY}":
            status, plain = 401, {"error": "no"}
        elif self.path in self.routes:
            status, plain = 200, self.routes[self.path](body)
        content = plain if isinstance(plain, bytes) else json.dumps(plain).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.close_connection = self.hang_up

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as its base class has it
        pass


@contextmanager
def serving(routes: Mapping[str, Any], *, hang_up: bool = False) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    handler = type("Handler", (Answers,), {"routes": routes, "asked": [], "hang_up": hang_up})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler.asked  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


VLLM = {"/tokenize": lambda body: {"tokens": [1, 2, 3], "count": 3, "max_model_len": 4096}}
LLAMA = {
    "/tokenize": lambda body: {"tokens": list(body["content"].encode()) if "content" in body else []},
    "/apply-template": lambda body: {"prompt": f"<{body['messages'][0]['content']}>"},
    "/props": lambda body: {"default_generation_settings": {"n_ctx": 2048}},
}


def test_the_form_of_vllm_is_asked_for_the_conversation_as_a_chat_request_has_it() -> None:
    with serving(VLLM) as (url, asked):
        tokens = RemoteTokens.of(f"{url}/v1", KEY, "m")
        ids, context = tokens.encode_conversation(MESSAGES), tokens.context_length
        tokens.close()

    body = {"model": "m", "messages": MESSAGES, "add_generation_prompt": True, "add_special_tokens": False}
    assert (ids, context, asked) == ((1, 2, 3), 4096, [("/tokenize", body)])


def test_the_form_of_llama_cpp_is_found_at_the_first_use_and_kept() -> None:
    with serving(LLAMA) as (url, asked):
        tokens = RemoteTokens.of(url, KEY, "m")
        assert tokens.context_length == 2048
        before = len(asked)
        assert tokens.encode_conversation(MESSAGES) == tuple(b"<hello>")
        tokens.close()

    assert [path for path, _ in asked[before:]] == ["/apply-template", "/tokenize"]
    assert asked[-1][1] == {"content": "<hello>", "add_special": True, "parse_special": True}


def test_prompts_of_exact_lengths_are_made_through_a_server() -> None:
    with serving(LLAMA) as (url, _):
        tokens = RemoteTokens.of(url, KEY, "m")
        made = synthetic.make(tokens, [30, 41], output_tokens=1, seed=0)
        tokens.close()

    assert [len(f"<{request.messages[0].content}>".encode()) for request in made] == [30, 41]


def test_a_connection_that_the_server_closed_is_opened_anew() -> None:
    with serving(VLLM, hang_up=True) as (url, asked):
        tokens = RemoteTokens.of(url, KEY, "m")
        for _ in range(3):
            assert tokens.encode_conversation(MESSAGES) == (1, 2, 3)
        tokens.close()

    assert len(asked) == 3


@pytest.mark.parametrize(
    ("routes", "key", "says"),
    [
        ({}, KEY, "has no POST /tokenize that takes conversations"),
        ({"/tokenize": lambda body: {"tokens": []}}, KEY, "has no POST /tokenize"),
        ({"/tokenize": lambda body: [1, 2]}, KEY, "has no POST /tokenize"),
        ({"/tokenize": lambda body: b"<html>"}, KEY, "has no POST /tokenize"),
        (VLLM, "wrong", r"refused the key \(status 401\)"),
    ],
    ids=["no route", "no ids", "no object", "no JSON", "wrong key"],
)
def test_a_server_that_cannot_tell_is_refused_with_what_to_give(routes: Mapping[str, Any], key: str, says: str) -> None:
    with serving(routes) as (url, _):
        tokens = RemoteTokens.of(url, key, "m")
        with pytest.raises(UserError, match=f"{says}.*--tokenizer DIRECTORY"):
            tokens.encode_conversation(MESSAGES)
        tokens.close()


def test_a_server_that_is_not_there_is_said_to_be_so() -> None:
    with serving({}) as (url, _):
        pass
    with pytest.raises(UserError, match="could not be asked"):
        RemoteTokens.of(url, KEY, "m", None).encode_conversation(MESSAGES)


def test_answers_that_stop_holding_ids_are_refused() -> None:
    answers = iter([{"tokens": [1]}, {"tokens": None}])
    with serving({"/tokenize": lambda body: next(answers)}) as (url, _):
        tokens = RemoteTokens.of(url, KEY, "m")
        tokens.encode_conversation(MESSAGES)
        with pytest.raises(UserError, match="holds no token ids"):
            tokens.encode_conversation(MESSAGES)
        tokens.close()


def test_a_host_of_ours_counts_as_many_prompt_tokens_as_the_prompts_were_made_to_have(
    tmp_path: Path, byte_tokens: LoadedTokenizer
) -> None:
    lengths = [20, 21, 64, 777]
    candidate = candidates.fake(tmp_path / "model")
    with launch.start(registry.engine("fake"), candidate, tmp_path / "work", timeout_s=60) as running:
        tokens = RemoteTokens.of(running.url, running.api_key, running.model_name)
        made = synthetic.make(tokens, lengths, output_tokens=2, seed=0)
        shape = registry.load_shape("single_stream")
        events = sending.drive(running, shape, {}, made, SendSettings(ignore_eos=True, timeout_s=60))
        context = tokens.context_length
        tokens.close()

    assert [event.prompt_tokens for event in events] == lengths
    assert context == 4_096
    assert made == synthetic.make(byte_tokens, lengths, output_tokens=2, seed=0)
