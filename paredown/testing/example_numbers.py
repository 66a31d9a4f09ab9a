"""Figures, samples and verdicts of the synthetic run, made from a handful of numbers per candidate and a seed."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from paredown.records.bottleneck import Bound, Placement
from paredown.records.candidate import Rung
from paredown.records.figure import Figure, Samples
from paredown.records.verdict import PairedCounts, SliceVerdict, Verdict

SLICES = {
    "short facts": 132,
    "reasoning": 96,
    "long context": 60,
    "multilingual": 108,
    "safety": 72,
    "tool calls": 72,
    "structured output": 60,
}
BASELINE_SPEED, BASELINE_BYTES, PARAMETERS = 21.4, 269_030_784, 134_515_008
BANDWIDTH, CACHE_BANDWIDTH, RATE_BF16, RATE_INT8 = 14.2e9, 61.0e9, 96e9, 190e9


@dataclass(frozen=True)
class Numbers:
    """What the synthetic run says of one candidate.

    speed, weights: ratios to the baseline; loss: lost answers per item, beside `flips` that go both ways
    """

    name: str
    rung: Rung
    engine: str
    technique: str
    speed: float
    weights: float
    kl: float
    top1: float
    loss: float
    flips: float = 0.02
    prediction: tuple[float, float] = (2.0, 0.5)
    same_engine_wide: str = ""


CANDIDATES = (
    Numbers("onnx-fp32", Rung.LOSSLESS, "onnxruntime_genai", "onnx", 1.32, 2.0, 6e-4, 0.978, 0.0, 0.006, (1.3, 2.0)),
    Numbers("openvino-fp16", Rung.LOSSLESS, "openvino_genai", "openvino", 1.4, 1, 8e-4, 0.975, 0.0, 0.006, (1.4, 1.0)),
    Numbers(
        "bitsandbytes-int8", Rung.EIGHT_BIT, "transformers", "bitsandbytes", 0.31, 0.61, 0.0121, 0.938, 0.003, 0.014,
        (0.9, 0.6), "baseline",
    ),
    Numbers(
        "onnx-int8", Rung.EIGHT_BIT, "onnxruntime_genai", "onnx_int8", 3.94, 0.56, 0.0042, 0.960, 0.002, 0.01,
        (3.2, 0.53), "onnx-fp32",
    ),
    Numbers(
        "openvino-int8", Rung.EIGHT_BIT, "openvino_genai", "openvino_int8", 3.58, 0.51, 0.0066, 0.947, 0.001, 0.01,
        (3.0, 0.51), "openvino-fp16",
    ),
    Numbers(
        "bitsandbytes-nf4", Rung.FOUR_BIT, "transformers", "bitsandbytes", 0.62, 0.43, 0.25, 0.720, 0.062, 0.05,
        (1.1, 0.4), "baseline",
    ),
    Numbers(
        "onnx-int4", Rung.FOUR_BIT, "onnxruntime_genai", "onnx_int4", 5.02, 0.40, 0.36, 0.661, 0.094, 0.06,
        (5.1, 0.38), "onnx-fp32",
    ),
    Numbers(
        "openvino-int4", Rung.FOUR_BIT, "openvino_genai", "openvino_int4", 4.86, 0.35, 0.29, 0.722, 0.071, 0.05,
        (4.9, 0.34), "openvino-fp16",
    ),
)  # fmt: skip


def slice_verdicts(numbers: Numbers, share: float, margin: float = 0.03) -> tuple[SliceVerdict, ...]:
    """The pooled gate over all slices and each slice watched. `share`: part of the items that was judged (0…1)."""
    chance = random.Random(numbers.name)  # noqa: S311 (figures of an example)
    rows, pooled = [], PairedCounts(0, 0, 0, 0)
    for index, (name, items) in enumerate(SLICES.items()):
        n = max(4, round(items * share))
        wanted = n * (numbers.flips / 2 + numbers.loss * (0.4 + 0.2 * index))
        lost = int(wanted) + (chance.random() < wanted % 1)
        gained = min(n - lost, round(n * numbers.flips / 2 * chance.uniform(0.5, 1.5)))
        right = round((n - lost - gained) * (0.81 - 0.05 * index))
        counts = PairedCounts(right, lost, gained, n - lost - gained - right)
        pooled = PairedCounts(
            *(getattr(pooled, f) + getattr(counts, f) for f in ("both_right", "lost", "gained", "both_wrong"))
        )
        rows.append(_verdict(name, counts, margin, gated=False))
    return (_verdict("all slices pooled", pooled, margin, gated=True), *rows)


def _verdict(name: str, counts: PairedCounts, margin: float, *, gated: bool) -> SliceVerdict:
    """Limits by the normal approximation with 2.71/n of spread added: good enough for a picture, not for a verdict."""
    n, drop = counts.n, (counts.lost - counts.gained) / counts.n
    spread = 1.645 * math.sqrt(max(0.0, (counts.lost + counts.gained) / n - drop**2) / n)
    low, high = drop - spread - 0.7 / n, drop + spread + 2.71 / (n + 2.71)
    verdict = Verdict.SHIP if high < margin else Verdict.REJECT if low > margin else Verdict.INVESTIGATE
    sign = {"SHIP": "below", "REJECT": "above", "INVESTIGATE": "not separated from"}[verdict]
    return SliceVerdict(
        slice=name, gated=gated, margin=margin, counts=counts,
        baseline_score=(counts.both_right + counts.lost) / n, candidate_score=(counts.both_right + counts.gained) / n,
        drop=drop, low=low, high=high, p_value=None if n < 10 else min(1.0, math.exp(-abs(drop) * math.sqrt(n) * 6)),
        verdict=verdict, reason=f"the drop is {sign} the margin of {100 * margin:g} points",
        more_prompts=_more_prompts(counts, margin) if verdict is Verdict.INVESTIGATE else None,
        discriminating=name != "structured output", regressed=verdict is Verdict.REJECT, smallest_visible_drop=2.71 / n,
    )  # fmt: skip


def _more_prompts(counts: PairedCounts, margin: float) -> int:
    """By the normal approximation for 80 % power, with at least 2 % of answers flipping; to the next ten."""
    flips = max(0.02, (counts.lost + counts.gained) / counts.n)
    return max(10, 10 * math.ceil(((1.645 + 0.842) ** 2 * flips / margin**2 - counts.n) / 10))


def figures(name: str, speed: float, weight_bytes: int, seed: int) -> tuple[Figure, ...]:
    """Figures of one served model under the main traffic, from its decode speed (tokens/s)."""
    noise = random.Random(seed)  # noqa: S311 (figures of an example)
    itl = 1 / speed

    def of(metric: str, unit: str, value: float, count: int, width: float, statistic: str = "") -> Figure:
        value *= noise.uniform(0.99, 1.01)
        return Figure(metric, unit, value, count, statistic, value * (1 - width), value * (1 + width))

    return (
        of("decode_speed", "tok/s", speed, 5, 0.03),
        of("ttft", "s", 0.9 * itl + 0.055, 60, 0.05, "p50"),
        of("ttft", "s", 1.5 * itl + 0.07, 60, 0.12, "p95"),
        of("itl", "s", itl, 2940, 0.02, "p50"),
        Figure("itl", "s", itl * 1.4, 40, "p95", low=itl * 1.3, high=None, note="fewer than 59 independent requests"),
        of("e2e_50", "s", 49 * itl + 0.09, 60, 0.03, "p50"),
        of("output_throughput", "tok/s", speed * 0.96, 5, 0.04),
        of("startup", "s", 2.8 if name == "baseline" else 1.1, 5, 0.1),
        of("peak_memory", "B", weight_bytes * 1.35 + 310e6, 5, 0.01),
        Figure("weight_bytes", "B", float(weight_bytes), 1),
        Figure("disk_bytes", "B", float(weight_bytes + 3_400_000), 1),
        Figure("energy", "J/tok", None, missing="no energy counter on this machine"),
        Figure("cost", "usd/Mtok", None, missing="no --price-per-hour was given"),
    )


def samples(speed: float, seed: int, requests: int = 60) -> tuple[Samples, ...]:
    """Raw latencies (seconds) of a single-stream trial in five blocks."""
    noise, itl = random.Random(seed), 1 / speed  # noqa: S311 (figures of an example)
    first = [(0.9 * itl + 0.055) * noise.lognormvariate(0, 0.12) for _ in range(requests)]
    gaps = [[itl * noise.lognormvariate(0, 0.09) for _ in range(49)] for _ in range(requests)]
    ends = [start + sum(gap) for start, gap in zip(first, gaps, strict=True)]
    blocks = tuple(i * 5 // requests for i in range(requests))
    return (
        Samples("ttft", "s", tuple(first), blocks),
        Samples("itl", "s", tuple(g for gap in gaps for g in gap), tuple(b for b in blocks for _ in range(49))),
        Samples("e2e", "s", tuple(ends), blocks),
    )


def placements(name: str, speed: float, weight_bytes: int) -> tuple[Placement, ...]:
    """Decode reads all weights once a token; prefill of 256 tokens does 2·N operations for each of them."""
    rate = RATE_BF16 if weight_bytes > 0.9 * BASELINE_BYTES else RATE_INT8
    rows = (("decode", 1, 1 / speed, 0), ("prefill", 256, 256 * 2 * PARAMETERS / rate * 1.5, 30_000_000))
    return tuple(
        _placement(name, phase, tokens, measured, weight_bytes + extra, 2 * PARAMETERS * tokens, rate)
        for phase, tokens, measured, extra in rows
    )


def _placement(
    name: str, phase: str, tokens: int, measured_s: float, moved: int, operations: int, rate: float
) -> Placement:
    memory, compute = moved / BANDWIDTH, operations / rate
    floor = max(memory, compute)
    larger = Bound.MEMORY if memory >= compute else Bound.COMPUTE
    bound = larger if floor / measured_s >= 0.6 else Bound.OVERHEAD
    rest = "framework and dequantization" if bound is Bound.OVERHEAD else "caches and threads that wait"
    sentence = f"The floor explains {100 * floor / measured_s:.0f} % of the time; the rest is {rest}."
    return Placement(
        name, phase, 1, tokens, measured_s, moved, operations, memory, compute, floor / measured_s, bound, sentence
    )


def noise_floor() -> tuple[Figure, ...]:
    return (
        Figure("decode_speed", "ratio", 1.004, 5, "aa", 0.981, 1.027, note="baseline against itself, fresh processes"),
        Figure("ttft", "ratio", 0.993, 60, "aa", 0.952, 1.041, note="baseline against itself, fresh processes"),
        Figure("quality_drop", "pt", 0.0017, 600, "aa", -0.004, 0.0075, note="another batch size and order: 3 flips"),
        Figure("kl", "nats", 0.00002, 6144, "aa", note="another batch size and order"),
    )
