"""When a request may be sent again, and after what pause. Off unless asked for: a retry hides a failure."""

from __future__ import annotations

import email.utils
import time

from paredown.client.reading import Sent

FIRST_PAUSE_S, LARGEST_PAUSE_S = 0.5, 30.0


def pause_s(sent: Sent) -> float | None:
    """How long to wait before the next try: what the server asks for, else 0.5 s, doubled each time, at most 30 s.

    None: not to be sent again, because it went through, or failed in a way that another try does not mend. Only
    `refused`, status 429 and 5xx are tried again; none of these has brought a token.
    """
    answer = sent.answer
    if answer is None:
        if sent.failure != "refused":
            return None
    elif not may_mend(answer.status):
        return None
    return wait_s(answer.retry_after if answer is not None else "", sent.attempts)


def may_mend(status: int | None) -> bool:
    """Whether another try may bring what this HTTP status did not: too many requests, or a fault of the server."""
    return status is not None and (status == 429 or status >= 500)


def wait_s(retry_after: str, attempts: int) -> float:
    """The pause after so many attempts, where one is to follow; `retry_after` is the server's header, or empty."""
    asked = _asked_s(retry_after)
    return asked if asked is not None else min(LARGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (attempts - 1))


def _asked_s(retry_after: str) -> float | None:
    """Seconds or an HTTP date (RFC 9110, 10.2.3); None for anything else."""
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None
