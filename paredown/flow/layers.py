"""`explain`: why candidates of a finished run were judged as they were, and which of their layers carry the loss."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paredown import environments, registry
from paredown.errors import UnknownNameError, UserError
from paredown.evaluate import sensitivity
from paredown.flow import again, asked, conclude, explain
from paredown.flow.conclude import Conclusion
from paredown.flow.context import Prepared
from paredown.flow.evidence import Evidence
from paredown.flow.progress import Progress
from paredown.records.explanation import Sensitivity
from paredown.report import files
from paredown.report.view import ReportView
from paredown.spec.schema import RunSpec, default_cache
from paredown.store.lock import exclusive
from paredown.store.run_store import RunStore

ESTIMATE_S = 40.0


@dataclass(frozen=True)
class Explained:
    """The view with its explanations, which candidates were asked for, and where the report lies."""

    view: ReportView
    candidates: tuple[str, ...]
    report: Path


def explain_run(
    directory: Path, names: Sequence[str], progress: Progress, *, layers: bool = True, cache: Path | None = None
) -> Explained:
    """Explain candidates of a run, by default the one that its decision is about, into its record and its report.

    layers: also measure which layers carry the loss, where that was not done before
    Raises UserError where there is no run or no such candidate, RecordError when the run did not come to its end.
    """
    if not (directory / "record.sqlite").is_file():
        raise UserError(f"{directory} holds no run (no record.sqlite). Give the directory that `paredown run` made.")
    with exclusive(directory), RunStore(directory) as store:
        prepared, spec = asked.reload(store), asked.spec_of(store)
        found = conclude.conclude(store, prepared, spec)
        chosen = _chosen(found, names)
        explain.remember(store, prepared, found)
        if layers:
            for one in chosen:
                _look_at_layers(store, prepared, spec, found, one, progress, (cache or default_cache()).resolve())
    view = again.view_of(directory)
    return Explained(view, tuple(one.planned.name for one in chosen), files.write(view, directory))


def _chosen(found: Conclusion, names: Sequence[str]) -> list[Evidence]:
    by_name = {one.planned.name: one for one in found.evidence}
    unknown = next((name for name in names if name not in by_name), None)
    if unknown is not None:
        raise UnknownNameError("candidate of this run", unknown, tuple(by_name))
    wanted = list(names) or ([found.decision.closest] if found.decision.closest else [])
    if not wanted:
        raise UserError(f"No candidate of this run came far enough to be explained. It tried: {', '.join(by_name)}.")
    return [by_name[name] for name in wanted]


def _look_at_layers(
    store: RunStore,
    prepared: Prepared,
    spec: RunSpec,
    found: Conclusion,
    one: Evidence,
    progress: Progress,
    cache: Path,
) -> None:
    before = explain.stored_sensitivity(store, one)
    if one.candidate is None or (before is not None and not before.missing):
        return
    reason = sensitivity.why_not(prepared.artifact, one.candidate)
    if reason:
        made = Sensitivity(one.planned.name, missing=reason)
    else:
        engine = registry.engine(prepared.baseline.engine)
        with progress.stage(f"Layers of {one.planned.name}, one at a time", estimate_s=ESTIMATE_S) as stage:
            made = sensitivity.measure(
                prepared.artifact,
                one.candidate,
                found.baseline.texts,
                store.directory / "work" / "layers",
                on_progress=stage.update,
                python=environments.python_of(engine.environment, cache) or Path(sys.executable),
                device="cuda" if spec.device == "cuda" else "cpu",
                threads=prepared.machine.usable_cores,
            )
    if made != before:
        store.put("sensitivity", one.candidate.digest(), replace(made, candidate=one.planned.name))
