"""Requests of many independent users: gaps drawn from the exponential distribution, at a mean rate.

The first request is due at once. Gaps are left as they were drawn: stretching them so that the last one falls on
requests/rate (as vLLM's benchmark does) would make their sum less random than that of real arrivals.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from paredown.contracts import LoadShape, Option
from paredown.loadshapes import _options
from paredown.records.figure import Options
from paredown.records.traffic import TrafficRequest

_RATE = Option(name="rate", default=1.0, help="requests per second, on average")
_SEED = Option(name="seed", default=0, help="other arrivals for each")


def _due(requests: Sequence[TrafficRequest], options: Options) -> Sequence[float]:
    rate = _options.number(LOADSHAPE.name, options, _RATE, above=0)
    chance = random.Random(_options.seed(LOADSHAPE.name, options, _SEED))  # noqa: S311  arrivals, no secret
    gaps = (chance.expovariate(rate) for _ in range(len(requests) - 1))
    return list(itertools.accumulate(gaps, initial=0.0))[: len(requests)]


def _concurrency(options: Options) -> None:
    _options.number(LOADSHAPE.name, options, _RATE, above=0)
    _options.seed(LOADSHAPE.name, options, _SEED)


LOADSHAPE = LoadShape(
    name="poisson",
    summary="random arrivals of independent users at a mean rate",
    due=_due,
    concurrency=_concurrency,
    options=(_RATE, _SEED),
)
