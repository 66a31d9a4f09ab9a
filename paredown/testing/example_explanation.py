"""Why the candidates of the synthetic run were judged as they were: flips, drifted texts, groups, layers, audit."""

from __future__ import annotations

import math
import random

from paredown.records.audit import Finding, Severity
from paredown.records.explanation import (
    BlockLoss,
    Choice,
    DriftedText,
    Explanation,
    Flip,
    Group,
    Sensitivity,
)
from paredown.records.golden import Fidelity, FidelityFloor, FidelityPart, Truncation
from paredown.records.verdict import Looks, SliceVerdict
from paredown.testing.example_numbers import Numbers

LAYERS = 30
LANGUAGES = {"en": 1.0, "de": 1.1, "ru": 1.9, "hi": 2.6}
POSITIONS = ("0–255", "256–1,023", "1,024–2,047", "2,048–4,095")


def explanation(numbers: Numbers, slices: tuple[SliceVerdict, ...]) -> Explanation:
    """Groups are the judged slices, and languages of which the last one suffers most."""
    watched = [one for one in slices if not one.gated]
    flips = tuple(
        Flip(f"{one.slice}-{place}", "confirmation", one.slice, *scores)
        for one in watched
        for scores, count in (((1.0, 0.0), one.counts.lost), ((0.0, 1.0), one.counts.gained))
        for place in range(count)
    )
    return Explanation(
        candidate=numbers.name,
        compared=sum(one.counts.n for one in watched),
        flips=tuple(sorted(flips, key=lambda flip: not flip.lost)),
        drifted=_drifted(numbers.kl),
        groups=(*(_of_slice(one) for one in watched), *_languages(numbers)),
        scorers={"judge": "The judge gave the same answer in both orders for 93 % of 120 pairs."},
    )


def _of_slice(one: SliceVerdict) -> Group:
    c = one.counts
    assert one.drop is not None
    assert one.low is not None
    assert one.high is not None
    return Group(
        "slice", one.slice, c.n, c.lost, c.gained, one.drop, one.low, one.high, min(1.0, 9 * (one.p_value or 1))
    )


def _languages(numbers: Numbers) -> tuple[Group, ...]:
    rows = []
    for name, factor in LANGUAGES.items():
        lost = round(108 * numbers.loss * factor)
        drop = (lost - 1) / 108
        rows.append(Group("language", name, 108, lost, 1, drop, drop - 0.03, drop + 0.04, min(1.0, 2.0 * 0.5**lost)))
    return tuple(rows)


def _drifted(kl: float) -> tuple[DriftedText, ...]:
    return (
        DriftedText(
            "reasoning-041", "reasoning", 40, 6 * kl, 55 * kl, 0.9, 9, "3 boxes hold 3 × 12 = 36 eggs. 36 ", "−",
            " 5 = 31 eggs are whole.", Choice(11, "−", 0.62, 0.31), Choice(12, "+", 0.3, 0.55),
            "3 boxes hold 3 × 12 = 36 eggs. 36 + 5 = 41 eggs are whole.",
        ),
        DriftedText(
            "hindi", "plain", 64, 4 * kl, 40 * kl, 0.86, 3, "गाँव के ", "बाहर", " एक पुराना पेड़ था",
            Choice(21, "बाहर", 0.41, 0.2), Choice(22, "पास", None, 0.29),
        ),
        DriftedText(
            "facts-003", "short facts", 12, 2 * kl, 9 * kl, 0.97, 11, "Vienna lies on the Danube.", "", "",
            Choice(0, "", 0.7, 0.45), Choice(31, " It", 0.2, 0.5),
        ),
    )  # fmt: skip


def sensitivity(numbers: Numbers) -> Sensitivity:
    """A loss that is largest in the first, the eleventh and the last block, as the built-in model has it."""
    noise = random.Random(numbers.name)  # noqa: S311 (figures of an example)
    shape = [
        math.exp(-i / 4) * 3 + 0.8 * noise.uniform(0.8, 1.2) + (6 if i == 11 else 4 if i == LAYERS - 1 else 0)
        for i in range(LAYERS)
    ]
    each = numbers.kl * 0.9 / sum(shape)
    blocks = [BlockLoss(f"block {i}", value * each, 3_538_944, 0.09) for i, value in enumerate(shape)]
    head = numbers.kl * 0.06
    return Sensitivity(
        candidate=numbers.name,
        parts=(
            BlockLoss("embedding", numbers.kl * 0.04, 28_311_552, 0.011), *blocks, BlockLoss("rest", 0.0, 0, 0.0),
            BlockLoss("head", head, 28_311_552, 0.011),
        ),
        whole_kl=numbers.kl * 1.02,
        texts=10,
        positions=250,
        seconds=21.0,
        not_read=("model.norm.weight",),
    )  # fmt: skip


def fidelity(numbers: Numbers) -> Fidelity:
    """Every figure; the error of each is a tenth of it."""
    kl = numbers.kl
    parts = [
        *(FidelityPart(n, "slice", 800, 5, 5, kl * f, kl * f / 9, numbers.top1, 0.01)
          for n, f in (("short facts", 0.7), ("reasoning", 1.3))),
        *(FidelityPart(n, "text", 512, 4, 4, kl * f, kl * f / 9, numbers.top1, 0.02, kl * f / 3, kl / 8)
          for n, f in LANGUAGES.items()),
        *(FidelityPart(n, "positions", 1024, 4, 16, kl * f, kl * f / 9, numbers.top1, 0.01, kl * f / 3, kl / 8)
          for n, f in zip(POSITIONS, (0.9, 0.95, 1.0, 1.2), strict=True)),
    ]  # fmt: skip
    ratio = math.exp(kl / 3)
    return Fidelity(
        numbers.name, "full", (), 64, kl, kl * 14, kl * 90, numbers.top1, positions=6144, p999_kl=kl * 40,
        mean_reverse_kl=kl * 1.1, topk_agreement=numbers.top1 * 0.97, agreement_k=10,
        log_perplexity_difference=kl / 3, log_perplexity_se=kl / 20, perplexity_ratio=ratio,
        perplexity_ratio_low=ratio * (1 - kl / 10), perplexity_ratio_high=ratio * (1 + kl / 10), perplexity_texts=12,
        first_divergence=14.0, diverged=16, answers=20,
        truncation=Truncation(64, 1024, 400, 6, kl / 50, kl / 400, kl / 20, kl / 300, 0.002), parts=tuple(parts),
        floor=FidelityFloor(2e-5, 2.4e-5, 2e-5, 0.996, 1e-6, 3e-5, 6144, "another batch size and order"),
    )  # fmt: skip


def findings() -> tuple[Finding, ...]:
    return (
        Finding(
            "duplicate", "2 items ask the same: facts-003, facts-090. They count as one.",
            items=("facts-003", "facts-090"),
        ),
        Finding(
            "small slice", "The slice 'structured output' has 60 items: with no change at all they show only that the "
            "drop is below 4.3 points, and its margin is 3.", slice="structured output",
        ),
        Finding("too long", "No item is longer than the context.", Severity.NOTE),
    )  # fmt: skip


def looks() -> Looks:
    return Looks(480, 168, 5, 2, "At the second look every gate was below its margin.")
