"""Items that do not fit the model's context."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.evaluate.audit import wording
from paredown.evaluate.audit.encoding import Encoded
from paredown.records.audit import Finding


def find(encoded: Sequence[Encoded], context_length: int | None) -> tuple[Finding, ...]:
    """context_length: positions of the model; None = no file says"""
    if not context_length:
        return ()
    over = {one.item.id: one.longest for one in encoded if one.longest > context_length}
    if not over:
        return ()
    sentence = (
        f"{wording.items(len(over), 'does', 'do')} not fit the context of {context_length:,} tokens "
        f"({wording.some(tuple(over))}; the longest takes {max(over.values()):,} with its answer): not scored then. "
        "Shorten the prompt, lower `max_tokens`, or leave it out."
    )
    return (Finding("too long", sentence, items=tuple(over)),)
