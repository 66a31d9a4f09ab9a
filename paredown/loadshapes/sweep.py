"""One load after the other, each heavier, with figures of its own: rates, or numbers of requests in flight."""

from __future__ import annotations

import math
from collections.abc import Sequence

from paredown.contracts import LoadShape, LoadStep, Option
from paredown.errors import UserError
from paredown.loadshapes import _options
from paredown.records.figure import Options

_RATES = Option(name="rates", default="1,2,4,8", help="requests per second of each step, with commas between them")
_CONCURRENCIES = Option(name="concurrencies", default="", help="requests in flight of each step, in place of rates")
_ARRIVALS = Option(
    name="arrivals", default="poisson", help="how requests of a rate arrive", choices=("poisson", "constant_rate")
)
_SEED = Option(name="seed", default=0, help="of random arrivals")


def _steps(options: Options) -> Sequence[LoadStep]:
    rates = options.get(_RATES.name, _RATES.default)
    concurrencies = options.get(_CONCURRENCIES.name, _CONCURRENCIES.default)
    if concurrencies not in ("", None):
        if rates not in (_RATES.default, "", None):
            raise UserError(
                f"The load shape sweep has rates {rates} and concurrencies {concurrencies}; give one of the two."
            )
        counts = _numbers(_CONCURRENCIES, concurrencies, whole=True)
        return [LoadStep(f"{count:g} in flight", "closed_loop", {"concurrency": int(count)}) for count in counts]
    arrivals = options.get(_ARRIVALS.name, _ARRIVALS.default)
    if arrivals not in _ARRIVALS.choices:
        known = " or ".join(map(str, _ARRIVALS.choices))
        raise UserError(f"The load shape sweep has arrivals {arrivals!r}; give {known}.")
    seed = _options.seed(LOADSHAPE.name, options, _SEED)
    return [
        LoadStep(
            f"{rate:g} requests/s",
            str(arrivals),
            {"rate": rate, "seed": seed + index} if arrivals == "poisson" else {"rate": rate},
        )
        for index, rate in enumerate(_numbers(_RATES, rates, whole=False))
    ]


def _numbers(option: Option, value: object, *, whole: bool) -> list[float]:
    wrong = UserError(
        f"The load shape sweep has {option.name} {value!r}; give different "
        f"{'whole numbers from 1 on' if whole else 'numbers greater than 0'} with commas between them, such as 1,2,4,8."
    )
    try:
        numbers = [float(part) for part in str(value).split(",")]
    except ValueError as error:
        raise wrong from error
    if any(not math.isfinite(number) or number <= 0 or (whole and number % 1) for number in numbers):
        raise wrong
    if len(set(numbers)) < len(numbers):
        raise wrong
    return numbers


def _concurrency(options: Options) -> None:
    _steps(options)


LOADSHAPE = LoadShape(
    name="sweep",
    summary="several rates or concurrencies, one after the other",
    steps=_steps,
    concurrency=_concurrency,
    options=(_RATES, _CONCURRENCIES, _ARRIVALS, _SEED),
)
