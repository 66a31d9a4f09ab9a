"""Finds out what a server takes, by asking it once with everything and leaving out what it complains about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from paredown.client import ask, event_loop
from paredown.client.ask import no_answer
from paredown.client.clock import MonotonicClock
from paredown.client.reading import Sent, body_text, read, server_words
from paredown.client.server import CHAT_PATH, MODELS_PATH, Server, base_url
from paredown.client.streaming import SendSettings, exchange, open_session
from paredown.errors import UserError
from paredown.records.dialect import Dialect
from paredown.records.events import RequestEvents
from paredown.records.traffic import Message, TrafficRequest

# Each round but the first leaves out at least one of four fields, or all of them at once.
MOST_REQUESTS = 6
_QUESTION = TrafficRequest("probe", (Message("user", "Say hello."),), 8)
_BARE = Dialect(ignore_eos=False, return_token_ids=False, include_usage=False)


def probe(server: Server, timeout_s: float) -> Dialect:
    """Send one short request, and again without the fields that the server refuses (at most six in all).

    A field that it takes and does not heed counts as refused: token ids or usage that did not come, an answer that
    ended before its forced length. Raises UserError when the server cannot be reached or trusted, refuses the key,
    does not know the URL or the model, or fails; with the server's own words.
    """
    dialect = Dialect()
    tried = 0
    while True:
        sent = event_loop.run(_send(replace(server, dialect=dialect), timeout_s))
        tried += 1
        if sent.answer is None or sent.answer.status is None:
            failure = read(sent)
            raise no_answer(server, failure.failure, failure.detail)
        if sent.answer.status == 200:
            return _heeded(server, read(sent), dialect)
        smaller = _without_refused(dialect, body_text(sent.answer)) if sent.answer.status in (400, 422) else None
        if smaller is None or tried == MOST_REQUESTS:
            raise _refusal(server, sent.answer.status, server_words(sent.answer))
        dialect = smaller


def first_model(server: Server, timeout_s: float) -> str:
    """The first name in the server's list of models. Raises UserError as `probe` does, and for a list without one."""
    reply = ask.get(server, MODELS_PATH, timeout_s)
    if reply.status is None:
        raise no_answer(server, reply.failure, reply.words)
    if reply.status != 200:
        raise _refusal(server, reply.status, reply.words, MODELS_PATH)
    try:
        value = reply.value()
    except ValueError:
        value = None
    models = value.get("data") if isinstance(value, Mapping) else None
    first = models[0] if isinstance(models, list) and models else None
    name = first.get("id") if isinstance(first, Mapping) else None
    if not isinstance(name, str) or not name:
        raise UserError(
            f"{base_url(server.url)}{MODELS_PATH} lists no model; say which one to measure, with --model-name NAME."
        )
    return name


async def _send(server: Server, timeout_s: float) -> Sent:
    settings = SendSettings(ignore_eos=True, timeout_s=timeout_s)
    async with open_session(server, MonotonicClock()) as session:
        return await exchange(session, _QUESTION, session.clock.now_ns(), settings)


def _without_refused(dialect: Dialect, text: str) -> Dialect | None:
    """Without the fields that the complaint names; without all optional ones where it names none; None = no use."""
    smaller = dialect
    if "ignore_eos" in text:
        smaller = replace(smaller, ignore_eos=False)
    if "return_token_ids" in text:
        smaller = replace(smaller, return_token_ids=False)
    if "stream_options" in text or "include_usage" in text:
        smaller = replace(smaller, include_usage=False)
    if "max_tokens" in text:
        smaller = replace(smaller, max_tokens_field="max_completion_tokens")
    if smaller == dialect:
        smaller = replace(_BARE, max_tokens_field=dialect.max_tokens_field)
    return smaller if smaller != dialect else None


def _heeded(server: Server, events: RequestEvents, dialect: Dialect) -> Dialect:
    if events.failure:
        raise UserError(
            f"{server.url} took a short request and did not answer it as a stream should be "
            f"({events.failure}: {events.detail})."
        )
    stopped_early = events.finish_reason == "stop" and events.output_tokens < events.wanted_tokens
    return replace(
        dialect,
        ignore_eos=dialect.ignore_eos and not stopped_early,
        return_token_ids=dialect.return_token_ids and all(chunk.token_ids for chunk in events.chunks),
        include_usage=dialect.include_usage and events.prompt_tokens is not None,
    )


def _refusal(server: Server, status: int, words: str, path: str = CHAT_PATH) -> UserError:
    url = base_url(server.url) + path
    said = f"The server says: {words}"
    if status in (401, 403):
        sent = "was not accepted" if server.key else "is missing"
        return UserError(
            f"{url} answered {status}: the API key {sent}. Put it into an environment variable and name that with "
            f"--api-key-variable. {said}"
        )
    if status == 404:
        model = f", or it has no model {server.model!r} (--model-name)" if server.model else ""
        return UserError(
            f"{url} answered 404: the server is elsewhere (--endpoint takes its base without /v1, for example "
            f"http://127.0.0.1:8000){model}. {said}"
        )
    if status == 429 or status >= 500:
        return UserError(f"{url} answered {status}: it cannot be measured while it is overloaded or failing. {said}")
    return UserError(f"{url} answered {status} and says: {words}")
