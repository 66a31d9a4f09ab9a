"""Invented documents of a wanted length for the long-context slice: facts strewn in prose that is beside the point.

A fact is a sentence `lead value.`. Three kinds of question, in turn: `find` (the choices begin with the words of the
fact; wrong values are not in the document), `bare` (the choices are the values alone) and `rival` (one wrong value
stands in the document in a sentence that differs by a word: the name of the cat, where the dog's is asked for).
"""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from tools.golden.items import Item, choose, stable_order
from tools.golden.tables import FOLDER

ASKED = 15
CHOICES = 4
KINDS = ("find", "bare", "rival")


@dataclass(frozen=True)
class Fact:
    """`The name of the dog is`, `The name of the cat is`, `What is the name of the dog?`, the values they may have."""

    lead: str
    rival_lead: str
    question: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Prose:
    """What the documents are made of. A sentence beside the point is subject, action and time."""

    facts: tuple[Fact, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Held:
    """A fact with its value in a document, and the value of its rival there (for the kind `rival`)."""

    kind: str
    fact: Fact
    value: str
    rival_value: str


@dataclass(frozen=True)
class Document:
    """A text and the facts that it holds, in the order of the text."""

    name: str
    text: str
    held: tuple[Held, ...]


def read_prose() -> Prose:
    table = yaml.safe_load((FOLDER / "long_context.yaml").read_text("utf-8"))
    rows = [line.split(" | ") for line in table["facts"].strip().split("\n")]
    facts = [Fact(lead, rival, question, tuple(values.split(", "))) for lead, rival, question, values in rows]
    parts = [table[name].strip().split("\n") for name in ("subjects", "actions", "times")]
    sentences = [f"{who} {what} {when}." for who in parts[0] for what in parts[1] for when in parts[2]]
    return Prose(tuple(facts), tuple(sentences))


def write(prose: Prose, name: str, sentences: int) -> Document:
    """A document of ASKED facts among as many sentences as wanted; three to seven sentences a paragraph."""
    by_lead = {fact.lead: fact for fact in prose.facts}
    facts = [by_lead[lead] for lead in stable_order(list(by_lead), name)[:ASKED]]
    held = tuple(_hold(fact, KINDS[number % len(KINDS)], name) for number, fact in enumerate(facts))
    lines = stable_order(prose.sentences, name)[:sentences]
    for number, one in reversed(list(enumerate(held))):
        place = (2 * number + 1) * sentences // (2 * ASKED)
        lines.insert(place, f"{one.fact.lead} {one.value}.")
        if one.kind == "rival":
            far = (place + sentences // 2) % sentences
            lines.insert(far, f"{one.fact.rival_lead} {one.rival_value}.")
    paragraphs = [" ".join(lines[start : start + 5]) for start in range(0, len(lines), 5)]
    return Document(name, "\n".join(paragraphs), held)


def _hold(fact: Fact, kind: str, name: str) -> Held:
    value, other = stable_order(fact.values, f"{name}/{fact.lead}")[:2]
    return Held(kind, fact, value, other if kind == "rival" else "")


def items(slice_name: str, document: Document, length: str) -> list[Item]:
    """One question for each fact of the document."""
    present = {value for one in document.held for value in (one.value, one.rival_value)}
    found = []
    for one in document.held:
        absent = stable_order([value for value in one.fact.values if value not in present], one.fact.question)
        wrong = ([one.rival_value] if one.rival_value else []) + absent
        form = "{}" if one.kind == "bare" else f"{one.fact.lead} {{}}"
        found.append(
            choose(
                slice_name,
                one.kind,
                f"{document.text}\n\n{one.fact.question}",
                form.format(one.value),
                [form.format(value) for value in wrong[: CHOICES - 1]],
                cluster=document.name,
                tags={"length": length},
            )
        )
    return found
