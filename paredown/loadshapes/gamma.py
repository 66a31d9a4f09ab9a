"""Arrivals that are burstier or steadier than those of independent users: gaps from the gamma distribution.

`burstiness` is the distribution's shape, as in `vllm bench serve --burstiness` (shape = burstiness, scale =
1/(rate·burstiness)): 1 is Poisson, below 1 requests come in bursts, above 1 they come more evenly. The mean gap is
1/rate, its coefficient of variation 1/√burstiness. vLLM then stretches the gaps to end at requests/rate; here they are
left as drawn. The first request is due at once.
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
_BURSTINESS = Option(name="burstiness", default=0.5, help="1 = independent users, below 1 bursts, above 1 more even")
_SEED = Option(name="seed", default=0, help="other arrivals for each")


def _due(requests: Sequence[TrafficRequest], options: Options) -> Sequence[float]:
    rate = _options.number(LOADSHAPE.name, options, _RATE, above=0)
    shape = _options.number(LOADSHAPE.name, options, _BURSTINESS, above=0)
    chance = random.Random(_options.seed(LOADSHAPE.name, options, _SEED))  # noqa: S311  arrivals, no secret
    gaps = (chance.gammavariate(shape, 1 / (rate * shape)) for _ in range(len(requests) - 1))
    return list(itertools.accumulate(gaps, initial=0.0))[: len(requests)]


def _concurrency(options: Options) -> None:
    _options.number(LOADSHAPE.name, options, _RATE, above=0)
    _options.number(LOADSHAPE.name, options, _BURSTINESS, above=0)
    _options.seed(LOADSHAPE.name, options, _SEED)


LOADSHAPE = LoadShape(
    name="gamma",
    summary="random arrivals at a mean rate, in bursts or more even than chance",
    due=_due,
    concurrency=_concurrency,
    options=(_RATE, _BURSTINESS, _SEED),
)
