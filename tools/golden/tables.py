"""Reads the hand-written tables: blocks of one kind of item each, one row an item.

A block has `kind` and `question` (`{}` is the first column), and may have `form` (of each choice), `choices` (how
many), `system`, `shots` (earlier turns), `tags`, `scorer`, `max_tokens` and `arguments`. A row is
`subject | right | wrong …`; a likelihood row without wrong answers takes them from the other rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tools.golden.items import Item, Row, choose, stable_order

FOLDER = Path(__file__).parent / "tables"
BLOCK_FIELDS = {
    *("kind", "question", "form", "choices", "system", "shots", "tags", "scorer", "max_tokens", "arguments", "rows"),
}


def read(slice_name: str) -> list[Item]:
    """The items of a slice in the order of its table. Raises ValueError for a block or row that is written wrongly."""
    blocks = yaml.safe_load((FOLDER / f"{slice_name}.yaml").read_text("utf-8"))
    return [item for block in blocks for item in _block(slice_name, block)]


def _block(slice_name: str, block: Mapping[str, Any]) -> list[Item]:
    if unknown := sorted(set(block) - BLOCK_FIELDS):
        raise ValueError(f"{slice_name}/{block.get('kind')}: unknown field {unknown[0]!r}")
    rows = [[cell.strip() for cell in line.split(" | ")] for line in block["rows"].strip().split("\n")]
    if any(len(row) < 2 for row in rows) and "{}" in block["question"]:
        raise ValueError(f"{slice_name}/{block['kind']}: a row without an answer")
    if "scorer" in block:
        return [_generative(slice_name, block, row) for row in rows]
    return [_likelihood(slice_name, block, row, rows) for row in rows]


def _likelihood(slice_name: str, block: Mapping[str, Any], row: Sequence[str], rows: Sequence[Sequence[str]]) -> Item:
    question, form = block["question"], block.get("form", "{}")
    subject, right, *wrong = row if "{}" in question else ("", *row)
    if not wrong:
        others = stable_order(sorted({other[1] for other in rows} - {right}), f"{block['kind']}/{subject}")
        wrong = _without_beginnings(right, others)[: block.get("choices", 4) - 1]
    return choose(
        slice_name,
        block["kind"],
        question.replace("{}", subject),
        form.replace("{}", right),
        [form.replace("{}", other) for other in wrong],
        system=block.get("system", ""),
        shots=_shots(block),
        tags=block.get("tags"),
    )


def _without_beginnings(right: str, others: Sequence[str]) -> list[str]:
    """Those that begin with no other choice: `6` beside `60` would always be the likelier one."""
    kept = [right]
    for other in others:
        if not any(other.startswith(one) or one.startswith(other) for one in kept):
            kept.append(other)
    return kept[1:]


def _generative(slice_name: str, block: Mapping[str, Any], row: Sequence[str]) -> Item:
    subject, answer = row
    return Item(
        slice=slice_name,
        kind=block["kind"],
        prompt=block["question"].replace("{}", subject),
        answer=answer,
        scorer=block["scorer"],
        system=block.get("system", ""),
        shots=_shots(block),
        max_tokens=block["max_tokens"],
        tags=block.get("tags", {}),
        arguments=block.get("arguments", {}),
    )


def _shots(block: Mapping[str, Any]) -> tuple[Row, ...]:
    return tuple((question, answer) for question, answer in block.get("shots", []))
