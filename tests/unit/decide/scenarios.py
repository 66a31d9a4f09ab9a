"""Verdicts as a run makes them, for tests of the decision."""

from paredown.contracts import Metric
from paredown.decide import gates, slices, targets
from paredown.decide.paragraph import About, Place
from paredown.records.figure import Figure
from paredown.records.golden import Evaluation, GoldenItem, Score
from paredown.records.traffic import Message
from paredown.records.verdict import CandidateVerdict, Margin, Verdict
from paredown.spec import targets as target_texts

METRICS = {
    name: Metric(name, unit, better, "", "", lambda evidence: Figure("", "", None, missing="not run"), distribution)
    for name, unit, better, distribution in (
        ("decode_speed", "tok/s", "higher", False),
        ("weight_bytes", "B", "lower", False),
        ("ttft", "s", "lower", True),
    )
}
ABOUT = About("SmolLM2-135M-Instruct", "AMD EPYC, 2 cores", "chat")
PLACES = {name: Place(f"/models/{name}", f"paredown serve RUN {name}") for name in ("int8", "int4")}
ASKED = ("decode_speed>=2.5x", "weight_bytes<=60%", "quality_drop<=3pt")


def figures(speed, weight_bytes, ttft_s=0.05, **fields):
    return (
        Figure("decode_speed", "tok/s", speed, 5, **fields),
        Figure("weight_bytes", "B", weight_bytes, 1),
        Figure("ttft", "s", ttft_s, 30, "p50", 0.04, 0.06),
        Figure("ttft", "s", 2 * ttft_s, 30, "p95", 0.09, None),
    )


BASELINE = figures(25.3, 269e6, 0.12)


def judged(lost, gained, same, watched=(0, 0), alpha=0.04):
    """Slices of a pooled gate of 3 points and a watched slice of 60 prompts with these paired counts."""
    items, before, after = [], [], []
    groups = (
        ("facts", lost - watched[0], gained - watched[1], same - 60 + sum(watched)),
        ("safety", *watched, 60 - sum(watched)),
    )
    for name, down, up, equal in groups:
        for i, (old, new) in enumerate([(1.0, 0.0)] * down + [(0.0, 1.0)] * up + [(1.0, 1.0)] * equal):
            items.append(GoldenItem(f"{name}-{i}", name, "choice", (Message("user", "?"),), "0"))
            before.append(old)
            after.append(new)
    margins = [Margin("all", 0.03, gated=True), Margin("safety", 0.03, gated=False)]
    sides = [
        Evaluation(
            name, "confirmation", {}, (), tuple(Score(i.id, v) for i, v in zip(items, values, strict=True)), 0, 0, 0.0
        )
        for name, values in (("baseline", before), ("candidate", after))
    ]
    return slices.judge(*sides, items, margins, alpha=alpha, chance=lambda item: 0.25)


def candidate(name, rows=(), measured=(), stage="confirmation", asked=ASKED, **fields):
    outcome = gates.combine(rows) if rows else None
    checked = targets.check(target_texts.parse_all(asked, METRICS), measured, BASELINE, rows) if measured else ()
    fields.setdefault("verdict", outcome.verdict if outcome else Verdict.REJECT)
    fields.setdefault("reasons", outcome.reasons if outcome else ())
    return CandidateVerdict(name, stage, slices=tuple(rows), targets=checked, figures=tuple(measured), **fields)
