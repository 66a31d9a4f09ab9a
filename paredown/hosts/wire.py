"""Messages of the scoring socket: 4 bytes big-endian length, a JSON header, then the raw arrays it lists.

Arrays are flat little-endian `i4` or `f4`; the header names each with its shape: `{"op": …, "arrays": [{"name",
"dtype", "shape"}]}`. Ragged data travel as one flat array and one array of lengths.
"""

from __future__ import annotations

import json
import math
import socket
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TYPE_CODES = {"i4": "i", "f4": "f"}
MAX_HEADER_BYTES = 64 << 20


class WireError(Exception):
    """The other side closed the connection, or sent what is no message."""


@dataclass(frozen=True)
class WireMessage:
    """A decoded message. `arrays` are flat; a shape is only needed where the reader cannot know it."""

    header: Mapping[str, Any]
    arrays: Mapping[str, array[Any]] = field(default_factory=dict)

    @property
    def op(self) -> str:
        return str(self.header.get("op", ""))


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths as one flat array and their lengths."""

    flat: array[Any]
    lengths: array[int]


def ragged(rows: Iterable[Sequence[float]], dtype: str) -> Ragged:
    """Pack rows into a flat array of `dtype` (`i4`, `f4`) and their lengths."""
    flat: array[Any] = array(TYPE_CODES[dtype])
    lengths = array("i")
    for row in rows:
        flat.extend(row)
        lengths.append(len(row))
    return Ragged(flat, lengths)


def rows(flat: array[Any], lengths: array[int]) -> list[tuple[Any, ...]]:
    """The rows that `ragged` packed. Raises WireError when the lengths do not add up."""
    found, at = [], 0
    for length in lengths:
        found.append(tuple(flat[at : at + length]))
        at += length
    if at != len(flat):
        raise WireError(f"Row lengths add up to {at}, but the array holds {len(flat)} values.")
    return found


def pack(header: Mapping[str, Any], arrays: Mapping[str, array[Any]] | None = None) -> bytes:
    """One whole message as bytes."""
    arrays = arrays or {}
    codes = {code: name for name, code in TYPE_CODES.items()}
    listed = [{"name": n, "dtype": codes[a.typecode], "shape": [len(a)]} for n, a in arrays.items()]
    text = json.dumps({**header, "arrays": listed}, separators=(",", ":")).encode()
    return b"".join([len(text).to_bytes(4, "big"), text, *(_little_endian(a) for a in arrays.values())])


def send(connection: socket.socket, header: Mapping[str, Any], arrays: Mapping[str, array[Any]] | None = None) -> None:
    connection.sendall(pack(header, arrays))


def receive(connection: socket.socket) -> WireMessage:
    """Read one message. Raises WireError when the connection ends or the bytes are no message."""
    length = int.from_bytes(_exactly(connection, 4), "big")
    if length > MAX_HEADER_BYTES:
        raise WireError(f"A header of {length} bytes is too long.")
    try:
        header = json.loads(_exactly(connection, length))
        arrays = {entry["name"]: _read_array(connection, entry) for entry in header.get("arrays", ())}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise WireError(f"Not a message: {error}") from error
    return WireMessage(header, arrays)


def _read_array(connection: socket.socket, entry: Mapping[str, Any]) -> array[Any]:
    values = array(TYPE_CODES[entry["dtype"]])
    values.frombytes(_exactly(connection, math.prod(entry["shape"]) * values.itemsize))
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _little_endian(values: array[Any]) -> bytes:
    if sys.byteorder == "big":
        values = array(values.typecode, values)
        values.byteswap()
    return values.tobytes()


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray(count)
    view, got = memoryview(data), 0
    while got < count:
        received = connection.recv_into(view[got:])
        if received == 0:
            raise WireError("The connection was closed.")
        got += received
    return bytes(data)
