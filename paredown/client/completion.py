"""One answer of a chat model as a whole text, not streamed: for a model that is asked about something, not measured."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from paredown.client import ask, retries
from paredown.client.ask import Reply
from paredown.client.server import CHAT_PATH, Server
from paredown.records.traffic import Message

MOST_TRIES = 4
# A server that asks for a longer pause is not waited for.
LONGEST_WAIT_S = 60.0
_SHOWN = 200


@dataclass(frozen=True)
class Fields:
    """What this server takes in a request: the name of the length limit, and whether temperature may be set."""

    max_tokens: str = "max_tokens"
    temperature: bool = True


@dataclass(frozen=True)
class Completion:
    """failure: why there is no text, as the rest of a sentence (`did not answer within 60 s`); empty when there is one.

    fields: what the server took, for the next request
    """

    text: str = ""
    finish_reason: str = ""
    failure: str = ""
    tries: int = 1
    fields: Fields = Fields()


def complete(
    server: Server,
    messages: Sequence[Message],
    *,
    max_tokens: int,
    timeout_s: float,
    fields: Fields | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Completion:
    """The answer to a conversation, greedy where the server lets that be asked for.

    No connection, 429 and 5xx are tried again, four times in all, after the pause that the server asks for; what takes
    longer than `timeout_s` is not. Never raises for what the server does; UserError for a wrong URL, key or CA file.
    """
    fields, tries = fields or Fields(), 0
    while True:
        tries += 1
        reply = ask.post_json(server, CHAT_PATH, _body(server, messages, max_tokens, fields), timeout_s)
        if reply.status == 200:
            return replace(_read(reply), tries=tries, fields=fields)
        smaller = _without_refused(fields, reply)
        if smaller != fields:
            fields, tries = smaller, tries - 1
            continue
        again = retries.may_mend(reply.status) or reply.failure == "refused"
        pause = retries.wait_s(reply.retry_after, tries)
        if not again or tries == MOST_TRIES or pause > LONGEST_WAIT_S:
            return Completion(failure=_failure(reply, tries, timeout_s), tries=tries, fields=fields)
        sleep(pause)


def _body(server: Server, messages: Sequence[Message], max_tokens: int, fields: Fields) -> Mapping[str, object]:
    body: dict[str, object] = {
        "messages": [message.plain for message in messages],
        fields.max_tokens: max_tokens,
        "stream": False,
    }
    if server.model:
        body["model"] = server.model
    if fields.temperature:
        body["temperature"] = 0
    return body


def _without_refused(fields: Fields, reply: Reply) -> Fields:
    """Without what the server complains about, where leaving it out or naming it otherwise may help."""
    if reply.status not in (400, 422):
        return fields
    if "max_tokens" in reply.words:
        fields = replace(fields, max_tokens="max_completion_tokens")
    return replace(fields, temperature=False) if "temperature" in reply.words else fields


def _read(reply: Reply) -> Completion:
    try:
        value = reply.value()
    except (ValueError, RecursionError):
        value = None
    choices = value.get("choices") if isinstance(value, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    text = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(first, Mapping) or not isinstance(message, Mapping):
        return Completion(failure=f"answered with no completion: {_shown(reply.content.decode(errors='replace'))}")
    finish = str(first.get("finish_reason") or "")
    if not isinstance(text, str) or not text.strip():
        return Completion(finish_reason=finish, failure=f"answered with no text (finish reason {finish or 'none'!r})")
    return Completion(text, finish)


def _failure(reply: Reply, tries: int, timeout_s: float) -> str:
    after = f" after {tries} tries" if tries > 1 else ""
    if reply.failure == "timeout":
        return f"did not answer within {timeout_s:g} s"
    if reply.status is None:
        return f"did not answer{after} ({reply.failure}: {_shown(reply.words)})"
    return f"answered {reply.status}{after} and says: {_shown(reply.words)}"


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return json.dumps(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…", ensure_ascii=False)
