"""JSONL of requests: OpenAI's own form, its batch form, a server's or proxy's log, or a Mooncake trace.

A line of a log may hold the request as `request`, `body`, `request_body` (as JSON or as text that is JSON) or be the
request itself; `response` or `usage` beside it tell how long prompt and answer were (LiteLLM puts `prompt_tokens` and
`completion_tokens` into the line itself). Where messages are there they are kept; where they are not, lengths are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from paredown.errors import UserError
from paredown.records.traffic import Message
from paredown.traffic import fields, trace_files
from paredown.traffic.rows import FieldNames, Flaw, Row
from paredown.traffic.times import seconds

TIMES = (
    *("timestamp", "time", "ts", "@timestamp", "start_time", "startTime", "created_at", "created"),
    *("arrival_time", "time_iso8601", "time_local", "msec"),
)
_BODIES = ("body", "request", "request_body")
_PROMPT_TOKENS = ("prompt_tokens", "input_tokens")
_OUTPUT_TOKENS = ("completion_tokens", "output_tokens")
_MAX_TOKENS = ("max_completion_tokens", "max_tokens")


def rows(content: str, source: str) -> Iterator[Row | Flaw]:
    """Each line as a request, or what is wrong with it."""
    for where, plain in fields.json_lines(content, source):
        if isinstance(plain, ValueError):
            yield Flaw(f"{where} is not JSON: {plain}.")
            continue
        try:
            line = fields.mapping(plain, where)
            yield trace_files.mooncake_row(line, where) if trace_files.is_mooncake(line) else _row(line, where)
        except UserError as error:
            yield Flaw(str(error))


def _row(line: Mapping[str, Any], where: str) -> Row:
    held = body(line)
    usage = _usage(line)
    messages, given = _prompt(held if held is not None else line, line, where)
    prompt_name, prompt = _first(_PROMPT_TOKENS, usage)
    output_name, output = _first(_OUTPUT_TOKENS, usage)
    if output is None:
        output_name, output = _first(_MAX_TOKENS, held if held is not None else line)
    if not messages and given is None and prompt is None:
        raise UserError(
            f"{where} needs either `prompt` or `messages`, or, for a log without texts, `usage` with prompt_tokens."
        )
    length = given if given is not None else prompt
    time_name, time = _time(line)
    name = line.get("custom_id", line.get("id"))
    return Row(
        where,
        at_s=None if time is None else seconds(time, f"{where}, {time_name}"),
        prompt_tokens=None if messages else fields.whole(length, f"{where}, {prompt_name}"),
        output_tokens=None if output is None else fields.whole(output, f"{where}, {output_name}"),
        messages=messages,
        id="" if name is None else str(name),
        names=FieldNames(time_name, prompt_name, output_name),
    )


def _prompt(body: Mapping[str, Any], line: Mapping[str, Any], where: str) -> tuple[tuple[Message, ...], int | None]:
    """The conversation, or the number of tokens of a prompt that is given as token ids."""
    if "prompt" in body and "messages" in body:
        raise UserError(f"{where} needs either `prompt` or `messages`.")
    held = body if "prompt" in body or "messages" in body else line
    prompt = held.get("prompt")
    if isinstance(prompt, list) and prompt and all(isinstance(token, int) for token in prompt):
        return (), len(prompt)
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if prompt is not None:
        return (Message("user", fields.text(prompt, f"{where}, prompt")),), None
    messages = parsed(held.get("messages"))
    if isinstance(messages, str):
        return (Message("user", fields.text(messages, f"{where}, messages")),), None
    if messages:
        return fields.messages(messages, f"{where}, messages"), None
    return (), None


def body(line: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The request in a line that holds more than it; None when the line is the request."""
    held = (parsed(line.get(name)) for name in _BODIES)
    return next((plain for plain in held if isinstance(plain, dict)), None)


def _usage(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where the token counts are: `usage`, that of the response (or of its last chunk), or the line itself."""
    response = parsed(line.get("response"))
    chunks = response if isinstance(response, list) else [response]
    for held in (line, *reversed(chunks)):
        inner = held.get("body", held) if isinstance(held, dict) and held is not line else held
        usage = inner.get("usage") if isinstance(inner, dict) else None
        if isinstance(usage, dict):
            return usage
    return line


def _time(line: Mapping[str, Any]) -> tuple[str, object]:
    """Name and value of the time, when there is one."""
    name, time = _first(TIMES, line)
    response = parsed(line.get("response"))
    if time is None and isinstance(response, dict) and response.get("created") is not None:
        return "response.created", response["created"]
    return name, time


def _first(names: tuple[str, ...], held: Mapping[str, Any]) -> tuple[str, Any]:
    return next(((name, held[name]) for name in names if held.get(name) is not None), (names[0], None))


def parsed(plain: object) -> object:
    """What text that is JSON stands for; anything else as it is."""
    if isinstance(plain, str) and plain.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(plain)
        except ValueError:
            return plain
    return plain
