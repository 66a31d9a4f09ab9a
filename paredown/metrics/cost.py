"""What a million output tokens cost at the throughput of this trial."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.events import Block
from paredown.records.figure import Figure
from paredown.stats.figures import over_blocks


def _compute(evidence: Evidence) -> Figure:
    trial, price = evidence.trial, evidence.price_usd_per_hour
    if price is None:
        return Figure("cost", "usd/Mtok", None, missing="no price per hour was given")
    if trial is None:
        return Figure("cost", "usd/Mtok", None, missing="no trial was run")

    def usd_per_million(block: Block) -> float | None:
        rate = timing.output_rate(block, timing.steady_window(block, trial.concurrency))
        return price / 3600.0 / rate * 1e6 if rate else None

    missing, note = timing.nothing_succeeded(trial), f"at {price:g} usd an hour and {trial.concurrency} in flight"
    return over_blocks("cost", "usd/Mtok", trial, usd_per_million, missing, note)


METRIC = Metric(
    name="cost",
    unit="usd/Mtok",
    better="lower",
    summary="price of a million output tokens under this load",
    formula="price per hour / output tokens per hour in the steady window",
    compute=_compute,
    requires=("price",),
)
