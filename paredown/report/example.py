"""The report's view of a synthetic run, for documents and tests."""

from __future__ import annotations

from paredown.records.codec import digest
from paredown.report.view import (
    AlphaSpent,
    AnswerView,
    Asked,
    CandidateView,
    GoldenFact,
    Measured,
    ReportView,
    RunRecord,
    TrafficFact,
    UnderTraffic,
    WorstAnswer,
)
from paredown.testing import example_explanation
from paredown.testing.example_run import ExamplePair, ExampleRun, ExampleServed


def view(run: ExampleRun) -> ReportView:
    return ReportView(
        asked=_asked(run),
        model=run.model,
        machine=run.machine,
        ceilings=run.ceilings,
        baseline=_measured(run.baseline),
        candidates=tuple(
            CandidateView(c.planned, c.verdict, _measured(c.served), c.fidelity, c.explanation, c.sensitivity)
            for c in run.candidates
        ),
        decision=run.decision,
        record=_record(run),
        noise_floor=run.noise_floor,
        worst=tuple(_worst(pair) for pair in run.worst),
        notes=run.notes,
        findings=example_explanation.findings(),
        alpha=AlphaSpent(0.05, (0.04,), 0.008),
    )


def _asked(run: ExampleRun) -> Asked:
    traffic = tuple(
        TrafficFact(
            t.name, t.summary, t.load_shape, int(str(t.options.get("concurrency", 1))), len(t.requests)
        )
        for t in run.traffic
    )  # fmt: skip
    targets = tuple(t.text for t in run.targets)
    flags = " ".join(f"--target '{text}'" for text in targets)
    golden = tuple(GoldenFact(source, count, digest(source)) for source, count in run.golden)
    return Asked(run.model_name, targets, traffic, golden, seed=7, command=f"paredown run {run.model_name} {flags}")


def _measured(served: ExampleServed) -> Measured:
    under = tuple(
        UnderTraffic(traffic, served.figures if index == 0 else (), samples)
        for index, (traffic, samples) in enumerate(served.samples)
    )
    return Measured(served.name, served.engine, served.artifact, served.figures, under, served.placements)


def _worst(pair: ExamplePair) -> WorstAnswer:
    before, after = pair.baseline, pair.answer
    return WorstAnswer(
        pair.candidate,
        pair.item,
        AnswerView(before.text, before.choice_logprobs, pair.baseline_score.value, before.failure),
        AnswerView(after.text, after.choice_logprobs, pair.score.value, after.failure),
    )


def _record(run: ExampleRun) -> RunRecord:
    return RunRecord(
        run_id="example-0001",
        root_digest=digest(run.decision),
        path="runs/example",
        started="2026-11-30T09:00:00+00:00",
        finished="2026-11-30T09:16:42+00:00",
        versions={"paredown": "0.1.0", "transformers": "5.17.0", "torch": "2.13.0", "openvino-genai": "2026.4.1"},
        settings={"alpha": 0.05, "margin_points": 3.0, "fidelity_gate_mean_kl_nats": 1.0, "exhaust": True},
        seeds={"order": 7, "split": 11},
        digests={"spec": digest(run.targets), "golden": digest(run.golden), "traffic": digest(run.traffic)},
    )
