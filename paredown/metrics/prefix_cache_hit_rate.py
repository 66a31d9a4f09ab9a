"""Share of the prompt tokens that came from the server's prefix cache, by its own count."""

from __future__ import annotations

from paredown.contracts import Evidence, Metric
from paredown.records.events import Block
from paredown.records.figure import Figure
from paredown.stats.figures import over_blocks


def _compute(evidence: Evidence) -> Figure:
    requests = evidence.trial.requests() if evidence.trial else ()
    told = sum(request.cached_tokens is not None for request in requests)
    note = f"of the {told} of {len(requests)} requests for which the server says it" if 0 < told < len(requests) else ""
    missing = "the server does not say how many prompt tokens came from its prefix cache"
    return over_blocks("prefix_cache_hit_rate", "fraction", evidence.trial, _hit_rate, missing, note)


def _hit_rate(block: Block) -> float | None:
    told = [(r.cached_tokens, r.prompt_tokens) for r in block.requests if r.cached_tokens is not None]
    known = [(cached, prompt) for cached, prompt in told if cached is not None and prompt]
    prompt_tokens = sum(prompt for _, prompt in known)
    return sum(cached for cached, _ in known) / prompt_tokens if prompt_tokens else None


METRIC = Metric(
    name="prefix_cache_hit_rate",
    unit="fraction",
    better="higher",
    summary="share of the prompt tokens that came from the prefix cache",
    formula="Σ cached_tokens / Σ prompt_tokens",
    compute=_compute,
)
