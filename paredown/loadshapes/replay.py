"""Requests as they arrived in the trace or log that they were taken from, stretched or squeezed by `time_scale`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from paredown.contracts import LoadShape, Option
from paredown.errors import UserError
from paredown.loadshapes import _options
from paredown.records.figure import Options
from paredown.records.traffic import TrafficRequest

_TIME_SCALE = Option(name="time_scale", default=1.0, help="2 = twice as slow, half the rate; 0.5 = twice as fast")


def _due(requests: Sequence[TrafficRequest], options: Options) -> Sequence[float]:
    scale = _options.number(LOADSHAPE.name, options, _TIME_SCALE, above=0)
    times = []
    for request in requests:
        if request.at_s is None:
            raise UserError(
                f"The load shape replay sends requests when they arrived, but {request.id} has no arrival time. Give "
                "a trace or a server log with times, or another load shape, such as poisson:rate=4."
            )
        times.append(request.at_s)
    for before, after in itertools.pairwise(times):
        if after < before:
            raise UserError(
                f"The load shape replay needs requests in the order of their arrival; one at {after:g} s follows one "
                f"at {before:g} s. Sort them."
            )
    return [(at_s - times[0]) * scale for at_s in times]


def _concurrency(options: Options) -> None:
    _options.number(LOADSHAPE.name, options, _TIME_SCALE, above=0)


LOADSHAPE = LoadShape(
    name="replay",
    summary="arrivals as they were in the trace",
    due=_due,
    concurrency=_concurrency,
    options=(_TIME_SCALE,),
)
