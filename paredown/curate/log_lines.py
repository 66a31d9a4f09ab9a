"""Lines of request logs as exchanges: a conversation up to the answer, what was asked of it, the answer if logged.

JSONL with one request a line, in the forms that traffic/request_lines.py reads: OpenAI's chat body, its batch form, or
a line that holds the body as `request`, `body` or `request_body` (as JSON or as text that is JSON). The answer stands
in `response` (OpenAI's own form, the chunks of a stream, or a text), or is the last turn of a logged conversation.
Engines render no tools here: they are listed in the system message, and calls in earlier turns are written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paredown.errors import UserError
from paredown.records.traffic import Message
from paredown.traffic import fields, request_lines

ROLES = {"developer": "system", "function": "tool", "system": "system", "user": "user", "assistant": "assistant"}
ROLES |= {"tool": "tool"}
ANSWERS = ("response", "response_body", "completion", "answer", "output")
CONVERSATIONS = ("conversation_id", "conversation", "session_id", "thread_id", "chat_id")
USERS = ("user", "user_id", "end_user", "safety_identifier")
RENDERED = ("<|im_start|>", "<|start_header_id|>", "[INST]", "<start_of_turn>", "<|user|>", "<｜User｜>", "<|turn>")
"""Marks of chat templates: a prompt that holds one was rendered before it was logged."""
ASKED = (
    "You can call one of the tools below. When one fits, answer with a single JSON object such as "
    '{"name": "the tool", "arguments": {"its argument": "value"}} and nothing else.'
)


@dataclass(frozen=True)
class Exchange:
    """One request of a log.

    messages:   ends with the user's turn or a tool's result; tools are listed in the system message
    wants_json: the request asked for JSON; schema: its JSON schema as text, if it gave one
    answer:     the production answer as text, a call as {"name": …, "arguments": …}; empty = not logged
    cut:        the logged answer ended at its length limit
    group:      conversation (or, without one, user) as the log names it; empty = it names none
    max_tokens: the request's own limit
    """

    where: str
    messages: tuple[Message, ...]
    has_tools: bool = False
    wants_json: bool = False
    schema: str = ""
    answer: str = ""
    cut: bool = False
    group: str = ""
    max_tokens: int | None = None


@dataclass(frozen=True)
class Flaw:
    """A line that gives no item. `why` is the same text for all lines of one kind."""

    where: str
    why: str


class _NotUsable(Exception):
    """Why a line gives no item."""


def read(content: bytes, source: str) -> Iterator[Exchange | Flaw]:
    """Each line that is not empty, in order."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        where = f"{source}:{number}"
        if not line.strip():
            continue
        try:
            yield _exchange(_object(line, number), where)
        except _NotUsable as error:
            yield Flaw(where, str(error))


def content_of(source: str) -> bytes:
    """The bytes of a log. Raises UserError when it cannot be read."""
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise UserError(f"Cannot read the log {source}: {error.strerror}. Give a JSONL file of requests.") from error


