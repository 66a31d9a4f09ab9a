"""Every way in which a stream can be cut up gives the same events."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paredown.client.sse import LARGEST_EVENT_BYTES, EventParser, EventTooLargeError


def parse(*pieces: bytes) -> list[bytes]:
    parser = EventParser()
    events = [event for piece in pieces for event in parser.feed(piece)]
    return events + parser.finish()


@given(
    texts=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n")), max_size=5),
    ending=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    cuts=st.lists(st.integers(0, 400), max_size=12),
)
def test_events_do_not_depend_on_where_the_stream_is_cut(texts: list[str], ending: bytes, cuts: list[int]) -> None:
    stream = b"".join(b"data: " + text.encode() + ending + ending for text in texts)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    pieces = [stream[start:end] for start, end in itertools.pairwise(edges)]

    assert parse(*pieces) == [text.encode() for text in texts]


def test_data_may_come_without_a_space() -> None:
    assert parse(b"data:{}\n\n") == [b"{}"]


def test_only_the_first_space_is_not_data() -> None:
    assert parse(b"data:  x\n\n") == [b" x"]


def test_comments_and_other_fields_are_skipped() -> None:
    assert parse(b": keep-alive\n\nevent: message\nid: 7\nretry: 10\ndata: x\n\n") == [b"x"]


def test_several_data_lines_are_one_event() -> None:
    assert parse(b"data: a\ndata: b\n\n") == [b"a\nb"]


def test_an_event_is_not_given_out_before_its_blank_line() -> None:
    parser = EventParser()

    assert parser.feed(b"data: x\n") == []
    assert parser.feed(b"\n") == [b"x"]


def test_the_last_event_may_lack_its_blank_line() -> None:
    assert parse(b"data: [DONE]") == [b"[DONE]"]


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory() -> None:
    with pytest.raises(EventTooLargeError):
        parse(b"data: " + b"x" * LARGEST_EVENT_BYTES)


def test_a_carriage_return_and_its_line_feed_may_come_apart() -> None:
    assert parse(b"data: a\r", b"\ndata: b\r", b"\n\r", b"\n") == [b"a\nb"]
