"""Planted faults on the built-in model, and controls that hold the same model in another form.

Each is judged as `paredown compare` judges it: a fault must be rejected and named (the sentences that must stand in
the reasons are in `paredown.testing.planted_cases`), a control must not be. A judge that fails counts as a miss and the
rest goes on. Run: python benchmarks/bench_planted_faults.py [PART OF A NAME …] (all of them; about 25 minutes on two
quiet cores). Exit status 1 when a fault was missed or not named, or a control was called broken.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from paredown import registry
from paredown.contracts import PlanFacts
from paredown.evaluate.answers import BatchPolicy
from paredown.flow import prepare, quality, single
from paredown.flow.context import Prepared, RunContext
from paredown.flow.progress import Silent
from paredown.flow.single import Comparison
from paredown.models import source
from paredown.optimize import apply
from paredown.records.candidate import Candidate, Proposal
from paredown.records.figure import Options
from paredown.records.verdict import Verdict
from paredown.spec.load import from_mapping
from paredown.spec.schema import RunSpec, default_cache
from paredown.testing import planted_cases, planted_compliance, planted_controls, planted_faults

OTHER_ORDER = BatchPolicy(batch_items=7, concurrency=3, reverse=True)


@dataclass(frozen=True)
class Bench:
    """Where everything lies; `judge` measures the baseline of a record once."""

    demo: Path
    cache: Path
    work: Path
    golden: Path

    def spec(self, model: Path, **more: object) -> RunSpec:
        gates = dict.fromkeys(planted_cases.CHOSEN, 5)
        asked = {"model": str(model), "golden": [str(self.golden)], "targets": ["quality_drop<=5pt"], "gates": gates}
        return from_mapping(asked | {"cache": str(self.cache)} | more, "this bench")

    def opened(self, model: Path, record: str) -> Iterator[tuple[RunContext, Prepared]]:
        spec = self.spec(model)
        with single.opened(spec, self.work / record, Silent()) as context:
            yield context, prepare.prepare(context, prepare.check(spec, context.cache, context.progress))


@dataclass(frozen=True)
class Row:
    """One line of the table. good: a fault was rejected with all that must be said; a control was not rejected."""

    name: str
    good: bool
    found_by: str
    sentence: str
    seconds: float


def found_by(found: Comparison) -> str:
    if found.verdict is not Verdict.REJECT:
        return found.verdict.value
    failed = [check.name for check in found.smoke.checks if check.passed is False]
    if failed:
        return f"smoke ({', '.join(failed)})"
    if not found.slices:
        return "fidelity"
    rejected = [one.slice for one in found.slices if one.verdict is Verdict.REJECT]
    return f"slices ({', '.join(rejected)})" if rejected else "answer lengths"


def row(name: str, judge: Callable[[], Comparison], named: tuple[str, ...] | None) -> Row:
    """named: what the reasons must hold; None = a control, which must not be rejected."""
    started = time.monotonic()
    try:
        found = judge()
    except Exception:  # noqa: BLE001 the others are still worth knowing
        traceback.print_exc()
        return Row(name, good=False, found_by="failed", sentence="see above", seconds=time.monotonic() - started)
    said = " ".join(found.reasons)
    missing = planted_cases.not_said(named or (), found.reasons)
    good = found.verdict is not Verdict.REJECT if named is None else found.verdict is Verdict.REJECT and not missing
    sentence = f"NOT SAID: {missing}; {said}" if missing else said
    return Row(name, good, found_by(found), sentence, time.monotonic() - started)


def faults(bench: Bench, context: RunContext, prepared: Prepared, wanted: Callable[[str], bool]) -> Iterator[Row]:
    def judge(make: planted_cases.Make, name: str) -> Comparison:
        directory = make(bench.demo, bench.work / name.replace(" ", "-"))
        try:
            return single.judge(context, prepared, single.candidate_of(context, prepared, directory))
        finally:
            shutil.rmtree(directory)

    for fault in planted_cases.FAULTS:
        if not fault.begins and wanted(fault.name):
            yield row(fault.name, partial(judge, fault.make, fault.name), fault.named)
    name = "safety lost by fine-tuning"
    if wanted(name):

        def compliance() -> Comparison:
            directory = planted_compliance.cached(bench.demo, bench.cache)
            return single.judge(context, prepared, single.candidate_of(context, prepared, directory))

        yield row(name, compliance, planted_cases.SAFETY_NAMED)


def begins(bench: Bench, wanted: Callable[[str], bool]) -> Iterator[Row]:
    """The faults of a model that begins with a BOS token, which the built-in one does not: a record of its own."""
    for fault in (fault for fault in planted_cases.FAULTS if fault.begins and wanted(fault.name)):
        base = planted_faults.beginning_with_bos(bench.demo, bench.work / "with-bos")
        damaged = fault.make(base, bench.work / "without-bos")
        yield row(
            fault.name,
            partial(single.compare, bench.spec(base), damaged, bench.work / "record-bos", Silent()),
            fault.named,
        )


def calibration(bench: Bench) -> Row:
    """Golden prompts in the calibration data: named before anything runs."""
    started, progress = time.monotonic(), Silent()
    leaking = planted_cases.leaking_calibration(bench.work / "calibration.jsonl", bench.golden)
    spec = bench.spec(bench.demo, calibration=str(leaking))
    try:
        with single.opened(spec, bench.work / "record-calibration", progress) as context:
            prepare.prepare(context, prepare.check(spec, context.cache, progress))
    except Exception:  # noqa: BLE001 the others are still worth knowing
        traceback.print_exc()
    said = [note for note in progress.notes if "in the calibration data word for word" in note]
    name = "golden prompts in calibration"
    return Row(name, bool(said), "audit" if said else "nothing", " ".join(said), time.monotonic() - started)


def controls(bench: Bench, context: RunContext, prepared: Prepared, wanted: Callable[[str], bool]) -> Iterator[Row]:
    def copy(make: planted_cases.Make, name: str, options: Options, policy: BatchPolicy) -> Comparison:
        directory = make(bench.demo, bench.work / name.replace(" ", "-"))
        try:
            return single.judge(context, prepared, single.candidate_of(context, prepared, directory, options), policy)
        finally:
            shutil.rmtree(directory)

    same, usual = planted_controls.identical, quality.POLICY
    kinds: tuple[tuple[str, planted_cases.Make, Options, BatchPolicy], ...] = (
        ("other batch size and order", same, {}, OTHER_ORDER),
        ("one thread", same, {"threads": 1}, usual),
        ("attention step by step", same, {"attention": "eager"}, usual),
        ("computed in fp32", same, {"dtype": "float32"}, usual),
        ("saved again", planted_controls.saved_again, {}, usual),
        ("sharded", planted_controls.sharded, {}, usual),
        ("tokenizer saved again", planted_controls.tokenizer_saved_again, {}, usual),
        ("stored in fp32", planted_controls.stored_in_float32, {}, usual),
        ("head untied, not rounded", planted_controls.untied, {}, usual),
    )
    for name, make, options, policy in kinds:
        if wanted(name):
            yield row(name, partial(copy, make, name, options, policy), None)
    if wanted("ONNX int8"):
        yield row("ONNX int8", lambda: single.judge(context, prepared, int8(context, prepared)), None)


def int8(context: RunContext, prepared: Prepared) -> Candidate:
    technique = registry.technique("onnx_int8")
    (proposal,) = technique.propose(PlanFacts(prepared.facts, prepared.machine))
    assert isinstance(proposal, Proposal)
    made = apply.make(
        technique,
        proposal.steps[-1],
        {"main": prepared.artifact},
        cache=context.cache,
        parameters=prepared.facts.parameters,
        on_progress=lambda *_: None,
    )
    return single.candidate_of(context, prepared, made.path)


def shown(one: Row) -> Row:
    mark = "ok  " if one.good else "MISS"
    print(f"{mark} {one.name:32} {one.found_by:44} {one.seconds:5.0f} s  {one.sentence[:600]}", flush=True)
    return one


def main(parts: list[str]) -> int:
    def wanted(name: str) -> bool:
        return not parts or any(part.lower() in name.lower() for part in parts)

    with tempfile.TemporaryDirectory(prefix="planted-") as place:
        work, cache = Path(place), default_cache().resolve()
        bench = Bench(
            source.resolve("demo", cache=cache), cache, work, planted_cases.golden_file(work / "golden.jsonl")
        )
        found: list[Row] = []
        false_alarms: list[Row] = []
        print("Faults: each must be rejected and named", flush=True)
        if wanted("golden prompts in calibration"):
            found.append(shown(calibration(bench)))
        found += [shown(one) for one in begins(bench, wanted)]
        for context, prepared in bench.opened(bench.demo, "record"):
            found += [shown(one) for one in faults(bench, context, prepared, wanted)]
            print("Controls: none may be rejected", flush=True)
            false_alarms = [shown(one) for one in controls(bench, context, prepared, wanted)]
    missed, broken = [r for r in found if not r.good], [r for r in false_alarms if not r.good]
    print(
        f"{len(found) - len(missed)} of {len(found)} faults found and named; "
        f"{len(broken)} false alarms on {len(false_alarms)} controls"
    )
    return 1 if missed or broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
