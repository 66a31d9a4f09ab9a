"""A complete run as records, synthetic: what tests and documents of the reports show instead of a real one.

The figures are of the size that the built-in model gives on two cores, but nothing here was measured, and the run
says so. Scenarios: `ship`, `nothing_meets`, `investigate`, `crashed`, `unknown`, `many`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from paredown.records.artifact import Artifact, LayerLeft, LinearShape, ModelFacts
from paredown.records.bottleneck import Placement
from paredown.records.candidate import LeftOut, PlannedCandidate, Prediction, Rung, Step
from paredown.records.codec import digest
from paredown.records.explanation import Explanation, Sensitivity
from paredown.records.figure import Figure, Samples
from paredown.records.golden import Answer, Check, Fidelity, GoldenItem, Score, Smoke
from paredown.records.machine import Bandwidth, Ceilings, Machine, MatrixRate
from paredown.records.traffic import Message, Traffic, TrafficRequest
from paredown.records.verdict import (
    AgainstBaseline,
    CandidateVerdict,
    Comparison,
    Decision,
    Target,
    TargetResult,
    Verdict,
)
from paredown.testing import example_explanation as why
from paredown.testing import example_numbers as numbers
from paredown.testing.example_numbers import Numbers

MAIN_TRAFFIC = "chat"


@dataclass(frozen=True)
class ExampleServed:
    """One served model. `figures` of the main traffic; `samples` by traffic."""

    name: str
    engine: str
    artifact: Artifact | None
    figures: tuple[Figure, ...]
    samples: tuple[tuple[str, tuple[Samples, ...]], ...]
    placements: tuple[Placement, ...]


@dataclass(frozen=True)
class ExampleCandidate:
    planned: PlannedCandidate
    verdict: CandidateVerdict
    served: ExampleServed
    fidelity: Fidelity | None
    explanation: Explanation | None = None
    sensitivity: Sensitivity | None = None


@dataclass(frozen=True)
class ExamplePair:
    """Both answers to an item that the candidate lost."""

    candidate: str
    item: GoldenItem
    baseline: Answer
    answer: Answer
    baseline_score: Score
    score: Score


@dataclass(frozen=True)
class ExampleRun:
    model_name: str
    targets: tuple[Target, ...]
    traffic: tuple[Traffic, ...]
    golden: tuple[tuple[str, int], ...]
    model: ModelFacts
    machine: Machine
    ceilings: Ceilings
    baseline: ExampleServed
    candidates: tuple[ExampleCandidate, ...]
    decision: Decision
    noise_floor: tuple[Figure, ...]
    worst: tuple[ExamplePair, ...]
    notes: tuple[str, ...]


def ship() -> ExampleRun:
    """8 bits meet every target; the 4-bit candidates were judged too (`--exhaust`)."""
    chosen = "openvino-int8"
    paragraph = (
        "Ship openvino-int8. It decodes 3.6 times as fast as the model is served today, with 51 % of its weight bytes. "
        "On 240 held-back prompts it lost 0.4 points, and with 95 % confidence no more than 2.3; you allowed 3. "
        "All three targets are met. 4 bits would be faster still but lose 6 points or more."
    )
    return _run(numbers.CANDIDATES, chosen, Verdict.SHIP, 0, paragraph, share=1.0)


def nothing_meets() -> ExampleRun:
    """No candidate is fast enough at an acceptable loss: exit status 3, the closest is named."""
    paragraph = (
        "Nothing meets all targets. onnx-int8 comes closest: it is within the margin and small enough, but decodes "
        "3.9 times as fast as the baseline where you asked for 4.5. The 4-bit candidates are fast enough and lose "
        "more than the 3 points that you allow."
    )
    return _run(numbers.CANDIDATES, "onnx-int8", Verdict.INVESTIGATE, 3, paragraph, share=1.0, speed_target=4.5)


def investigate() -> ExampleRun:
    """Too few prompts to tell: exit status 4."""
    paragraph = (
        "Too few prompts to tell. openvino-int8 is fast and small enough, and no difference in quality was found, but "
        "60 prompts cannot show a margin of 3 points. About 80 more would: add them with --golden more.jsonl."
    )
    return _run(numbers.CANDIDATES, "openvino-int8", Verdict.INVESTIGATE, 4, paragraph, share=0.1)


def crashed() -> ExampleRun:
    """Like `ship`, but two candidates failed: one engine died, one artifact could not be made."""
    run = ship()
    failures = {
        "onnx-int4": ("speed", "The engine's process ended with signal 9 after 41 of 60 requests."),
        "bitsandbytes-nf4": ("apply", "The technique could not make its artifact: no space left on the device."),
    }
    candidates = tuple(
        _failed(c, *failures[c.planned.name]) if c.planned.name in failures else c for c in run.candidates
    )
    return _with_candidates(run, candidates)


def unknown() -> ExampleRun:
    """Nothing could be measured of anything: every figure has a reason instead of a value."""
    run = ship()
    why = "the clock of this machine is not monotonic"

    def blank(served: ExampleServed) -> ExampleServed:
        figures = tuple(replace(f, value=None, low=None, high=None, count=0, missing=why) for f in served.figures)
        return replace(served, artifact=None, figures=figures, samples=(), placements=())

    candidates = tuple(
        replace(
            c,
            served=blank(c.served),
            fidelity=replace(
                c.fidelity, mean_kl=None, p99_kl=None, max_kl=None, top1_agreement=None, positions=0,
                missing="this engine gives no log-probabilities",
            ) if c.fidelity else None,
            verdict=replace(
                c.verdict, verdict=Verdict.INVESTIGATE, reasons=("nothing could be measured",), figures=(), ratios=(),
                prediction=Prediction(),
                slices=tuple(
                    replace(
                        s, baseline_score=None, candidate_score=None, drop=None, low=None, high=None, p_value=None,
                        verdict=Verdict.INVESTIGATE, reason="no item could be scored", more_prompts=None,
                    )
                    for s in c.verdict.slices
                ),
                targets=tuple(
                    replace(t, figure=None, baseline=None, ratio=None, met=None, reason=why) for t in c.verdict.targets
                ),
            ),
        )
        for c in run.candidates
    )  # fmt: skip
    paragraph = "Nothing could be measured on this machine, so nothing can be said."
    decision = replace(run.decision, recommended=None, verdict=Verdict.INVESTIGATE, exit_status=4, paragraph=paragraph)
    blanked = replace(
        run, decision=decision, baseline=blank(run.baseline), noise_floor=(), worst=(),
        ceilings=Ceilings((), (), {"bandwidth": why, "matrix": why}),
    )  # fmt: skip
    return _with_candidates(blanked, candidates)


def many() -> ExampleRun:
    """Twelve candidates, several of them nearly alike."""
    extra = tuple(
        replace(
            base,
            name=f"{base.name}-g{group}",
            speed=base.speed * factor,
            weights=base.weights * factor,
            kl=base.kl / factor,
        )
        for base, group, factor in zip(numbers.CANDIDATES[4:], (32, 64, 32, 64), (1.01, 1.02, 0.99, 1.015), strict=True)
    )
    run = ship()
    return _run((*numbers.CANDIDATES, *extra), "openvino-int8", Verdict.SHIP, 0, run.decision.paragraph, share=1.0)


SCENARIOS = {
    "ship": ship,
    "nothing_meets": nothing_meets,
    "investigate": investigate,
    "crashed": crashed,
    "unknown": unknown,
    "many": many,
}


def _run(
    rows: Sequence[Numbers],
    chosen: str,
    verdict: Verdict,
    exit_status: int,
    paragraph: str,
    *,
    share: float,
    speed_target: float = 2.5,
) -> ExampleRun:
    targets = (
        Target(
            "decode_speed", Comparison.AT_LEAST, speed_target, "x", f"decode_speed>={speed_target:g}x", relative=True
        ),
        Target("weight_bytes", Comparison.AT_MOST, 0.6, "x", "weight_bytes<=60%", relative=True),
        Target("quality_drop", Comparison.AT_MOST, 0.03, "pt", "quality_drop<=3pt"),
    )
    baseline = _served("baseline", "transformers", numbers.BASELINE_SPEED, 1.0, 1)
    candidates = tuple(_candidate(row, targets, baseline, share, seed) for seed, row in enumerate(rows, 2))
    recommended = chosen if exit_status == 0 else None
    decision = Decision(
        recommended, verdict, exit_status, paragraph, tuple(c.verdict for c in candidates), _left_out(),
        f"runs/example/artifacts/{chosen}", f"paredown serve runs/example --candidate {chosen}", chosen,
    )  # fmt: skip
    return ExampleRun(
        model_name="demo", targets=targets, traffic=_traffic(), golden=(("built-in", 600),), model=_model(),
        machine=_machine(), ceilings=_ceilings(), baseline=baseline, candidates=candidates, decision=decision,
        noise_floor=numbers.noise_floor(), worst=_worst(chosen),
        notes=("This is a synthetic example: none of its figures was measured.",),
    )  # fmt: skip


def _candidate(
    row: Numbers, targets: Sequence[Target], baseline: ExampleServed, share: float, seed: int
) -> ExampleCandidate:
    speed, weight_bytes = row.prediction
    prediction = Prediction(int(weight_bytes * numbers.BASELINE_BYTES), speed)
    steps = () if row.technique in ("onnx", "openvino") else (Step(row.technique),)
    planned = PlannedCandidate(
        row.name, row.rung, row.engine, {}, steps, row.technique.split("_")[0], "expected to be faster",
        prediction, (), row.same_engine_wide,
    )  # fmt: skip
    served = _served(row.name, row.engine, numbers.BASELINE_SPEED * row.speed, row.weights, seed)
    slices = numbers.slice_verdicts(row, share)
    results = tuple(_target(t, served, baseline, slices[0].drop, slices[0].high) for t in targets)
    smoke = Smoke(row.name, (Check("coherent answer", passed=True, detail="12 of 12 answers are words"),))
    verdict = CandidateVerdict(
        row.name, "confirmation" if row.rung is Rung.EIGHT_BIT else "screening", slices[0].verdict,
        (slices[0].reason,), slices, results, served.figures, smoke, prediction, 0.025,
        ratios=_ratios(results), looks=why.looks() if row.rung is Rung.EIGHT_BIT else None,
    )  # fmt: skip
    return ExampleCandidate(
        planned, verdict, served, why.fidelity(row), why.explanation(row, slices),
        why.sensitivity(row) if row.rung > Rung.LOSSLESS else None,
    )  # fmt: skip


def _ratios(results: Sequence[TargetResult]) -> tuple[AgainstBaseline, ...]:
    return tuple(
        AgainstBaseline("decode_speed", r.ratio, r.ratio * 0.97, r.ratio * 1.03, 6, in_turns=True)
        for r in results
        if r.target.metric == "decode_speed" and r.ratio
    )


def _target(
    target: Target, served: ExampleServed, baseline: ExampleServed, drop: float | None, high: float | None
) -> TargetResult:
    if target.metric == "quality_drop":
        figure = Figure("quality_drop", "fraction", drop, 600, high=high)
        met = high is not None and high < target.value
        return TargetResult(target, figure, None, None, met, "upper limit of the drop against the margin")
    now = next(f for f in served.figures if f.name == target.metric)
    before = next(f for f in baseline.figures if f.name == target.metric)
    assert now.value is not None
    assert before.value is not None
    ratio = now.value / before.value
    met = ratio >= target.value if target.comparison is Comparison.AT_LEAST else ratio <= target.value
    return TargetResult(target, now, before, ratio, met, "ratio to the baseline, measured interleaved")


def _served(name: str, engine: str, speed: float, weights: float, seed: int) -> ExampleServed:
    weight_bytes = int(numbers.BASELINE_BYTES * weights)
    artifact = Artifact(
        Path("runs/example/artifacts") / name, engine, digest(name), weight_bytes, weight_bytes + 3_400_000,
        numbers.PARAMETERS, layers_left=(LayerLeft("lm_head", "tied to the embedding table", 16.0),),
    )  # fmt: skip
    return ExampleServed(
        name, engine, artifact, numbers.figures(name, speed, weight_bytes, seed),
        ((MAIN_TRAFFIC, numbers.samples(speed, seed)), ("concurrent-16", numbers.samples(speed * 0.4, seed, 120))),
        numbers.placements(name, speed, weight_bytes),
    )  # fmt: skip


def _failed(candidate: ExampleCandidate, stage: str, error: str) -> ExampleCandidate:
    name = candidate.planned.name
    verdict = CandidateVerdict(name, stage, Verdict.REJECT, (error,), error=error)
    served = replace(candidate.served, figures=(), samples=(), placements=())
    if stage == "apply":
        served = replace(served, artifact=None)
    return replace(
        candidate, verdict=verdict, served=served, fidelity=candidate.fidelity if stage == "speed" else None,
        explanation=None, sensitivity=None,
    )  # fmt: skip


def _with_candidates(run: ExampleRun, candidates: tuple[ExampleCandidate, ...]) -> ExampleRun:
    return replace(
        run, candidates=candidates, decision=replace(run.decision, candidates=tuple(c.verdict for c in candidates))
    )


def _traffic() -> tuple[Traffic, ...]:
    def requests(count: int) -> tuple[TrafficRequest, ...]:
        return tuple(TrafficRequest(f"r{i}", (Message("user", f"Question {i}?"),), 50) for i in range(count))

    return (
        Traffic(MAIN_TRAFFIC, "one user chats, short prompts, 50 tokens each", "single_stream", requests(60)),
        Traffic("concurrent-16", "16 users at once", "closed_loop", requests(120), {"concurrency": 16}),
    )


def _left_out() -> tuple[LeftOut, ...]:
    return (
        LeftOut("fp8", Rung.EIGHT_BIT, "FP8 needs compute capability 8.9; this machine has no GPU."),
        LeftOut("bitsandbytes-fp4", Rung.FOUR_BIT, "NF4 is at least as accurate at the same size."),
        LeftOut("pruning-2:4", Rung.STRUCTURE, "No engine here runs 2:4 sparse weights faster than dense ones."),
    )


def _model() -> ModelFacts:
    shapes = (LinearShape("q_proj", 576, 576, 30), LinearShape("down_proj", 576, 1536, 30))
    return ModelFacts(
        name="SmolLM2-135M-Instruct", path=Path("models/demo"), architecture="LlamaForCausalLM", dtype="bfloat16",
        parameters=numbers.PARAMETERS, active_parameters=numbers.PARAMETERS, layers=30, hidden_size=576, heads=9,
        kv_heads=3, head_dim=64, vocabulary=49152, context_length=8192, tied_head=True, kv_bytes_per_token=23040,
        linears=shapes, has_chat_template=True,
        caution="The packager of this model stored its weights in 4 bits before they were widened to bfloat16, so the "
        "losses of 4-bit candidates are understated here.",
    )  # fmt: skip


def _machine() -> Machine:
    return Machine(
        digest("example host")[:16], "Linux 6.1 x86_64", "Example processor, 2 cores at 2.6 GHz", 2, 2,
        ("avx2", "avx512f", "avx512_vnni"), 16 * 2**30, (), {"python": "3.11.2", "paredown": "0.1.0"}, "", 32 * 2**20,
    )  # fmt: skip


def _ceilings() -> Ceilings:
    return Ceilings(
        (Bandwidth(4 * 2**20, numbers.CACHE_BANDWIDTH), Bandwidth(512 * 2**20, numbers.BANDWIDTH)),
        (MatrixRate("bfloat16", numbers.RATE_BF16), MatrixRate("int8", numbers.RATE_INT8)),
        {"float8": "no matrix instructions for float8 on this processor"},
    )


def _worst(candidate: str) -> tuple[ExamplePair, ...]:
    def item(name: str, slice_name: str, prompt: str, answer: str, choices: tuple[str, ...] = ()) -> GoldenItem:
        scorer = "choice" if choices else "exact"
        return GoldenItem(name, slice_name, scorer, (Message("user", prompt),), answer, choices)

    lost = (
        (
            item(
                "facts-017",
                "short facts",
                "Which river flows through Vienna?",
                "1",
                ("The Rhine", "The Danube", "The Elbe"),
            ),
            Answer("facts-017", choice_logprobs=(-5.1, -2.3, -6.2)),
            Answer("facts-017", choice_logprobs=(-3.0, -3.2, -6.0)),
        ),
        (
            item(
                "reasoning-041", "reasoning", "Anna has 3 boxes of 12 eggs and breaks 5. How many eggs are whole?", "31"
            ),
            Answer("reasoning-041", "3 boxes hold 3 × 12 = 36 eggs. 36 − 5 = 31 eggs are whole."),
            Answer("reasoning-041", "3 boxes hold 3 × 12 = 36 eggs. 36 + 5 = 41 eggs are whole."),
        ),
        (
            item("tools-009", "tool calls", "What is the weather in Oslo?", '{"name": "weather", "city": "Oslo"}'),
            Answer("tools-009", '{"name": "weather", "city": "Oslo"}'),
            Answer("tools-009", '{"name": "weather", "town": "Oslo", "unit": "celsius"'),
        ),
    )
    return tuple(
        ExamplePair(candidate, i, before, after, Score(i.id, 1.0), Score(i.id, 0.0)) for i, before, after in lost
    )
