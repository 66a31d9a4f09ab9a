"""Targets to what each single request has to keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paredown.records.timing import PER_REQUEST
from paredown.records.verdict import Comparison, Target


def per_request(targets: Sequence[Target]) -> Mapping[str, float]:
    """Limits in seconds by metric, for `Evidence.limits`: the absolute targets on a latency.

    Whatever statistic they name: of several on one metric (`ttft_p50<=100ms`, `ttft_p95<=200ms`) the largest, because
    a request between the two breaks neither target.
    """
    limits: dict[str, float] = {}
    for target in targets:
        if target.metric in PER_REQUEST and not target.relative and target.comparison is Comparison.AT_MOST:
            limits[target.metric] = max(target.value, limits.get(target.metric, 0.0))
    return limits


def ttft_s(targets: Sequence[Target]) -> float | None:
    """The smallest absolute target on TTFT, which bounds how late a client may send; None = there is none."""
    return min((target.value for target in targets if target.metric == "ttft" and not target.relative), default=None)
