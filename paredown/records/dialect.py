"""What a server takes of the OpenAI dialect that paredown speaks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """Fields of a request that this server takes; those it refuses are left out, and what that costs is reported.

    ignore_eos:       answers can be forced to their full length
    return_token_ids: chunks say which tokens they carry
    include_usage:    the stream ends with token counts
    max_tokens_field: `max_tokens` or `max_completion_tokens`
    """

    ignore_eos: bool = True
    return_token_ids: bool = True
    include_usage: bool = True
    max_tokens_field: str = "max_tokens"
