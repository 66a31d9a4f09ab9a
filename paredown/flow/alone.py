"""One model or server measured by itself: opens the record, makes the subject, does the work, writes the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paredown.flow import record_place
from paredown.flow import subject as subjects
from paredown.flow.progress import Progress
from paredown.flow.subject import ModelAsked, ServerAsked, Subject
from paredown.records import codec
from paredown.records.measurement import Measurement
from paredown.report import measurement as reports
from paredown.report.files import replace_whole
from paredown.spec.schema import default_cache
from paredown.store.run_store import RunStore

Work = Callable[[Subject, RunStore, Path], Measurement]
"""Gets the subject, the record, and a directory for its files (traces)."""


@dataclass(frozen=True)
class Kept:
    """What was found, and where its report lies; None when nothing was to be kept."""

    measurement: Measurement
    report: Path | None


def run(
    asked: ModelAsked | ServerAsked, run_dir: Path | None, cache: Path | None, progress: Progress, work: Work
) -> Kept:
    """Do `work` with a record in `run_dir`, or in a temporary directory that goes away. Raises UserError."""
    with record_place.opened(run_dir) as store:
        directory, place = store.directory, (cache or default_cache()).resolve()
        subject = (
            subjects.of_model(asked, directory, place, progress)
            if isinstance(asked, ModelAsked)
            else subjects.of_server(asked, directory, place, progress)
        )
        found = work(subject, store, directory)
        return Kept(found, None if run_dir is None else _write(found, directory))


def _write(found: Measurement, directory: Path) -> Path:
    """`report.html`, `report.md` and `measurement.json`; the raw events stay in the record."""
    page = directory / "report.html"
    replace_whole(page, reports.html(found))
    replace_whole(directory / "report.md", reports.markdown(found))
    replace_whole(directory / "measurement.json", codec.dumps(found))
    return page
