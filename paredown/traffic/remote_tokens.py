"""The tokenizer of a server that somebody else runs, through its own POST /tokenize.

Two forms are known. vLLM (and our own hosts) take `messages` and answer with `tokens` and `max_model_len`. llama.cpp's
server takes text: POST /apply-template turns messages into it, GET /props tells the context. Which one it is shows at
the first use; nothing is sent before.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paredown.client.server import Server, address, tls_context
from paredown.errors import UserError
from paredown.hosts.chat_template import Conversation

TIMEOUT_S = 60.0
_UNAVAILABLE = frozenset({401, 403})


class RemoteTokens:
    """`Tokens` of a server. Keeps one connection open; `close` ends it. Not for several threads at once."""

    def __init__(self, server: Server, timeout_s: float = TIMEOUT_S) -> None:
        self._server, self._timeout_s = server, timeout_s
        self._connection: http.client.HTTPConnection | None = None
        self._takes_messages: bool | None = None
        self._context_length: int | None = None

    @classmethod
    def of(cls, url: str, key: str, model: str, ca_file: Path | None = None) -> RemoteTokens:
        """url: ends before `/v1`; key: bearer token, empty for none; ca_file: PEM, None = the system's authorities."""
        return cls(Server(url, key, model, ca_file))

    @property
    def context_length(self) -> int | None:
        """As the server says; None when it does not. Raises UserError as `encode_conversation` does."""
        if self._takes_messages is None:
            self.encode_conversation([{"role": "user", "content": "Hello"}])
        return self._context_length

    def encode_conversation(self, messages: Conversation) -> tuple[int, ...]:
        """Token ids of the conversation under the server's chat template.

        Raises UserError when it has no such route, cannot be reached or refuses the key.
        """
        if self._takes_messages is None:
            return self._first(messages)
        found = self._with_messages(messages) if self._takes_messages else self._with_text(messages)
        if found is None:
            raise self._cannot("its answer to POST /tokenize holds no token ids")
        return found

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _first(self, messages: Conversation) -> tuple[int, ...]:
        """Find out which form the server takes."""
        found = self._with_messages(messages)
        if found is not None:
            self._takes_messages = True
            return found
        found = self._with_text(messages)
        if found is None:
            raise self._cannot("it has no POST /tokenize that takes conversations")
        self._takes_messages = False
        settings = self._asked("GET", "/props", None).get("default_generation_settings")
        context = settings.get("n_ctx") if isinstance(settings, dict) else None
        self._context_length = context if isinstance(context, int) else None
        return found

    def _with_messages(self, messages: Conversation) -> tuple[int, ...] | None:
        """The form of vLLM; None when the server does not have it."""
        # Special tokens come from the template, as in the chat request whose length this is to be.
        body = {"messages": list(messages), "add_generation_prompt": True, "add_special_tokens": False}
        answer = self._asked("POST", "/tokenize", {"model": self._server.model, **body} if self._server.model else body)
        limit = answer.get("max_model_len")
        self._context_length = limit if isinstance(limit, int) else self._context_length
        return _ids(answer)

    def _with_text(self, messages: Conversation) -> tuple[int, ...] | None:
        """The form of llama.cpp; None when the server does not have it."""
        prompt = self._asked("POST", "/apply-template", {"messages": list(messages)}).get("prompt")
        if not isinstance(prompt, str):
            return None
        # What its own chat route does with the rendered text.
        body = {"content": prompt, "add_special": True, "parse_special": True}
        return _ids(self._asked("POST", "/tokenize", body))

    def _asked(self, method: str, path: str, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """The JSON object that the server answers, empty for an error status or anything else."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if content is not None else {}
        if self._server.key:
            headers["Authorization"] = f"Bearer {self._server.key}"
        target = address(self._server).base_path + path
        try:
            status, answer = self._exchanged(method, target, content, headers)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._cannot(f"it could not be asked: {error or type(error).__name__}") from error
        if status in _UNAVAILABLE:
            raise self._cannot(f"it refused the key (status {status})")
        try:
            plain = json.loads(answer) if status == http.HTTPStatus.OK else {}
        except ValueError:
            return {}
        return plain if isinstance(plain, dict) else {}

    def _exchanged(
        self, method: str, target: str, content: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        """Status and body. A connection that the server has closed meanwhile is opened anew, once."""
        for fresh in (self._connection is None, True):
            connection = self._open()
            try:
                connection.request(method, target, content, dict(headers))
                response = connection.getresponse()
                return response.status, response.read()
            except (OSError, http.client.HTTPException):
                self.close()
                if fresh:
                    raise
        raise AssertionError("the second attempt returns or raises")

    def _open(self) -> http.client.HTTPConnection:
        if self._connection is None:
            where, context = address(self._server), tls_context(self._server)
            self._connection = (
                http.client.HTTPConnection(where.host, where.port, timeout=self._timeout_s)
                if context is None
                else http.client.HTTPSConnection(where.host, where.port, timeout=self._timeout_s, context=context)
            )
        return self._connection

    def _cannot(self, why: str) -> UserError:
        return UserError(
            f"The tokenizer of {self._server.url} cannot be used: {why}. Give the model's own tokenizer: --tokenizer "
            "DIRECTORY."
        )


def _ids(answer: Mapping[str, Any]) -> tuple[int, ...] | None:
    tokens = answer.get("tokens")
    if isinstance(tokens, list) and tokens and all(isinstance(token, int) for token in tokens):
        return tuple(tokens)
    return None
