from __future__ import annotations

import socket
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paredown.contracts import ScoreRequest, ScoreResult
from paredown.hosts import score_codec, wire

IDS = st.integers(0, 2**31 - 1)
ROWS = st.lists(st.lists(IDS, max_size=4).map(tuple), max_size=4)


def test_a_message_arrives_as_it_was_sent() -> None:
    one, other = socket.socketpair()
    with one, other:
        wire.send(one, {"op": "score", "text": "naïve"}, {"ids": array("i", [1, 2, 3]), "p": array("f", [0.5])})
        message = wire.receive(other)
    assert message.op == "score"
    assert message.header["text"] == "naïve"
    assert message.arrays["ids"].tolist() == [1, 2, 3]
    assert message.arrays["p"].tolist() == [0.5]


def test_a_connection_that_ends_inside_a_message_is_an_error() -> None:
    one, other = socket.socketpair()
    with other:
        with one:
            one.sendall(wire.pack({"op": "info"})[:-3])
        with pytest.raises(wire.WireError, match="closed"):
            wire.receive(other)


@pytest.mark.parametrize(
    "header", [b"[]", b"{", b'{"arrays": [{"name": "x"}]}', b'{"arrays": [{"name": "x", "dtype": "o", "shape": [1]}]}']
)
def test_what_is_no_message_is_an_error(header: bytes) -> None:
    one, other = socket.socketpair()
    with one, other:
        one.sendall(len(header).to_bytes(4, "big") + header)
        with pytest.raises(wire.WireError):
            wire.receive(other)


def test_row_lengths_that_do_not_add_up_are_an_error() -> None:
    with pytest.raises(wire.WireError, match="add up"):
        wire.rows(array("i", [1, 2, 3]), array("i", [1, 1]))


@given(
    st.lists(
        st.builds(
            ScoreRequest, st.lists(IDS, max_size=6).map(tuple), st.integers(1, 9), st.integers(0, 9), ROWS.map(tuple)
        ),
        max_size=5,
    )
)
def test_score_requests_survive_the_wire(requests: list[ScoreRequest]) -> None:
    assert score_codec.unpack_requests(score_codec.pack_requests(requests)) == tuple(requests)


def test_score_results_survive_the_wire_in_single_precision() -> None:
    result = ScoreResult((-0.5, -2.0), ((1, 2), (3,)), ((-0.25, -0.5), (-1.0,)), ((), (-8.0,)))
    empty = ScoreResult((), (), (), ())
    assert score_codec.unpack_results(score_codec.pack_results([result, empty])) == (result, empty)


def test_a_score_message_without_an_array_names_it() -> None:
    arrays = score_codec.pack_requests([ScoreRequest((1, 2), 1)])
    del arrays["starts"]
    with pytest.raises(wire.WireError, match="starts"):
        score_codec.unpack_requests(arrays)
