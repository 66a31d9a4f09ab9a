"""The view of a run that has ended, from its record alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from paredown.flow import asked, conclude, view
from paredown.report.view import ReportView
from paredown.store.run_store import RunStore


def view_of(directory: Path) -> ReportView:
    """Everything that the reports show. Raises UserError where there is no run, RecordError where it is not whole."""
    with RunStore(directory, read_only=True) as store:
        prepared, spec = asked.reload(store), asked.spec_of(store)
        found = conclude.conclude(store, prepared, spec)
        paragraph = f"{found.decision.paragraph} · Record: {store.root_digest()}"
        return view.make(store, prepared, spec, replace(found, decision=replace(found.decision, paragraph=paragraph)))
