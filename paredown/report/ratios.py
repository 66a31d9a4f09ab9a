"""A figure of a candidate over the baseline's, with its limits where both were measured in turns."""

from __future__ import annotations

from dataclasses import dataclass

from paredown.records.figure import Figure
from paredown.report import units
from paredown.report.view import CandidateView, ReportView


@dataclass(frozen=True)
class Ratio:
    """A figure over the baseline's. value None = not measured (`missing` says why).

    low, high: by the rounds in which both were measured in turns; differs False = no difference beyond noise
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    missing: str = ""
    differs: bool | None = None

    @property
    def text(self) -> str:
        return units.missing_text(self.missing) if self.value is None else units.ratio(self.value)

    @property
    def percent(self) -> str:
        return units.missing_text(self.missing) if self.value is None else units.percent(self.value, 0)

    @property
    def interval(self) -> str:
        """`3.50–3.72×`, and whether that is a difference at all; empty where the two were not measured in turns."""
        if self.value is None or (self.low is None and self.high is None):
            return ""
        limits = units.interval_text(self.low, self.high, "ratio")
        return f"{limits}, no difference beyond noise" if self.differs is False else limits


def ratio_to_baseline(view: ReportView, candidate: CandidateView, name: str, absent: str = "") -> Ratio:
    """By rounds where both were measured in turns, else the quotient of the two figures without limits."""
    found = next((one for one in candidate.verdict.ratios if one.figure == name and one.in_turns), None)
    if found is None:
        return ratio_of(candidate.measured.figure(name), view.baseline.figure(name), absent)
    return Ratio(found.ratio, found.low, found.high, differs=found.differs)


def ratio_of(figure: Figure | None, base: Figure | None, absent: str = "") -> Ratio:
    """`figure` ÷ `base`; not measured when either is not or is of a void trial, or when the baseline's is zero."""
    for of, one in (("", figure), ("of the baseline: ", base)):
        if one is not None and one.value is not None and one.void:
            return Ratio(None, missing=f"{of}{one.note}")
    if figure is None or figure.value is None:
        return Ratio(None, missing=(figure.missing if figure else "") or absent)
    if base is None or base.value is None:
        return Ratio(None, missing="of the baseline: " + ((base.missing if base else "") or units.NOT_MEASURED))
    if base.value == 0:
        return Ratio(None, missing="the baseline's figure is zero")
    return Ratio(figure.value / base.value)
