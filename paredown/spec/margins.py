"""Quality targets and gates of a spec to margins: which slices decide, and which are watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paredown.errors import UnknownNameError, UserError
from paredown.records.verdict import Margin, Target
from paredown.spec.targets import POOLED, QUALITY_DROP

DEFAULT_MARGIN = 0.02


@dataclass(frozen=True)
class Gates:
    """assumed: no drop was named, so that all prompts together are gated at 2 points"""

    margins: tuple[Margin, ...]
    assumed: bool


def gates(
    targets: Sequence[Target], points_by_slice: Mapping[str, float], watch: Sequence[str], slices: Sequence[str]
) -> Gates:
    """The gates that targets and `points_by_slice` ask for, then every other slice (or those of `watch`) as watched.

    A gate on `all` pools every prompt, one on `a+b` the named slices. Watched slices carry the margin of the pooled
    gate, or the strictest. Raises UserError for a slice without prompts, or for a slice that is gated twice.
    """
    if POOLED in slices:
        raise UserError(f"A golden slice is named {POOLED!r}, which means all prompts together. Rename the slice.")
    asked = [(target.slice, target.value) for target in targets if target.metric == QUALITY_DROP]
    asked += [(name, points / 100.0) for name, points in points_by_slice.items()]
    gated: dict[str, Margin] = {}
    for name, margin in asked or [(POOLED, DEFAULT_MARGIN)]:
        if name in gated:
            raise UserError(f"The slice {name!r} has two margins, in the targets and in the gates. Keep one.")
        gated[name] = Margin(name, margin, gated=True, members=_members(name, slices))
    shown = gated[POOLED].margin if POOLED in gated else min(gate.margin for gate in gated.values())
    for name in watch:
        _members(name, slices)
    watched = [Margin(name, shown, gated=False) for name in watch or slices if name not in gated]
    return Gates((*gated.values(), *watched), assumed=not asked)


def _members(name: str, slices: Sequence[str]) -> tuple[str, ...]:
    """Slices that a gate pools; none for a single slice, and for all prompts."""
    if name == POOLED or name in slices:
        return ()
    parts = tuple(part.strip() for part in name.split("+"))
    for part in parts:
        if part not in slices:
            raise UnknownNameError("slice", part, slices)
    return parts
