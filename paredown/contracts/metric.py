"""Metrics: pure functions of raw evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from paredown.records.artifact import Artifact
from paredown.records.events import Trial
from paredown.records.figure import Figure, Samples


@dataclass(frozen=True)
class Evidence:
    """All that a metric may look at. `None` = not there, and then the metric says `missing`, not 0.

    limits: what each request must keep, by metric, in seconds: {"ttft": 0.2, "tpot": 0.05, "e2e": 3.0}
    """

    trial: Trial | None = None
    artifact: Artifact | None = None
    price_usd_per_hour: float | None = None
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Metric:
    """A pure function of raw evidence.

    compute: `Samples` for a metric with a distribution (targets then name a statistic: `ttft_p95`), else `Figure`
    better:  `lower` or `higher`
    requires: what a host or a request may lack, without which nobody can measure it:
              `energy_counter`, `price`, `limits`
    """

    name: str
    unit: str
    better: str
    summary: str
    formula: str
    compute: Callable[[Evidence], Samples | Figure]
    distribution: bool = False
    requires: tuple[str, ...] = ()
