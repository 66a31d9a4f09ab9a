"""The timed server does what it was told when it was told, and its stamps say so."""

import itertools
import json
import socket
import time

import pytest

from paredown.testing import timed_server_answers as answers
from paredown.testing.timed_server import RequestStamps, serving_timed
from paredown.testing.timed_server_answers import TimedAnswer
from paredown.testing.timed_server_protocol import Connection, Service


class HandLoop:
    """An event loop's timers, fired by hand."""

    def __init__(self):
        self.timers = []

    def call_at(self, when, call):
        self.timers.append([when, call])
        return self

    def cancel(self):
        self.timers.pop()

    def fire(self):
        self.timers.pop(0)[1]()


class Line:
    """A transport that keeps what is written."""

    def __init__(self):
        self.written = []

    def write(self, data):
        self.written.append(data)


def connected(answer):
    loop, line = HandLoop(), Line()
    service = Service(answer, loop)
    connection = Connection(service)
    connection._transport = line
    return service, connection, line, loop


def post(body):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nX-Request-ID: from-header\r\n\r\n"
    return head % len(raw) + raw


def events(stream):
    """The `data` of each event, by undoing HTTP's chunks by hand."""
    body, rest = b"", stream.split(b"\r\n\r\n", 1)[1]
    while True:
        size, rest = rest.split(b"\r\n", 1)
        if int(size, 16) == 0:
            break
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return [event.removeprefix(b"data: ") for event in body.split(b"\n\n") if event]


AT_ONCE = TimedAnswer(ttft_ms=0, itl_ms=0, tokens=3)


def answered(answer, request):
    service, connection, line, loop = connected(answer)
    connection.data_received(request)
    loop.fire()
    return service, line


def test_an_answer_has_one_token_a_chunk_then_usage_and_the_end():
    _, line = answered(TimedAnswer(ttft_ms=0, itl_ms=0, tokens=3, cached_tokens=9), post({"stream": True}))
    *tokens, usage, done = events(b"".join(line.written))
    choices = [json.loads(token)["choices"][0] for token in tokens]
    assert [choice["finish_reason"] for choice in choices] == [None, None, "length"]
    assert all(choice["delta"]["content"] == " the" for choice in choices)
    assert json.loads(usage)["usage"]["completion_tokens"] == 3
    assert json.loads(usage)["usage"]["prompt_tokens_details"] == {"cached_tokens": 9}
    assert done == b"[DONE]"
    assert len(line.written) == 3


def test_token_ids_are_named_only_when_asked_for():
    _, plain = answered(AT_ONCE, post({"stream": True}))
    assert "token_ids" not in json.loads(events(b"".join(plain.written))[0])["choices"][0]
    _, asked = answered(AT_ONCE, post({"stream": True, "return_token_ids": True}))
    ids = [json.loads(event)["choices"][0]["token_ids"] for event in events(b"".join(asked.written))[:3]]
    assert ids == [[1000], [1001], [1002]]


