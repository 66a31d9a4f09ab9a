"""Inter-token latency, one sample a token. How bundled the chunks were is in the note."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records import timing
from paredown.records.figure import Samples


def _compute(evidence: Evidence) -> Samples:
    """Tokens of one request depend on each other: with a single stream each request is a block of its own."""
    trial = evidence.trial
    if trial is None:
        return Samples("itl", "s", (), missing="no trial was run")
    values: list[float] = []
    blocks: list[int] = []
    tokens = chunks = requests = 0
    for block in trial.blocks:
        for request in timing.succeeded(block.requests):
            gaps = timing.itl_s(request)
            values += gaps
            blocks += [requests if trial.concurrency == 1 else block.index] * len(gaps)
            tokens += sum(timing.tokens_per_chunk(request))
            chunks += len(request.chunks)
            requests += 1
    if not requests:
        return Samples("itl", "s", (), missing=timing.nothing_succeeded(trial))
    if not values:
        return Samples("itl", "s", (), missing="every answer came in one chunk, so there is no gap between tokens")
    notes = (timing.caveats(trial), f"{tokens / chunks:.3g} tokens a chunk" if tokens > chunks else "")
    return Samples("itl", "s", tuple(values), tuple(blocks), note="; ".join(filter(None, notes)))


METRIC = Metric(
    name="itl",
    unit="s",
    better="lower",
    summary="gap before each token after the first chunk",
    formula="m_i values of (c_i − c_{i−1})/m_i for i ≥ 2",
    compute=_compute,
    distribution=True,
)
