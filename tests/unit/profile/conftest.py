"""A candidate of the fake engine, as it is profiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from paredown import registry
from paredown.models import artifact, describe
from paredown.records.artifact import ModelFacts
from paredown.records.candidate import Candidate, Rung
from paredown.records.machine import Bandwidth, Ceilings, MatrixRate
from paredown.testing import fake_models
from paredown.testing.fake_language import FakeScript, Faults, Speeds

CEILINGS = Ceilings((Bandwidth(1 << 20, 1e12),), (MatrixRate("float32", 1e12),))

Made = Callable[..., tuple[Candidate, ModelFacts]]


@pytest.fixture
def make_candidate(tmp_path: Path) -> Made:
    """Faults and context length of a fake model; it takes 1 ms for a prompt of ten tokens and 2 ms for a step."""

    def make(context_length: int = 4096, **faults: object) -> tuple[Candidate, ModelFacts]:
        speeds = Speeds(prefill_ns_per_token=100_000, decode_ns_per_step=2_000_000)
        script = FakeScript(speeds=speeds, faults=Faults(**faults))  # type: ignore[arg-type]
        path = fake_models.make(tmp_path / "model", script, context_length=context_length)
        facts = describe.facts(path)
        made = artifact.describe(path, format="fake", parameters=facts.parameters)
        options = {"slowdown": 1.0}
        return Candidate("fake-one", Rung.BASELINE, "fake", options, {"main": made}), facts

    return make


@pytest.fixture
def fake_engine():
    return registry.engine("fake")
