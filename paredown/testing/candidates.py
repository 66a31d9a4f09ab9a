"""Candidates of one artifact, for tests that start an engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from paredown.models import artifact
from paredown.records.candidate import Candidate, Rung
from paredown.records.figure import Scalar
from paredown.testing import fake_models
from paredown.testing.fake_language import FakeScript

PARAMETERS = 500_000


def candidate(engine: str, directory: Path, format_name: str, options: Mapping[str, Scalar] | None = None) -> Candidate:
    """The artifact in `directory` on an engine."""
    made = artifact.describe(directory, format=format_name, parameters=PARAMETERS)
    return Candidate("model under test", Rung.BASELINE, engine, dict(options or {}), {"main": made})


def fake(directory: Path, script: FakeScript = fake_models.SENSIBLE, *, context_length: int = 4096) -> Candidate:
    """A new artifact of the fake engine, on the fake engine."""
    return candidate("fake", fake_models.make(directory, script, context_length=context_length), "fake")
