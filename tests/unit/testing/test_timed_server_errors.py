"""Errors of a client against the server's clock, on numbers worked out by hand."""

import pytest

from paredown.records.events import ChunkEvent, RequestEvents
from paredown.testing.timed_server import RequestStamps
from paredown.testing.timed_server_answers import TimedAnswer
from paredown.testing.timed_server_errors import Seen, account, by_delays, by_stamps, seen, server_lateness_s

MS = 1_000_000


def request(id_, sent_ms, arrived_ms, tokens=None):
    tokens = range(len(arrived_ms)) if tokens is None else tokens
    chunks = tuple(ChunkEvent(round(ms * MS), (1000 + n,)) for ms, n in zip(arrived_ms, tokens, strict=True))
    return RequestEvents(id_, (sent_ms - 3) * MS, sent_ms * MS, chunks, 999 * MS, 5, len(chunks), len(chunks), "length")


def server(id_, received_ms, written_ms, planned_ms=None):
    planned_ms = planned_ms or written_ms
    return RequestStamps(
        id_, received_ms * MS, tuple(round(p * MS) for p in planned_ms), tuple(round(w * MS) for w in written_ms)
    )


# Sent at 100, received at 101; written at 151, 171, 192; seen at 152, 171.5, 195.
ONE = request("a", 100, (152, 171.5, 195))
TRUE = server("a", 101, (151, 171, 192), (150, 170, 190))


def test_errors_by_stamps_are_the_differences_of_the_two_clocks_spans():
    errors = by_stamps([seen(ONE)], {"a": TRUE})
    assert errors.ttft_s == pytest.approx([0.052 - 0.050])
    assert errors.itl_s == pytest.approx([0.0195 - 0.020, 0.0235 - 0.021])
    assert errors.mean_itl_s == pytest.approx([0.0215 - 0.0205])


def test_errors_by_delays_take_what_the_server_was_asked_for():
    errors = by_delays([seen(ONE)], TimedAnswer(ttft_ms=50, itl_ms=20, tokens=3))
    assert errors.ttft_s == pytest.approx([0.002])
    assert errors.itl_s == pytest.approx([-0.0005, 0.0035])
    assert errors.mean_itl_s == pytest.approx([0.0015])


def test_a_client_that_keeps_only_means_has_no_errors_by_token():
    errors = by_stamps([Seen("a", 0.05, (), 0.02)], {"a": TRUE})
    assert errors.itl_s == ()
    assert errors.mean_itl_s == pytest.approx([-0.0005])


def test_requests_are_matched_by_id_and_not_by_order():
    other = server("b", 200, (250, 270, 290))
    errors = by_stamps([seen(request("b", 199, (250, 270, 290))), seen(ONE)], {"a": TRUE, "b": other})
    assert errors.ttft_s == pytest.approx([0.001, 0.002])


def test_a_request_that_the_server_never_saw_is_no_match():
    with pytest.raises(KeyError):
        by_stamps([seen(ONE)], {})


def test_lateness_is_counted_from_the_plan():
    assert server_lateness_s([TRUE]) == pytest.approx([0.001, 0.001, 0.002])


def test_nothing_is_lost_when_every_token_is_there():
    found = account([ONE], [TRUE])
    assert (found.written, found.lost, found.surplus, found.unanswered) == (3, 0, 0, 0)
    assert found.delays_s == pytest.approx([0.001, 0.0005, 0.003])


def test_a_lost_token_is_found_by_its_id_even_when_the_next_one_came():
    found = account([request("a", 100, (152, 195), tokens=(0, 2))], [TRUE])
    assert (found.lost, found.surplus) == (1, 0)
    assert found.delays_s == pytest.approx([0.001, 0.003])


def test_a_token_that_came_twice_or_was_never_written_is_surplus():
    assert account([request("a", 100, (152, 153, 171, 195), tokens=(0, 0, 1, 2))], [TRUE]).surplus == 1
    assert account([request("a", 100, (152, 171, 195, 196))], [TRUE]).surplus == 1


def test_a_whole_request_can_be_lost_on_either_side():
    found = account([ONE], [server("b", 1, (2, 3))])
    assert (found.lost, found.surplus, found.unanswered) == (2, 3, 1)
