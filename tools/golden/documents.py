"""Invented documents of a wanted length for the long-context slice: record books whose entries tie facts together.

Every entry is one sentence form filled from hand-written lists, so that any fact can be asked for and the wrong
choices are facts of other entries of the same document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tools.golden.items import Item, choose, stable_order


@dataclass(frozen=True)
class Book:
    """A document to be made.

    forms:     sentence forms of an entry, used in turn, with `{column}` for its facts
    columns:   the values of each fact; entry i gets value i of a fixed shuffle, so no two entries share `key`
    questions: (column asked for, question with `{key}`, form of a choice)
    length:    tag: 512, 1k or 2k
    """

    name: str
    title: str
    length: str
    entries: int
    key: str
    forms: Sequence[str]
    columns: Mapping[str, Sequence[str]]
    questions: Sequence[tuple[str, str, str]]
    asked: int
    fillers: Sequence[str] = field(default_factory=tuple)
    filler_every: int = 0


def facts(book: Book) -> list[dict[str, str]]:
    """The entries of the document, each a fact by column."""
    shuffled = {name: stable_order(values, f"{book.name}/{name}") for name, values in book.columns.items()}
    if len(shuffled[book.key]) < book.entries:
        raise ValueError(f"{book.name}: {len(shuffled[book.key])} keys for {book.entries} entries")
    return [{name: values[i % len(values)] for name, values in shuffled.items()} for i in range(book.entries)]


def text(book: Book) -> str:
    lines = [book.title]
    for i, entry in enumerate(facts(book)):
        lines.append(book.forms[i % len(book.forms)].format(**entry))
        if book.filler_every and i % book.filler_every == book.filler_every - 1:
            lines.append(book.fillers[(i // book.filler_every) % len(book.fillers)])
    return "\n".join(lines)


def items(slice_name: str, book: Book) -> list[Item]:
    """`asked` questions spread evenly over the document, the kinds of question in turn."""
    document, entries = text(book), facts(book)
    found = []
    for number in range(book.asked):
        entry = entries[(2 * number + 1) * book.entries // (2 * book.asked)]
        column, question, form = book.questions[number % len(book.questions)]
        others = sorted({other[column] for other in entries} - {entry[column]})
        wrong = stable_order(others, f"{book.name}/{number}/{question}")[:3]
        found.append(
            choose(
                slice_name,
                column,
                f"{document}\n\n{question.format(**entry)}",
                form.format(**{**entry, "value": entry[column]}),
                [form.format(**{**entry, "value": value}) for value in wrong],
                cluster=book.name,
                tags={"length": book.length},
            )
        )
    return found
