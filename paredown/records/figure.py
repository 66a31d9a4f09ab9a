"""One measured or computed figure, with its unit, count, spread, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Scalar = str | int | float | bool | None
Options = Mapping[str, Scalar]


@dataclass(frozen=True)
class Figure:
    """A figure. `value is None` means not measured, and then `missing` says why; it is never 0 by default.

    low, high: limits of the interval at `confidence` (two-sided; None = unbounded, printed as infinity)
    count:     how many independent samples it rests on
    """

    metric: str
    unit: str
    value: float | None
    count: int = 0
    statistic: str = ""
    low: float | None = None
    high: float | None = None
    confidence: float = 0.95
    missing: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """Name as used in a target, for example `ttft_p95` or `weight_bytes`."""
        return f"{self.metric}_{self.statistic}" if self.statistic else self.metric

    @property
    def void(self) -> bool:
        """Whether its trial was void, so that it may not be used; the note begins with `void:` and the reason."""
        return self.note.startswith("void:")


@dataclass(frozen=True)
class Samples:
    """The samples of a metric that has a distribution, in `unit`, one per request or per token.

    blocks: for each sample the index of the independent block (process, time slice) it came from
    """

    metric: str
    unit: str
    values: tuple[float, ...]
    blocks: tuple[int, ...] = ()
    missing: str = ""
    note: str = ""
