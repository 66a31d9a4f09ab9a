"""What is weak about a golden set, before it judges anybody. Findings warn; none of them refuses the set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from paredown.hosts.running import RunningEngine
from paredown.records.golden import GoldenItem
from paredown.records.verdict import Margin
from paredown.spec.targets import POOLED

SmallestDrop = Callable[[int], float]


@dataclass(frozen=True)
class Finding:
    """One weakness. `kind`: `duplicate`, `small slice`, `empty slice`, `too long`, `spaced choice`, `prefix choice`."""

    kind: str
    sentence: str
    items: tuple[str, ...] = ()
    slice: str = ""


def check(
    items: Sequence[GoldenItem],
    margins: Sequence[Margin],
    *,
    smallest_drop: SmallestDrop,
    tokens: Mapping[str, int] | None = None,
    context_length: int = 0,
) -> tuple[Finding, ...]:
    """All findings on a set.

    smallest_drop: number of items → the smallest margin (fraction) that they can prove when nothing changed
    tokens:        tokens of each item's prompt with its longest answer, when they have been counted
    """
    return (
        *_duplicates(items),
        *_small_slices(items, margins, smallest_drop),
        *_too_long(tokens or {}, context_length),
        *_choices(items),
    )


def count_tokens(running: RunningEngine, items: Sequence[GoldenItem]) -> dict[str, int]:
    """Tokens of each item's rendered conversation and its longest answer, by the engine's own tokenizer."""
    with running.scoring() as client:
        prompts = client.encode([item.messages for item in items])
        choices = iter(client.encode_texts([choice for item in items for choice in item.choices]))
    longest = [max((len(next(choices)) for _ in item.choices), default=item.max_tokens) for item in items]
    return {item.id: len(ids) + most for item, ids, most in zip(items, prompts, longest, strict=True)}


def _duplicates(items: Sequence[GoldenItem]) -> list[Finding]:
    same: dict[object, list[str]] = {}
    for item in items:
        same.setdefault((item.messages, item.choices), []).append(item.id)
    return [
        Finding("duplicate", f"{len(ids)} items ask the same: {', '.join(ids)}. They count as one at most.", tuple(ids))
        for ids in same.values()
        if len(ids) > 1
    ]


def _small_slices(items: Sequence[GoldenItem], margins: Sequence[Margin], smallest: SmallestDrop) -> list[Finding]:
    counts: dict[str, int] = {}
    for item in items:
        counts[item.slice] = counts.get(item.slice, 0) + 1
    found = []
    for margin in margins:
        pooled = margin.members or (tuple(counts) if margin.slice == POOLED else (margin.slice,))
        count = sum(counts.get(name, 0) for name in pooled)
        if not count:
            found.append(Finding("empty slice", f"The slice {margin.slice!r} has no items.", slice=margin.slice))
        elif (drop := smallest(count)) > margin.margin:
            sentence = (
                f"The slice {margin.slice!r} has {count} items: with no change at all they show only that the drop is "
                f"below {100 * drop:.1f} points, and its margin is {100 * margin.margin:g}."
            )
            found.append(Finding("small slice", sentence, slice=margin.slice))
    return found


def _too_long(tokens: Mapping[str, int], context_length: int) -> list[Finding]:
    ids = tuple(item for item, count in tokens.items() if 0 < context_length < count)
    if not ids:
        return []
    longest = max(tokens[item] for item in ids)
    sentence = f"{len(ids)} items do not fit the context of {context_length} tokens (the longest has {longest})."
    return [Finding("too long", sentence, ids)]


def _choices(items: Sequence[GoldenItem]) -> list[Finding]:
    """Choices whose form decides more than their meaning."""
    spaced = tuple(item.id for item in items if any(choice != choice.strip() for choice in item.choices))
    prefixed = tuple(item.id for item in items if "normalize" not in item.arguments and _has_prefix(item.choices))
    found = []
    if spaced:
        sentence = f"{len(spaced)} items have choices with outer spaces; they follow the chat template as written."
        found.append(Finding("spaced choice", sentence, spaced))
    if prefixed:
        sentence = (
            f"{len(prefixed)} items have a choice that another one begins with: the shorter is never less likely. "
            'Give them {"normalize": "tokens"} in `arguments`.'
        )
        found.append(Finding("prefix choice", sentence, prefixed))
    return found


def _has_prefix(choices: Sequence[str]) -> bool:
    return any(one != other and other.startswith(one) for one in choices for other in choices)
