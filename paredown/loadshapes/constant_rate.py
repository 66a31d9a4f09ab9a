"""Requests at equal distances in time, however slow the server is."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.contracts import LoadShape, Option
from paredown.loadshapes import _options
from paredown.records.figure import Options
from paredown.records.traffic import TrafficRequest

_RATE = Option(name="rate", default=1.0, help="requests per second")


def _due(requests: Sequence[TrafficRequest], options: Options) -> Sequence[float]:
    rate = _options.number(LOADSHAPE.name, options, _RATE, above=0)
    return [index / rate for index in range(len(requests))]


def _concurrency(options: Options) -> None:
    _options.number(LOADSHAPE.name, options, _RATE, above=0)


LOADSHAPE = LoadShape(
    name="constant_rate",
    summary="a fixed number of requests per second, equally spaced",
    due=_due,
    concurrency=_concurrency,
    options=(_RATE,),
)
