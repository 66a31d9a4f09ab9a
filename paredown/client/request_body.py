"""The JSON body of a request: greedy, streamed, with usage and token ids where the server takes those fields."""

from __future__ import annotations

import json
from typing import Any

from paredown.records.dialect import Dialect
from paredown.records.traffic import TrafficRequest


def request_body(model: str, request: TrafficRequest, dialect: Dialect, *, ignore_eos: bool) -> bytes:
    """ignore_eos: force the wanted length, where the server can."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [message.plain for message in request.messages],
        dialect.max_tokens_field: request.output_tokens,
        "temperature": 0,
        "stream": True,
    }
    if dialect.include_usage:
        body["stream_options"] = {"include_usage": True}
    if dialect.return_token_ids:
        body["return_token_ids"] = True
    if ignore_eos and dialect.ignore_eos:
        body["ignore_eos"] = True
    return json.dumps(body, ensure_ascii=False).encode()
