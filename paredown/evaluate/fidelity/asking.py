"""Score requests on the texts of fidelity, and the refusal of what is no number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from paredown.contracts import ScoreRequest, ScoreResult
from paredown.errors import EngineError
from paredown.hosts import scoring_client
from paredown.hosts.scoring_client import ScoringClient
from paredown.records.golden import FidelityText


def score(
    client: ScoringClient, texts: Sequence[FidelityText], request: Callable[[FidelityText], ScoreRequest]
) -> list[ScoreResult]:
    """Results in the order of the texts; asked in the order of the token ids, so that prefixes are shared."""
    return scoring_client.in_order_of_ids(client, [request(text) for text in texts])


def score_alone(
    client: ScoringClient, texts: Sequence[FidelityText], request: Callable[[FidelityText], ScoreRequest]
) -> list[ScoreResult]:
    """The same in the opposite order and one call for each text, so that nothing is computed beside it."""
    order = sorted(range(len(texts)), key=lambda index: texts[index].token_ids, reverse=True)
    results = {index: client.score([request(texts[index])])[0] for index in order}
    return [results[index] for index in range(len(texts))]


def refuse_nonfinite(text: FidelityText, rows: Sequence[Sequence[float]]) -> None:
    """Raises EngineError when a log-probability is not finite: such a model is broken, whatever the rest says."""
    bad = [index for index, row in enumerate(rows) if not all(math.isfinite(value) for value in row)]
    if bad:
        raise EngineError(
            f"The model gives log-probabilities that are no finite numbers at {len(bad)} of {len(rows)} positions "
            f"of the text {text.id!r}: it is broken."
        )
