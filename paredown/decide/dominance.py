"""Whether a candidate is worth the golden prompts: not when another is better in everything beyond noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paredown.records.candidate import Rung
from paredown.records.figure import Figure
from paredown.records.golden import Fidelity


@dataclass(frozen=True)
class Contender:
    """What is known of a candidate after its short trial."""

    name: str
    rung: Rung
    figures: tuple[Figure, ...]
    fidelity: Fidelity | None


def dominated_by(own: Contender, rivals: Sequence[Contender], noise_ratio: float) -> str | None:
    """Name of a rival, on the same rung or below, that is faster beyond noise, no larger and no less faithful.

    noise_ratio: the largest speed ratio that two trials of the same model showed (A/A), at least 1
    A figure that is missing on either side dominates nobody.
    """
    for rival in rivals:
        faster = _ratio(rival, own, "decode_speed")
        larger = _ratio(rival, own, "weight_bytes")
        if (
            rival.rung <= own.rung
            and faster is not None
            and larger is not None
            and faster > noise_ratio
            and larger <= 1.0
            and _as_faithful(rival.fidelity, own.fidelity)
        ):
            return rival.name
    return None


def _ratio(rival: Contender, own: Contender, metric: str) -> float | None:
    above, below = _value(rival, metric), _value(own, metric)
    return above / below if above is not None and below else None


def _value(contender: Contender, metric: str) -> float | None:
    return next((f.value for f in contender.figures if f.metric == metric and f.statistic in ("", "p50")), None)


def _as_faithful(rival: Fidelity | None, own: Fidelity | None) -> bool:
    if rival is None or own is None or rival.mean_kl is None or own.mean_kl is None:
        return False
    return rival.mean_kl <= own.mean_kl
