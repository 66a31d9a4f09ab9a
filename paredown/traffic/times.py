"""Times as logs and traces write them."""

from __future__ import annotations

import datetime as dt
import math

from paredown.errors import UserError
from paredown.traffic.fields import shown

# Numbers from here on count ms, µs or ns since 1970, as no log is from the year 5138.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def seconds(plain: object, where: str) -> float:
    """Seconds, since 1970 for a date (UTC where it names no zone), as they are for a small number.

    Takes ISO 8601, the form of nginx's $time_local, and seconds, ms, µs or ns since 1970 as numbers or text.
    Raises UserError for anything else.
    """
    if isinstance(plain, bool) or not isinstance(plain, str | int | float):
        raise UserError(f"{where} is no time but {shown(plain)}.")
    try:
        number = float(plain)
    except ValueError:
        return _date(str(plain), where)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise UserError(f"{where} is no time but {shown(plain)}.")
    return next((number / divisor for least, divisor in _UNITS if number >= least), number)


def _date(text: str, where: str) -> float:
    for parse in (dt.datetime.fromisoformat, _nginx):
        try:
            found = parse(text.strip())
        except ValueError:
            continue
        return found.replace(tzinfo=found.tzinfo or dt.UTC).timestamp()
    raise UserError(
        f"{where} is no time but {shown(text)}. Write it as 2026-03-01T12:00:00Z or as seconds or milliseconds since "
        "1970."
    )


def _nginx(text: str) -> dt.datetime:
    return dt.datetime.strptime(text, "%d/%b/%Y:%H:%M:%S %z")
