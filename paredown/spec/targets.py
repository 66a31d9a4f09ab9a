"""Targets as text (`ttft_p95<=200ms`, `weight_bytes<=55%`, `quality_drop[safety]<=3pt`) to records."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from paredown.contracts import Metric
from paredown.errors import UnknownNameError, UserError
from paredown.records.verdict import Comparison, Target
from paredown.spec import units

QUALITY_DROP = "quality_drop"
POOLED = "all"
STATISTICS = ("p50", "p95", "p99", "mean")
DEFAULT_STATISTIC = "p50"
ALIASES: Mapping[str, str] = {
    "throughput": "output_throughput",
    "memory": "peak_memory",
    "latency": "e2e",
    "speed": "decode_speed",
    "size": "weight_bytes",
    "disk": "disk_bytes",
    "bits": "bits_per_parameter",
}

_SHAPE = re.compile(r"^\s*([A-Za-z][\w.]*)\s*(?:\[([^\]]*)\])?\s*(<=|>=|≤|≥|==|=<|=>|<|>|=)\s*(\S.*?)\s*$")
_VALUE = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\D.*)?$")
_COMPARISONS = {"<=": Comparison.AT_MOST, "≤": Comparison.AT_MOST, ">=": Comparison.AT_LEAST, "≥": Comparison.AT_LEAST}
_RELATIVE = {"x": 1.0, "×": 1.0, "%": 0.01}


def parse_all(texts: Sequence[str], metrics: Mapping[str, Metric]) -> tuple[Target, ...]:
    """Every target. Raises UserError for the first that cannot be, or when one is asked for twice."""
    found: dict[tuple[str, str, str, Comparison, bool], Target] = {}
    for text in texts:
        target = parse(text, metrics)
        key = (target.metric, target.statistic, target.slice, target.comparison, target.relative)
        if key in found:
            raise UserError(f"Two targets ask for the same thing: {found[key].text!r} and {text!r}. Keep one.")
        found[key] = target
    return tuple(found.values())


def parse(text: str, metrics: Mapping[str, Metric]) -> Target:
    """One target, its value in the metric's base unit (a ratio when relative). Raises UserError, UnknownNameError."""
    match = _SHAPE.match(text)
    if match is None:
        raise UserError(
            f"{text!r} is no target. Write metric, <= or >=, value and unit: 'ttft_p95<=200ms', 'weight_bytes<=55%'."
        )
    name, slice_name, sign, value_text = match.groups()
    if sign not in _COMPARISONS:
        wanted = "<=" if "<" in sign else ">=" if ">" in sign else "<= or >="
        raise UserError(f"{text!r} compares with {sign!r}. Write {wanted} instead.")
    number, unit = _number(text, value_text)
    blank = Target(name, _COMPARISONS[sign], number, unit, text.strip(), slice=(slice_name or "").strip())
    if name == QUALITY_DROP:
        return _quality(blank, bracketed=slice_name is not None)
    if slice_name is not None:
        raise UserError(f"{text!r}: only {QUALITY_DROP} can name a slice in brackets. Write {name!r} without them.")
    return _figure(blank, metrics)


def _number(text: str, value_text: str) -> tuple[float, str]:
    match = _VALUE.match(value_text)
    if match is None:
        raise UserError(f"{text!r}: {value_text!r} is no number with a unit, such as 200ms, 6GiB, 3.5x or 55%.")
    value, unit = float(match.group(1)), (match.group(2) or "").strip()
    if not 0.0 < value < float("inf"):
        raise UserError(_not_positive(text, value))
    return value, unit


def _not_positive(text: str, value: float) -> str:
    if value == 0.0 and QUALITY_DROP in text:
        return (
            f"{text!r}: a drop of at most 0 can never be shown, because a finite number of prompts always leaves some "
            "uncertainty. Write a margin such as 1pt, and mark the prompts that must not be lost as zero_tolerance."
        )
    return f"{text!r}: the value must be larger than 0."


