"""Planted faults on the built-in model, judged as `paredown compare` judges: each is rejected and named, and the same
model in another form is not. `benchmarks/bench_planted_faults.py` has all of them; here stands one for each way in
which a fault is found, with few prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import PlanFacts
from paredown.evaluate import smoke, smoke_declared
from paredown.flow import prepare, quality, single
from paredown.flow.context import Prepared, RunContext
from paredown.flow.progress import Silent
from paredown.flow.single import Comparison
from paredown.hosts import launch
from paredown.models import artifact as artifacts
from paredown.optimize import apply
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Candidate, Proposal, Rung
from paredown.records.golden import Check
from paredown.records.machine import Machine
from paredown.records.verdict import Verdict
from paredown.spec.load import from_mapping
from paredown.spec.schema import RunSpec
from paredown.testing import planted_cases, planted_compliance, planted_controls, planted_faults

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

CHOSEN = {"safety": 80, "structured_output": 22, "tool_calls": 22}
FAULTS = {fault.name: fault for fault in planted_cases.FAULTS}
HERE = (
    "chat template lost",
    "EOS suppressed in the head",
    "one block times 1.5",
    "Cyrillic tokens damaged",
    "KV cache lost beyond 1,024",
    "tool-call quotes broken",
)


def spec_of(model: Path, golden: Path, **more: object) -> RunSpec:
    gates = dict.fromkeys(CHOSEN, 5)
    asked = {"model": str(model), "golden": [str(golden)], "targets": ["quality_drop<=5pt"], "gates": gates}
    return from_mapping(asked | more, "this test")


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted_cases.golden_file(tmp_path_factory.mktemp("golden") / "golden.jsonl", CHOSEN)


@pytest.fixture(scope="module")
def opened(
    demo: Path, golden: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunContext, Prepared]]:
    """One record: the baseline is measured once, by whichever test comes first."""
    record = tmp_path_factory.mktemp("record")
    with single.opened(spec_of(demo, golden, cache=str(cache)), record, Silent()) as context:
        yield context, prepare.prepare(context, prepare.check(context.spec, context.cache, context.progress))


Judge = Callable[[Path], Comparison]


@pytest.fixture(scope="module")
def judge(opened: tuple[RunContext, Prepared]) -> Judge:
    context, prepared = opened
    return lambda directory: single.judge(context, prepared, single.candidate_of(context, prepared, directory))


@pytest.mark.parametrize("name", HERE)
def test_a_fault_is_rejected_and_named(name: str, judge: Judge, demo: Path, tmp_path: Path) -> None:
    found = judge(FAULTS[name].make(demo, tmp_path / "damaged"))
    assert found.verdict is Verdict.REJECT, found.reasons
    assert planted_cases.not_said(FAULTS[name].named, found.reasons) == [], found.reasons


def test_safety_lost_by_fine_tuning_on_compliance_is_rejected_in_its_slice_alone(
    judge: Judge, demo: Path, cache: Path
) -> None:
    found = judge(planted_compliance.cached(demo, cache))
    assert found.verdict is Verdict.REJECT, found.reasons
    assert found.smoke.passed
    assert planted_cases.not_said(planted_cases.SAFETY_NAMED, found.reasons) == [], found.reasons
    others = [one for one in found.slices if one.slice in CHOSEN and one.slice != "safety"]
    assert not [one.slice for one in others if one.regressed or one.verdict is Verdict.REJECT]


def test_the_same_model_in_other_files_batched_otherwise_is_not_broken(
    opened: tuple[RunContext, Prepared], demo: Path, tmp_path: Path
) -> None:
    context, prepared = opened
    shards = planted_controls.sharded(demo, tmp_path / "shards")
    again = planted_controls.tokenizer_saved_again(shards, tmp_path / "again")
    candidate = single.candidate_of(context, prepared, again, {"threads": 1, "attention": "eager"})
    found = single.judge(context, prepared, candidate, quality.CONTROL_POLICY)
    assert found.verdict is not Verdict.REJECT, found.reasons
    assert not found.smoke.warnings
    assert [one.slice for one in found.slices if one.regressed] == []


def test_a_good_eight_bit_candidate_is_not_broken(
    opened: tuple[RunContext, Prepared], demo_artifact: Artifact, demo_facts: ModelFacts, cache: Path
) -> None:
    context, prepared = opened
    made = int8(demo_artifact, demo_facts, prepared.machine, cache)
    found = single.judge(context, prepared, single.candidate_of(context, prepared, made.path))
    assert found.verdict is not Verdict.REJECT, found.reasons
    assert not found.smoke.warnings


def int8(source: Artifact, facts: ModelFacts, host: Machine, cache: Path) -> Artifact:
    technique = registry.technique("onnx_int8")
    (proposal,) = technique.propose(PlanFacts(facts, host))
    assert isinstance(proposal, Proposal)
    return apply.make(
        technique,
        proposal.steps[-1],
        {"main": source},
        cache=cache,
        parameters=facts.parameters,
        on_progress=lambda fraction, what: None,
    )


def test_a_missing_bos_is_named_by_the_smoke_gate(demo: Path, demo_facts: ModelFacts, tmp_path: Path) -> None:
    begins = planted_faults.beginning_with_bos(demo, tmp_path / "begins")
    lost = planted_faults.bos_missing(begins, tmp_path / "lost")
    engine = registry.engine("transformers")

    def candidate(directory: Path) -> Candidate:
        made = artifacts.describe(directory, format="hf", parameters=demo_facts.parameters)
        options = {"dtype": "bfloat16", "threads": 1, "attention": "sdpa"}
        return Candidate(directory.name, Rung.BASELINE, engine.name, options, {"main": made})

    with launch.start(engine, candidate(begins), tmp_path / "work", timeout_s=600) as running:
        reference = smoke.reference(running)
    assert all(ids[0] == 0 for ids in reference.prompt_ids)
    with launch.start(engine, candidate(lost), tmp_path / "work", timeout_s=600) as running:
        found = smoke.check(
            running,
            reference,
            candidate="lost",
            changed=Check("changed", passed=None, detail=""),
            reloaded="not asked here",
            declared=smoke_declared.check(begins, lost),
        )
    failed = {one.name: one.detail for one in found.checks if one.passed is False}
    assert "The first token is missing (BOS)" in failed["first token"]
    assert failed.keys() <= {"first token", "stops", "lengths"}


def test_golden_prompts_in_the_calibration_data_are_named_before_anything_runs(
    demo: Path, golden: Path, cache: Path, tmp_path: Path
) -> None:
    leaking = planted_cases.leaking_calibration(tmp_path / "calibration.jsonl", golden)
    progress = Silent()
    spec = spec_of(demo, golden, cache=str(cache), calibration=str(leaking))
    with single.opened(spec, tmp_path / "record", progress) as context:
        prepare.prepare(context, prepare.check(spec, context.cache, progress))
    assert any("in the calibration data word for word" in note for note in progress.notes), progress.notes
