"""Rows of a golden set from logged requests and their frozen answers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paredown import registry
from paredown.curate.log_lines import Exchange
from paredown.records.golden import Answer, GoldenItem
from paredown.records.traffic import Message

AUTO, JUDGE, PERPLEXITY, TOOL_CALL, JSON = "auto", "judge", "perplexity", "tool_call", "json_output"
MOST_TOKENS = 8192
LEAST_TOKENS = 64
_WRAPPED = re.compile(r"\s*(?:<tool_call>(.*?)(?:</tool_call>|\Z)|```[a-zA-Z]*\s*\n(.*?)```)\s*\Z", re.DOTALL)


@dataclass(frozen=True)
class Frozen:
    """A request with the answer that candidates are compared with.

    origin: `log` or `baseline`; tokens: length of the answer, about
    """

    exchange: Exchange
    stratum: str
    answer: str
    origin: str
    tokens: int
    cut: bool = False


def row(frozen: Frozen, *, scorer: str, salt: bytes) -> dict[str, Any]:
    """The item as a line of JSONL holds it.

    scorer: `auto` checks a single call of a tool, or JSON that was asked for, by syntax, and takes the perplexity of
            any other answer; `perplexity` and `judge` are taken for all
    salt:   keeps the hash of a user's name from being looked up
    """
    messages = [message.plain for message in frozen.exchange.messages]
    group = frozen.exchange.group
    fields: dict[str, Any] = {
        "id": f"log-{content_digest(frozen.exchange.messages)}",
        "slice": frozen.stratum,
        "messages": messages,
        **_judged(frozen, scorer),
        "tags": {
            "log": frozen.exchange.where.rpartition("/")[2],
            "answer": f"{frozen.origin}{', cut' if frozen.cut else ''}",
        },
    }
    if group:
        fields["cluster"] = hashlib.sha256(salt + group.encode("utf-8", "replace")).hexdigest()[:16]
    return fields


def content_digest(messages: tuple[Message, ...]) -> str:
    plain = json.dumps([[message.role, message.content] for message in messages])
    return hashlib.sha256(plain.encode()).hexdigest()[:16]


def _judged(frozen: Frozen, scorer: str) -> Mapping[str, Any]:
    """Scorer, answer, and what else the scorer takes."""
    most = frozen.exchange.max_tokens or max(LEAST_TOKENS, 2 * frozen.tokens)
    written = {"max_tokens": min(most, MOST_TOKENS)}
    if scorer == JUDGE:
        return {"scorer": JUDGE, "answer": frozen.answer, **written}
    if scorer == AUTO and not frozen.cut:
        value = _parsed(frozen.answer)
        if frozen.exchange.has_tools and isinstance(value, dict) and _agrees(frozen, TOOL_CALL, value, {}):
            return {"scorer": TOOL_CALL, "answer": value, **written}
        if frozen.exchange.wants_json and isinstance(value, dict | list):
            schema = frozen.exchange.schema
            for arguments in ([{"schema": schema}] if schema else []) + [{}]:
                if _agrees(frozen, JSON, value, arguments):
                    return {"scorer": JSON, "answer": value, "arguments": arguments, **written}
    return {"scorer": PERPLEXITY, "choices": [frozen.answer], "answer": "0"}


def _parsed(text: str) -> object:
    """The JSON value that the text is, also in a fence or in call tags; None when it is none."""
    wrapped = _WRAPPED.match(text)
    inner = next(filter(None, wrapped.groups()), text) if wrapped else text
    try:
        return json.loads(inner)
    except (ValueError, RecursionError):
        return None


def _agrees(frozen: Frozen, scorer: str, value: object, arguments: Mapping[str, str]) -> bool:
    """Whether the scorer takes such an item, and finds the frozen answer right."""
    expected = json.dumps(value, ensure_ascii=False)
    item = GoldenItem("x", "x", scorer, frozen.exchange.messages, expected, arguments=arguments)
    judge = registry.scorer(scorer)
    try:
        judge.check(item)
        return judge.score(item, Answer("x", text=frozen.answer)).value == 1.0
    except ValueError:
        return False
