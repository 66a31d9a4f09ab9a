"""A candidate is dropped only when another is better in speed, size and fidelity, beyond noise."""

from __future__ import annotations

import pytest

from paredown.decide.dominance import Contender, dominated_by
from paredown.records.candidate import Rung
from paredown.records.figure import Figure
from paredown.records.golden import Fidelity


def contender(name: str, speed: float | None, size: float, kl: float | None, rung: Rung = Rung.EIGHT_BIT) -> Contender:
    figures = (Figure("decode_speed", "tokens/s", speed, statistic="p50"), Figure("weight_bytes", "bytes", size))
    fidelity = None if kl is None else Fidelity(name, "FULL", (), 32, kl, kl, kl, 0.9, 100)
    return Contender(name, rung, figures, fidelity)


OWN = contender("own", 100.0, 50.0, 0.01)


def test_a_rival_that_is_better_in_everything_dominates() -> None:
    assert dominated_by(OWN, [contender("rival", 120.0, 50.0, 0.01)], 1.1) == "rival"


@pytest.mark.parametrize(
    "rival",
    [
        contender("within noise", 109.0, 50.0, 0.01),
        contender("larger", 120.0, 51.0, 0.01),
        contender("less faithful", 120.0, 50.0, 0.02),
        contender("a rung above", 120.0, 50.0, 0.01, Rung.FOUR_BIT),
        contender("speed not measured", None, 50.0, 0.01),
        contender("fidelity not measured", 120.0, 50.0, None),
    ],
    ids=lambda rival: rival.name,
)
def test_a_rival_that_is_not_better_in_everything_dominates_nobody(rival: Contender) -> None:
    assert dominated_by(OWN, [rival], 1.1) is None
