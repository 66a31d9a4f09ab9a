"""Refuses, before anything runs, a target that nobody can measure on this machine or from this request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paredown.contracts import Metric
from paredown.errors import UserError
from paredown.records.machine import Machine
from paredown.records.verdict import Target
from paredown.spec import limits
from paredown.spec.targets import QUALITY_DROP


def check(
    targets: Sequence[Target], metrics: Mapping[str, Metric], machine: Machine, price_usd_per_hour: float | None
) -> None:
    """Raises UserError for the first target whose metric requires what this machine or request does not have."""
    lacking = _lacking(targets, machine, price_usd_per_hour)
    for target in targets:
        if target.metric == QUALITY_DROP:
            continue
        for requirement in metrics[target.metric].requires:
            if requirement in lacking:
                raise UserError(f"The target {target.text!r} cannot be measured here: {lacking[requirement]}")


def _lacking(targets: Sequence[Target], machine: Machine, price_usd_per_hour: float | None) -> Mapping[str, str]:
    lacking: dict[str, str] = {}
    if not machine.energy_counter:
        lacking["energy_counter"] = (
            "this machine has no energy counter that can be read (RAPL or NVML). Leave the target out, or run on a "
            "machine that has one."
        )
    if price_usd_per_hour is None:
        lacking["price"] = "there is no price. Add it, for example --price-per-hour 0.80 (US dollars)."
    if not limits.per_request(targets):
        lacking["limits"] = (
            "no target says what a good request is. Add one on a latency, for example --target 'ttft_p95<=200ms'."
        )
    return lacking
