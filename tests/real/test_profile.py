"""The profiler of the reference engine on a tiny model: tables add up, traces open in Perfetto, steps are placed."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from paredown import registry
from paredown.machine import describe as describe_machine
from paredown.models import artifact, describe
from paredown.profile import ceilings as measuring
from paredown.profile import run
from paredown.profile.driving import Effort
from paredown.records.candidate import Candidate, Rung
from paredown.records.machine import Ceilings
from paredown.records.measurement import OperatorTable, Profile
from paredown.testing import tiny_models

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]

EFFORT = Effort(prefill_rounds=3, batch_rounds=1, steps=6, warm_up_steps=2)
LAYERS = 2


@dataclass(frozen=True)
class Profiled:
    found: Profile
    out: Path

    def table(self, phase: str) -> OperatorTable:
        return next(table for table in self.found.operators if table.phase == phase)

    def events(self, phase: str) -> list[dict[str, Any]]:
        text = (self.out / f"{phase}.trace.json").read_text(encoding="utf-8")
        return [event for event in json.loads(text)["traceEvents"] if event["ph"] == "X"]


@pytest.fixture(scope="module")
def ceilings() -> Ceilings:
    return measuring.measure()


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory, ceilings: Ceilings) -> Profiled:
    path = tiny_models.make_llama(tmp_path_factory.mktemp("tiny"))
    out = tmp_path_factory.mktemp("profile")
    facts = describe.facts(path)
    made = artifact.describe(path, format="hf", parameters=facts.parameters)
    engine = registry.engine("transformers")
    options = engine.resolve(made, describe_machine(), {})
    candidate = Candidate("tiny", Rung.BASELINE, engine.name, options, {"main": made})
    patch = pytest.MonkeyPatch()
    patch.setattr(measuring, "measure", lambda: ceilings)
    found = run.profile(
        engine, candidate, facts, ceilings, python=Path(sys.executable), device="cpu", out=out,
        batches=(1, 3, 99), prompt_tokens=(16, 32), on_progress=lambda fraction, what: None, effort=EFFORT,
    )  # fmt: skip
    patch.undo()
    return Profiled(found, out)


def test_prefill_and_decode_are_placed_below_what_was_measured(profiled: Profiled) -> None:
    placed = profiled.found.placements

    assert [(p.phase, p.batch) for p in placed] == [
        ("prefill", 1), ("prefill", 1), ("decode", 1), ("prefill", 3), ("decode", 3),
    ]  # fmt: skip
    assert all(0 < p.floor_s < p.measured_s for p in placed)
    assert profiled.found.left_out["batch 99"] == "transformers computes at most 16 requests together"


def test_a_tiny_model_is_bound_by_its_framework(profiled: Profiled) -> None:
    assert profiled.found.rung is Rung.LOSSLESS
    assert "Decode at batch 1 is overhead-bound" in profiled.found.bottleneck


@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_operators_and_framework_add_up_to_the_step(profiled: Profiled, phase: str) -> None:
    table = profiled.table(phase)
    operators_s = sum(row.self_s for row in table.rows)

    assert operators_s + table.framework_s == pytest.approx(table.wall_s)
    assert sum(row.share for row in table.rows) == pytest.approx(1)
    assert [row.self_s for row in table.rows] == sorted((row.self_s for row in table.rows), reverse=True)


def test_matrix_products_of_a_step_are_counted_with_their_operations(profiled: Profiled) -> None:
    table = profiled.table("decode")
    products = [row for row in table.rows if row.name in ("aten::mm", "aten::addmm", "aten::bmm")]
    weights = LAYERS * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128) + 257 * 64

    # q, k, v, o and three of the feed-forward in each layer, and the head
    assert sum(row.calls for row in products if row.name == "aten::mm") == LAYERS * 7 + 1
    assert sum(row.operations or 0 for row in products if row.name == "aten::mm") == 2 * weights


def test_traces_open_in_perfetto_and_name_the_steps(profiled: Profiled) -> None:
    assert [Path(trace).name for trace in profiled.found.traces] == ["prefill.trace.json", "decode.trace.json"]
    for phase, names in (("prefill", ["prefill"]), ("decode", [f"decode step {i}" for i in range(4)])):
        events = profiled.events(phase)
        assert all(isinstance(event["ts"], int | float) and event["dur"] >= 0 for event in events)
        own = [event for event in events if event["name"] in names]
        assert [event["name"] for event in sorted(own, key=lambda e: e["ts"])] == names
        inside = [e for e in events if e["name"] == "aten::mm"]
        first, last = own[0]["ts"], max(e["ts"] + e["dur"] for e in own)
        assert inside
        assert all(first <= e["ts"] <= last for e in inside), "matrix products lie within the ranges of the steps"


def test_the_cache_of_the_engine_is_the_one_that_the_floor_counts(profiled: Profiled) -> None:
    decode = [p for p in profiled.found.placements if p.phase == "decode"]
    per_token = LAYERS * 2 * 2 * 16 * 4
    more = decode[1].bytes_moved - decode[0].bytes_moved

    assert more == pytest.approx(per_token * (3 * decode[1].tokens - decode[0].tokens))
