"""Choices whose form decides more than their meaning."""

from __future__ import annotations

from collections.abc import Sequence

from paredown.evaluate.audit import wording
from paredown.evaluate.audit.encoding import is_conversation
from paredown.records.audit import Finding
from paredown.records.golden import GoldenItem


def find(items: Sequence[GoldenItem]) -> tuple[Finding, ...]:
    """By their texts alone; see `tokens` for how they are cut into tokens."""
    talks = [item for item in items if is_conversation(item)]
    spaced = tuple(item.id for item in talks if any(choice != choice.strip() for choice in item.choices))
    prefixed = tuple(item.id for item in talks if "normalize" not in item.arguments and _has_prefix(item.choices))
    found = []
    if spaced:
        sentence = (
            f"{wording.items(len(spaced), 'has', 'have')} choices with outer spaces ({wording.some(spaced)}), which "
            "follow the chat template as they are written. Take the spaces away unless the template wants them."
        )
        found.append(Finding("spaced choice", sentence, items=spaced))
    if prefixed:
        sentence = (
            f"{wording.items(len(prefixed), 'has', 'have')} a choice that another one begins with "
            f"({wording.some(prefixed)}): the shorter is never less likely. "
            'Write {"normalize": "tokens"} into `arguments`.'
        )
        found.append(Finding("prefix choice", sentence, items=prefixed))
    return tuple(found)


def _has_prefix(choices: Sequence[str]) -> bool:
    return any(one != other and other.startswith(one) for one in choices for other in choices)