def _quality(target: Target, *, bracketed: bool) -> Target:
    text = target.text
    if target.comparison is not Comparison.AT_MOST:
        raise UserError(f"{text!r}: a drop is limited from above. Write {text.replace('>=', '<=')!r}.")
    if bracketed and not target.slice:
        raise UserError(f"{text!r}: the brackets are empty. Name a slice, or leave them out for all prompts together.")
    points = units.factor(target.unit, "fraction")
    if points is None:
        raise UserError(f"{text!r}: a drop is given in percentage points. Write '{target.value:g}pt'.")
    if target.value * points >= 1.0:
        raise UserError(f"{text!r}: a drop of 100 points or more allows everything. Write a margin such as 2pt.")
    return replace(target, value=target.value * points, unit="fraction", slice=target.slice or POOLED)


def _figure(target: Target, metrics: Mapping[str, Metric]) -> Target:
    metric, statistic = _metric(target.metric, metrics)
    if metric.distribution:
        statistic = statistic or DEFAULT_STATISTIC
    elif statistic:
        raise UserError(f"{target.text!r}: {metric.name} is one figure and has no {statistic}. Write {metric.name!r}.")
    right = Comparison.AT_MOST if metric.better == "lower" else Comparison.AT_LEAST
    if target.comparison is not right:
        raise UserError(f"{target.text!r}: {metric.name} is better when it is {metric.better}. Write {right.value}.")
    named = replace(target, metric=metric.name, statistic=statistic)
    # Of a share, % is the share itself (`good_fraction>=95%`), and not a ratio to the baseline's share.
    if metric.unit == "fraction" and target.unit == "%":
        if target.value > 100.0:
            raise UserError(f"{target.text!r}: {metric.name} is a share of the whole, at most 100%.")
        return replace(named, value=target.value * 0.01, unit=metric.unit)
    if target.unit in _RELATIVE:
        return replace(named, value=target.value * _RELATIVE[target.unit], unit="x", relative=True)
    return replace(named, value=target.value * _factor(target, metric), unit=metric.unit)


def _factor(target: Target, metric: Metric) -> float:
    found = units.factor(target.unit, metric.unit)
    if found is not None:
        return found
    is_a = units.QUANTITIES.get(metric.unit, f"in {metric.unit}")
    if not target.unit:
        relative = "0.5x" if metric.unit == "fraction" else "0.5x or 50%"
        raise UserError(f"{target.text!r} has no unit: {metric.name} is {is_a}. Relative: {relative}.")
    if units.base_of(target.unit) is not None:
        raise UserError(f"{target.text!r}: {metric.name} is {is_a}, and {target.unit!r} is none of that.")
    near = _nearest(target.unit, units.known(metric.unit))
    raise UserError(f"{target.text!r}: unknown unit {target.unit!r}. {near}{metric.name} is {is_a}.")


def _nearest(word: str, known: Sequence[str]) -> str:
    lowered = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), lowered, n=1, cutoff=0.5)
    return f"Did you mean {lowered[near[0]]!r}? " if near else ""


def _metric(word: str, metrics: Mapping[str, Metric]) -> tuple[Metric, str]:
    """The metric and the statistic that `word` names; the longest metric name wins (`e2e_50` is a metric)."""
    if word in metrics:
        return metrics[word], ""
    if ALIASES.get(word) in metrics:
        return metrics[ALIASES[word]], ""
    stem, _, statistic = word.rpartition("_")
    name = ALIASES.get(stem, stem)
    if name in metrics:
        if statistic in STATISTICS:
            return metrics[name], statistic
        if re.fullmatch(r"p\d+(\.\d+)?|max|min|median|avg", statistic):
            raise UserError(f"{word!r}: there is no statistic {statistic!r}. Known: {', '.join(STATISTICS)}.")
    if statistic in STATISTICS:
        raise UnknownNameError("metric", stem, [*metrics, QUALITY_DROP])
    raise UnknownNameError("metric", word, [*metrics, QUALITY_DROP])
