"""Candidates of a run on the roofline."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from paredown.flow import bottleneck
from paredown.flow.speed import Trials
from paredown.records.artifact import Artifact, ModelFacts, TensorGroup
from paredown.records.candidate import Candidate, Rung
from paredown.records.machine import Bandwidth, Ceilings, MatrixRate
from paredown.testing.scripted_events import block, request, trial

FACTS = ModelFacts(
    name="m", path=Path("m"), architecture="A", dtype="bfloat16", parameters=1000, active_parameters=1000, layers=1,
    hidden_size=10, heads=1, kv_heads=1, head_dim=10, vocabulary=10, context_length=100, tied_head=False,
    kv_bytes_per_token=40, linears=(), has_chat_template=True,
)  # fmt: skip
RATES = Ceilings(
    (Bandwidth(1, 1e9),), (MatrixRate("float32", 1e9), MatrixRate("bfloat16", 2e9), MatrixRate("int8", 4e9))
)


@pytest.mark.parametrize(("dtype", "bits", "expected"), [("BF16", 16, "bfloat16"), ("I8", 8, "int8")])
def test_a_candidate_is_held_against_the_arithmetic_that_it_is_served_with(
    dtype: str, bits: int, expected: str
) -> None:
    groups = (TensorGroup(dtype, 1, 1000, 1000 * bits // 8, "matrix"),)
    artifact = Artifact(Path("m"), "hf", "d", 1000 * bits // 8, 1000 * bits // 8, 1000, groups)
    candidate = Candidate("c", Rung.BASELINE, "e", {"dtype": "bfloat16"}, {"main": artifact})
    prepared = SimpleNamespace(facts=FACTS, ceilings=RATES)
    measured = Trials((trial(block(request([10, 20, 30]))),))

    placed = bottleneck.placements(prepared, candidate, measured)  # type: ignore[arg-type]

    assert {placement.compute_dtype for placement in placed} == {expected}
