"""Makes golden items from hand-written tables: same tables, same file, on every machine and Python version."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Row = tuple[str, str]
"""(what fills the question, the right answer)."""


@dataclass(frozen=True)
class Item:
    """One item as it is written to the file; empty fields are left out there.

    shots: earlier turns (user, assistant) that show the form of the answer; a kind shares them, so they cost little
    """

    slice: str
    kind: str
    prompt: str
    answer: str
    choices: tuple[str, ...] = ()
    scorer: str = "likelihood"
    system: str = ""
    shots: tuple[Row, ...] = ()
    cluster: str = ""
    max_tokens: int = 0
    zero_tolerance: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str | int | float | bool] = field(default_factory=dict)


def stable_order(values: Sequence[str], seed: str) -> list[str]:
    """The values in an order that only `seed` and the values decide (no random generator whose stream may change)."""
    return sorted(values, key=lambda value: hashlib.sha256(f"{seed}\0{value}".encode()).digest())


def choose(
    slice_name: str,
    kind: str,
    prompt: str,
    right: str,
    wrong: Sequence[str],
    *,
    system: str = "",
    shots: Sequence[Row] = (),
    cluster: str = "",
    tags: Mapping[str, str] | None = None,
) -> Item:
    """A likelihood item; the place of the right answer among the choices depends on the prompt alone."""
    choices = stable_order([right, *wrong], f"{slice_name}/{kind}/{prompt}")
    if len(set(choices)) != len(choices):
        raise ValueError(f"Two choices are equal in {slice_name}/{kind}: {prompt!r}: {choices}")
    return Item(
        slice=slice_name,
        kind=kind,
        prompt=prompt,
        answer=str(choices.index(right)),
        choices=tuple(choices),
        system=system,
        shots=tuple(shots),
        cluster=cluster,
        tags=dict(tags or {}),
    )


def to_plain(item: Item, identifier: str) -> dict[str, object]:
    """The item with the field names of GoldenItem, without empty fields."""
    messages = [{"role": "system", "content": item.system}] if item.system else []
    for question, answer in item.shots:
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    messages.append({"role": "user", "content": item.prompt})
    plain: dict[str, object] = {
        "id": identifier,
        "slice": item.slice,
        "scorer": item.scorer,
        "messages": messages,
        "answer": item.answer,
        "choices": list(item.choices),
        "max_tokens": item.max_tokens,
        "tags": {"kind": item.kind, **item.tags},
        "arguments": dict(item.arguments),
        "cluster": item.cluster,
        "zero_tolerance": item.zero_tolerance,
    }
    return {name: value for name, value in plain.items() if value}
