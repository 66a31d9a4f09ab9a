"""Reads what came back for a request: bytes with their times become raw events. Never raises.

A failure of the server or of the line is a recorded result of that request, in a class of its own:

    refused          no connection could be made
    bad_certificate  the server's certificate was not signed by a trusted authority, or not for this name
    status_NNN       the server answered with that HTTP status
    error_object     an error object in place of a chunk
    malformed        not HTTP, not an event stream, not JSON, or not the shape of a chunk
    truncated        the stream ended without a finish reason
    no_tokens        it finished and carried no token
    timeout          not finished in time, whether it was silent or slow
    stalled          it had begun and then said nothing for longer than the limit for that (none by default)
    disconnected     the connection broke before the answer had its finish reason
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass

from paredown.client.connection import Answer
from paredown.client.sse import EventParser, EventTooLargeError
from paredown.client.stream_state import StreamState, error_text, read_event
from paredown.records.events import RequestEvents
from paredown.records.traffic import TrafficRequest

EVENT_STREAM = "text/event-stream"
_SHOWN_BYTES = 300


@dataclass(frozen=True)
class Sent:
    """A request that has ended, unread. `answer` is None when it never got through: `failure` and `detail` say why."""

    request: TrafficRequest
    scheduled_ns: int
    sent_ns: int
    answer: Answer | None
    failure: str = ""
    detail: str = ""
    attempts: int = 1


class AnswerReader:
    """Reads one answer, as much at a time as the caller can spare."""

    def __init__(self, sent: Sent) -> None:
        self._sent, self._state, self._parser = sent, StreamState(), EventParser()
        answer = sent.answer
        streamed = answer is not None and answer.status == 200 and answer.content_type == EVENT_STREAM
        self._pieces = iter(answer.pieces) if answer is not None and streamed else iter(())
        self._streamed = streamed

    def read(self, pieces: int | None = None) -> bool:
        """Take in so many pieces (None = all that are left); True when there is nothing left to read."""
        state, count = self._state, 0
        for arrived_ns, piece in itertools.islice(self._pieces, pieces):
            count += 1
            try:
                events = self._parser.feed(piece)
            except EventTooLargeError as error:
                state.fail("malformed", str(error))
                return True
            for data in events:
                read_event(state, data, arrived_ns)
                if state.failure or state.done:
                    return True
        return pieces is None or count < pieces

    def events(self) -> RequestEvents:
        """Everything read and judged; call it once."""
        self.read()
        sent, state = self._sent, self._state
        if sent.answer is None:
            state.fail(sent.failure, sent.detail)
        elif not self._streamed:
            _judge_body(state, sent.answer)
        else:
            self._judge_stream(sent.answer)
        last_ns = sent.answer.last_ns if sent.answer is not None else None
        return RequestEvents(
            id=sent.request.id,
            scheduled_ns=sent.scheduled_ns,
            sent_ns=sent.sent_ns,
            chunks=state.token_chunks(),
            finished_ns=None if state.failure else last_ns,
            prompt_tokens=state.usage_prompt_tokens,
            output_tokens=state.output_tokens(),
            wanted_tokens=sent.request.output_tokens,
            finish_reason=state.finish_reason,
            failure=state.failure,
            detail=state.detail,
            text="".join(state.text),
            cached_tokens=state.cached_tokens,
            empty_ns=state.tokenless_ns(),
            attempts=sent.attempts,
        )

    def _judge_stream(self, answer: Answer) -> None:
        state = self._state
        if not state.failure and not state.done and not answer.failure:
            self._read_rest(answer)
        # The line may break once everything has been said.
        if answer.failure and not state.done and not (answer.failure == "disconnected" and state.finish_reason):
            state.fail(answer.failure, answer.detail)
        if not state.finish_reason:
            done = "with" if state.done else "without"
            state.fail("truncated", f"The stream ended {done} [DONE] and without a finish reason.")
        if not state.token_chunks():
            state.fail("no_tokens", "The stream finished and carried no token.")

    def _read_rest(self, answer: Answer) -> None:
        """An event without its closing blank line: whole, or cut off by the end of the stream."""
        for data in self._parser.finish():
            read_event(self._state, data, answer.last_ns or 0)
        if self._state.failure == "malformed":
            self._state.failure = "truncated"


def read(sent: Sent) -> RequestEvents:
    """The events of one request."""
    return AnswerReader(sent).events()


def body_text(answer: Answer) -> str:
    """The whole body as text; what is not UTF-8 is replaced."""
    return b"".join(piece for _, piece in answer.pieces).decode(errors="replace")


def server_words(answer: Answer) -> str:
    """What the server says went wrong: the message of its error object, else the beginning of its body."""
    text = body_text(answer)
    try:
        message = error_text(json.loads(text))
    except ValueError:
        message = ""
    return message or text[:_SHOWN_BYTES].strip() or f"{answer.reason or answer.status}, without a body"


def _judge_body(state: StreamState, answer: Answer) -> None:
    if answer.status is not None and answer.status != 200:
        state.fail(f"status_{answer.status}", server_words(answer))
        return
    if answer.failure:
        state.fail(answer.failure, answer.detail)
        return
    text = body_text(answer)
    try:
        message = error_text(json.loads(text))
    except ValueError:
        message = ""
    if message:
        state.fail("error_object", message)
    else:
        shown = text[:_SHOWN_BYTES]
        state.fail("malformed", f"Answered {answer.content_type!r} and not an event stream: {shown!r}")