def test_usage_and_the_end_can_be_left_out_and_a_role_chunk_put_first():
    answer = TimedAnswer(ttft_ms=0, itl_ms=0, tokens=2, usage=False, done=False, role_ms=0)
    service, line = answered(answer, post({"stream": True}))
    role, *tokens = events(b"".join(line.written))
    assert json.loads(role)["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert len(tokens) == 2
    assert service._records()[0]["tokens_from"] == 1


def test_an_early_head_leaves_before_the_first_chunk():
    _, connection, line, _ = connected(TimedAnswer(early_head=True))
    connection.data_received(post({"stream": True}))
    assert line.written == [answers.HEAD]


def test_a_request_in_pieces_is_received_with_its_last_byte():
    service, connection, _, _ = connected(AT_ONCE)
    request = post({"stream": True, "messages": [{"role": "user", "content": "request=r-7 hello"}]})
    for index in range(0, len(request) - 1, 40):
        connection.data_received(request[index : min(index + 40, len(request) - 1)])
    assert not service.streams
    before_ns = time.monotonic_ns()
    connection.data_received(request[-1:])
    assert service.streams[0].id == "r-7"
    assert before_ns <= service.streams[0].received_ns <= time.monotonic_ns()


def test_requests_are_called_by_their_header_or_number_when_the_prompt_has_no_id():
    service, connection, _, loop = connected(AT_ONCE)
    connection.data_received(post({"stream": True}))
    loop.fire()
    connection.data_received(post({"stream": True}).replace(b"X-Request-ID", b"X-Other"))
    assert [stream.id for stream in service.streams] == ["from-header", "#1"]


def test_a_second_request_that_came_early_is_answered_after_the_first():
    service, connection, line, loop = connected(AT_ONCE)
    connection.data_received(post({"stream": True}) * 2)
    assert len(service.streams) == 1
    loop.fire()
    assert len(service.streams) == 2
    assert len(line.written) == 6


def test_nothing_is_written_for_a_client_that_went_away():
    service, connection, line, loop = connected(AT_ONCE)
    connection.data_received(post({"stream": True}))
    connection.connection_lost(None)
    loop.fire()
    assert service.streams[0].written_ns == []
    assert line.written == []


@pytest.mark.parametrize("body", [{"stream": False}, {}, b"no json", b"[]"])
def test_what_is_no_stream_is_refused(body):
    _, connection, line, _ = connected(AT_ONCE)
    connection.data_received(post(body))
    assert line.written[0].startswith(b"HTTP/1.1 400")


def test_plans_without_jitter_are_the_delays_asked_for():
    plan = answers.planner(TimedAnswer(ttft_ms=50, itl_ms=20, tokens=3, role_ms=1.5))
    assert plan() == (1_500_000, 50_000_000, 70_000_000, 90_000_000)


def test_jitter_is_bounded_varied_and_the_same_for_the_same_seed():
    answer = TimedAnswer(ttft_ms=50, itl_ms=20, tokens=40, jitter_ms=5, seed=3)
    first, again = answers.planner(answer), answers.planner(answer)
    times = first()
    gaps = [times[0] - 30_000_000, *(b - a for a, b in itertools.pairwise(times))]
    assert all(15_000_000 <= gap <= 25_000_000 for gap in gaps)
    assert max(gaps) - min(gaps) > 5_000_000
    assert again() == times
    assert first() != times


@pytest.mark.parametrize("wrong", [{"tokens": 0}, {"ttft_ms": -1}, {"role_ms": 60}, {"ttft_ms": 1, "role_ms": 1.5}])
def test_answers_that_cannot_be_given_are_refused(wrong):
    with pytest.raises(ValueError, match="must"):
        TimedAnswer(**wrong)


def test_stamps_lie_between_what_a_plain_socket_sends_and_sees():
    with serving_timed(TimedAnswer(ttft_ms=30, itl_ms=10, tokens=3, role_ms=5, early_head=True)) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            sent_ns = time.monotonic_ns()
            line.sendall(post({"stream": True, "messages": [{"role": "user", "content": "request=mine"}]}))
            arrivals, stream = [], b""
            while not stream.endswith(b"0\r\n\r\n"):
                received = line.recv(65536)
                stream += received
                arrivals += [time.monotonic_ns()] * received.count(b"data: {")
        record = server.record()
    (stamps,) = record.requests
    assert isinstance(stamps, RequestStamps)
    assert stamps.id == "mine"
    assert sent_ns <= stamps.received_ns
    assert [planned - stamps.received_ns for planned in stamps.planned_ns] == [30_000_000, 40_000_000, 50_000_000]
    assert all(p <= w for p, w in zip(stamps.planned_ns, stamps.written_ns, strict=True))
    role_ns, *tokens_ns, _usage_ns = arrivals
    assert stamps.received_ns + 5_000_000 <= stamps.role_ns <= role_ns
    assert all(w <= a for w, a in zip(stamps.written_ns, tokens_ns, strict=True))
    assert record.cpu_s > 0
