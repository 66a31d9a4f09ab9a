"""A rate that rises (or falls) steadily, to see where a server stops keeping up.

The rate is r(t) = from_rate + (to_rate − from_rate)·t/T until T and to_rate afterwards; request k is due when its
integral reaches k. Without `over_s`, T is such that all requests fall into the ramp: T = 2n/(from_rate + to_rate).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from paredown.contracts import LoadShape, Option
from paredown.errors import UserError
from paredown.loadshapes import _options
from paredown.records.figure import Options
from paredown.records.traffic import TrafficRequest

_FROM = Option(name="from_rate", default=1.0, help="requests per second at the start")
_TO = Option(name="to_rate", default=10.0, help="requests per second at the end")
_OVER = Option(name="over_s", default=0.0, help="seconds that the change takes; 0 = as long as there are requests")


def _due(requests: Sequence[TrafficRequest], options: Options) -> Sequence[float]:
    _concurrency(options)
    start = _options.number(LOADSHAPE.name, options, _FROM)
    end = _options.number(LOADSHAPE.name, options, _TO)
    over_s = _options.number(LOADSHAPE.name, options, _OVER) or 2 * len(requests) / (start + end)
    within = over_s * (start + end) / 2
    due = []
    for index in range(len(requests)):
        if index <= within:
            # The smaller root of the integral, in the form that does not cancel when both rates are alike.
            root = math.sqrt(max(start**2 + 2 * index * (end - start) / over_s, 0.0))
            due.append(2 * index / (start + root) if index else 0.0)
        else:
            due.append(over_s + (index - within) / end)
    return due


def _concurrency(options: Options) -> None:
    start = _options.number(LOADSHAPE.name, options, _FROM)
    end = _options.number(LOADSHAPE.name, options, _TO)
    over_s = _options.number(LOADSHAPE.name, options, _OVER)
    if start + end == 0 or (over_s and end == 0):
        raise UserError(
            f"The load shape ramp goes from {start:g} to {end:g} requests/s, so requests would never be sent. Give "
            "to_rate a number greater than 0."
        )


LOADSHAPE = LoadShape(
    name="ramp",
    summary="a request rate that rises or falls steadily",
    due=_due,
    concurrency=_concurrency,
    options=(_FROM, _TO, _OVER),
)
