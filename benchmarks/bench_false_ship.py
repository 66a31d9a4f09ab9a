"""How often a candidate at the margin ships: exact worst case over flip rates, for every number of prompts.

The requirement is 5.5 % over margins of 1 to 5 points, 20 to 1,000 prompts and flips from the margin up to 20 %, with
every attempt of a run counted. Run:
python benchmarks/bench_false_ship.py [STEP] (every STEP-th number of prompts; 1 = all).
"""

from __future__ import annotations

import sys

import numpy as np

from paredown.decide import alpha
from paredown.stats import power

MARGINS = (0.01, 0.02, 0.03, 0.04, 0.05)
FLIP_RATES_PER_MARGIN = 120
ALLOWED = 0.055


def worst(n: int, margin: float, level: float) -> float:
    """Largest probability to ship at a true drop of exactly the margin."""
    rates = np.linspace(margin, 0.20, FLIP_RATES_PER_MARGIN)
    return max(power.ship_probability(n, margin, float(rate), margin, level) for rate in rates)


def main(step: int) -> int:
    budget = alpha.AlphaBudget()
    print("margin  worst rate  at n  Tango alone  first attempt of a run  five attempts")
    failed = False
    for margin in MARGINS:
        sizes = range(20, 1001, step)
        kept = {n: worst(n, margin, power.non_inferiority_level(n, margin)) for n in sizes}
        at = max(kept, key=kept.__getitem__)
        alone = max(worst(n, margin, 0.05) for n in sizes)
        levels = [budget.total * alpha.SHARE * (1.0 - alpha.SHARE) ** k for k in range(5)]
        attempts = [[worst(n, margin, power.non_inferiority_level(n, margin, a)) for n in sizes] for a in levels]
        together = max(sum(column) for column in zip(*attempts, strict=True))
        failed |= kept[at] > ALLOWED or together > ALLOWED
        print(
            f"{100 * margin:4.0f} pt  {100 * kept[at]:8.2f} %  {at:4d}  {100 * alone:9.2f} %  "
            f"{100 * max(attempts[0]):20.2f} %  {100 * together:11.2f} %"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