def _object(line: bytes, number: int) -> Mapping[str, Any]:
    try:
        plain = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError as error:
        raise _NotUsable("not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise _NotUsable("not JSON") from error
    if not isinstance(plain, dict):
        raise _NotUsable("no JSON object")
    return plain


def _exchange(line: Mapping[str, Any], where: str) -> Exchange:
    held = request_lines.body(line)
    request = held if held is not None else line
    turns = _turns(request if "messages" in request or "prompt" in request else line)
    answer, cut = _logged_answer(line)
    if turns and turns[-1].role == "assistant":
        answer, turns = answer or turns[-1].content, turns[:-1]
    if not turns or turns[-1].role not in ("user", "tool"):
        raise _NotUsable("no turn of a user to answer")
    tools = request.get("tools") or request.get("functions") or []
    if not isinstance(tools, list):
        raise _NotUsable("tools are no list")
    wanted = request.get("response_format")
    wanted = wanted if isinstance(wanted, dict) else {}
    kind = wanted.get("type")
    limit = request.get("max_completion_tokens", request.get("max_tokens"))
    return Exchange(
        where,
        _with_tools(turns, tools),
        has_tools=bool(tools),
        wants_json=kind in ("json_object", "json_schema"),
        schema=_schema(wanted) if kind == "json_schema" else "",
        answer=answer,
        cut=cut,
        group=_group(line, request),
        max_tokens=limit if isinstance(limit, int) and limit > 0 else None,
    )


# ── the conversation ─────────────────────────────────────────────────────────────────────────────────────────────


def _turns(request: Mapping[str, Any]) -> tuple[Message, ...]:
    messages = request_lines.parsed(request.get("messages"))
    prompt = request.get("prompt")
    if isinstance(messages, str) or (not messages and isinstance(prompt, str)):
        messages = [{"role": "user", "content": messages or prompt}]
        if any(mark in str(messages or prompt) for mark in RENDERED):
            raise _NotUsable("a prompt with the chat template in it already (log the messages)")
    if not isinstance(messages, list) or not messages:
        raise _NotUsable("no messages")
    plain = [_turn(message) for message in messages]
    try:
        found = fields.messages([message for message in plain if message is not None], "messages")
        for message in found:
            message.content.encode()
    except UserError as error:
        raise _NotUsable("an empty message or one that is no text") from error
    except UnicodeEncodeError as error:
        raise _NotUsable("half of a surrogate pair in a text") from error
    return found


def _turn(message: object) -> Mapping[str, object] | None:
    """One message with a role that templates know; None for an assistant's turn that says nothing."""
    if not isinstance(message, dict):
        raise _NotUsable("a message that is no object")
    role = ROLES.get(str(message.get("role")))
    if role is None:
        raise _NotUsable("a role that is not known")
    content = message.get("content")
    if isinstance(content, list) and any(isinstance(p, dict) and p.get("type", "text") != "text" for p in content):
        raise _NotUsable("images, sound or files in a message")
    if role == "assistant":
        said = "\n".join(filter(None, [content if isinstance(content, str) else "", _calls_text(message)]))
        if not said and not content:
            return None
        content = said or content
    return {"role": role, "content": content}


def _calls_text(message: Mapping[str, Any]) -> str:
    """The calls of an assistant's message: one JSON object, a list for several, empty for none or damaged ones."""
    calls = message.get("tool_calls") or [{"function": call} for call in [message.get("function_call")] if call]
    found = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        arguments = request_lines.parsed(function.get("arguments")) if isinstance(function, dict) else None
        if isinstance(function, dict) and isinstance(function.get("name"), str) and isinstance(arguments, dict):
            found.append({"name": function["name"], "arguments": arguments})
    if not found:
        return ""
    return json.dumps(found[0] if len(found) == 1 else found, ensure_ascii=False)


def _with_tools(turns: tuple[Message, ...], tools: list[Any]) -> tuple[Message, ...]:
    if not tools:
        return turns
    plain = [tool.get("function", tool) if isinstance(tool, dict) else tool for tool in tools]
    listed = "\n".join([ASKED, "", *(json.dumps(tool, ensure_ascii=False) for tool in plain)])
    if turns[0].role == "system":
        return (Message("system", f"{turns[0].content}\n\n{listed}"), *turns[1:])
    return (Message("system", listed), *turns)


def _schema(wanted: Mapping[str, Any]) -> str:
    inner = wanted.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, dict) else None
    return json.dumps(schema, ensure_ascii=False) if isinstance(schema, dict) else ""


# ── answer and group ─────────────────────────────────────────────────────────────────────────────────────────────


def _logged_answer(line: Mapping[str, Any]) -> tuple[str, bool]:
    """Text of the production answer and whether it was cut; ("", False) when the line has none."""
    written = next((line[name] for name in ANSWERS if line.get(name)), None)
    response = request_lines.parsed(written)
    if isinstance(written, str) and not _is_response(response):
        return written, False
    if isinstance(response, list):
        return _streamed(response)
    held = response.get("body", response) if isinstance(response, dict) else None
    held = request_lines.parsed(held)
    choices = held.get("choices") if isinstance(held, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        return "", False
    message = first.get("message") if isinstance(first.get("message"), dict) else first
    assert isinstance(message, dict)
    text = message.get("content") or message.get("text") or ""
    said = _calls_text(message) or (text if isinstance(text, str) else "")
    return said, first.get("finish_reason") == "length"


def _is_response(plain: object) -> bool:
    """Whether text that is JSON is a server's response, not an answer that is JSON itself."""
    first = plain[0] if isinstance(plain, list) and plain else plain
    return isinstance(first, dict) and ("choices" in first or "body" in first)


def _streamed(chunks: list[Any]) -> tuple[str, bool]:
    parts, cut = [], False
    for chunk in chunks:
        choices = chunk.get("choices") if isinstance(chunk, dict) else None
        first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        delta = first.get("delta")
        if isinstance(delta, dict) and delta.get("tool_calls"):
            return "", False
        text = delta.get("content") if isinstance(delta, dict) else first.get("text")
        parts.append(text if isinstance(text, str) else "")
        cut = cut or first.get("finish_reason") == "length"
    return "".join(parts), cut


def _group(line: Mapping[str, Any], request: Mapping[str, Any]) -> str:
    places = [held for one in (line, request) for held in (one, one.get("metadata")) if isinstance(held, dict)]
    for name in (*CONVERSATIONS, *USERS):
        for held in places:
            if isinstance(held.get(name), str | int) and held[name] != "":
                return f"{name} {held[name]}"
    return ""
