"""The machine-readable report: one plain document for `--json`, made of the records as they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from paredown.records.codec import to_plain
from paredown.report.view import CandidateView, Measured, ReportView

SCHEMA = 1


def document(view: ReportView) -> dict[str, object]:
    """Plain data, ready for `json.dumps(…, allow_nan=False)`: unknown is null with its reason beside it.

    Raw latency samples and per-token divergences are left to the record; their counts are kept. Raises RecordError
    when a figure is NaN or infinite.
    """
    decision = _plain(view.decision)
    decision["candidates"] = [c.verdict.candidate for c in view.candidates]
    return {
        "schema": SCHEMA,
        "decision": decision,
        "asked": to_plain(view.asked),
        "model": to_plain(view.model),
        "machine": to_plain(view.machine),
        "ceilings": to_plain(view.ceilings),
        "baseline": _measured(view.baseline),
        "candidates": [_candidate(candidate) for candidate in view.candidates],
        "noise_floor": to_plain(view.noise_floor),
        "worst_answers": to_plain(view.worst),
        "audit": to_plain(view.findings),
        "error_budget": to_plain(view.alpha),
        "notes": to_plain(view.notes),
        "record": to_plain(view.record),
    }


def _plain(record: object) -> dict[str, object]:
    plain: dict[str, object] = to_plain(record)
    return plain


def _candidate(candidate: CandidateView) -> dict[str, object]:
    verdict = _plain(candidate.verdict)
    verdict.pop("figures")
    fidelity = None
    if candidate.fidelity is not None:
        fidelity = _plain(dataclasses.replace(candidate.fidelity, texts=()))
        fidelity["texts"] = len(candidate.fidelity.texts)
    return {
        "name": candidate.name,
        "planned": to_plain(candidate.planned),
        "verdict": verdict,
        "measured": _measured(candidate.measured),
        "fidelity": fidelity,
        "explanation": explanation(candidate),
    }


def explanation(candidate: CandidateView) -> dict[str, object]:
    """Why one candidate was judged as it was; `layers` is null until somebody asked for it."""
    plain = _plain(candidate.explanation) if candidate.explanation is not None else {}
    return {**plain, "layers": to_plain(candidate.sensitivity)}


def _measured(measured: Measured) -> dict[str, object]:
    plain = _plain(dataclasses.replace(measured, under=()))
    plain["under"] = [
        {
            "traffic": under.traffic,
            "void": under.void,
            "figures": to_plain(under.figures),
            "samples": {s.metric: _counted(len(s.values), s.unit, s.missing) for s in under.samples},
        }
        for under in measured.under
    ]
    return plain


def _counted(count: int, unit: str, missing: str) -> Mapping[str, object]:
    return {"count": count, "unit": unit, "missing": missing}
