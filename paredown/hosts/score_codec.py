"""Score requests and results to flat arrays and back."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from paredown.contracts import ScoreRequest, ScoreResult
from paredown.hosts.wire import Ragged, WireError, ragged, rows

Arrays = Mapping[str, "array[Any]"]


def pack_requests(requests: Sequence[ScoreRequest]) -> dict[str, array[Any]]:
    ids = ragged((r.token_ids for r in requests), "i4")
    at = _ragged_twice([r.at_ids for r in requests], "i4")
    return {
        "ids": ids.flat,
        "lengths": ids.lengths,
        "starts": array("i", (r.start for r in requests)),
        "top_k": array("i", (r.top_k for r in requests)),
        **_named("at", at),
    }


def unpack_requests(arrays: Arrays) -> tuple[ScoreRequest, ...]:
    """Raises WireError when arrays are missing or do not fit together."""
    try:
        ids = rows(arrays["ids"], arrays["lengths"])
        at_ids = _rows_twice(arrays, "at")
        starts, top_k = arrays["starts"], arrays["top_k"]
    except KeyError as error:
        raise WireError(f"A score message needs the array {error}.") from error
    if not len(ids) == len(at_ids) == len(starts) == len(top_k):
        raise WireError("The arrays of a score message are of different lengths.")
    return tuple(
        ScoreRequest(token_ids=t, start=s, top_k=k, at_ids=a)
        for t, s, k, a in zip(ids, starts, top_k, at_ids, strict=True)
    )


def pack_results(results: Sequence[ScoreResult]) -> dict[str, array[Any]]:
    target = ragged((r.target_logprobs for r in results), "f4")
    return {
        "target": target.flat,
        "lengths": target.lengths,
        **_named("top_ids", _ragged_twice([r.top_ids for r in results], "i4")),
        **_named("top_logprobs", _ragged_twice([r.top_logprobs for r in results], "f4")),
        **_named("at_logprobs", _ragged_twice([r.at_logprobs for r in results], "f4")),
    }


def unpack_results(arrays: Arrays) -> tuple[ScoreResult, ...]:
    return tuple(
        ScoreResult(target_logprobs=target, top_ids=top_ids, top_logprobs=top, at_logprobs=at)
        for target, top_ids, top, at in zip(
            rows(arrays["target"], arrays["lengths"]),
            _rows_twice(arrays, "top_ids"),
            _rows_twice(arrays, "top_logprobs"),
            _rows_twice(arrays, "at_logprobs"),
            strict=True,
        )
    )


def _ragged_twice(tables: Sequence[Sequence[Sequence[float]]], dtype: str) -> tuple[Ragged, array[int]]:
    """Tables of rows: one ragged array of all rows, and the number of rows of each table."""
    return ragged(chain.from_iterable(tables), dtype), array("i", (len(table) for table in tables))


def _named(name: str, packed: tuple[Ragged, array[int]]) -> dict[str, array[Any]]:
    inner, tables = packed
    return {name: inner.flat, f"{name}_lengths": inner.lengths, f"{name}_rows": tables}


def _rows_twice(arrays: Arrays, name: str) -> list[tuple[tuple[Any, ...], ...]]:
    flat_rows = rows(arrays[name], arrays[f"{name}_lengths"])
    tables, at = [], 0
    for count in arrays[f"{name}_rows"]:
        tables.append(tuple(flat_rows[at : at + count]))
        at += count
    if at != len(flat_rows):
        raise WireError(f"The rows of {name!r} do not add up.")
    return tables
