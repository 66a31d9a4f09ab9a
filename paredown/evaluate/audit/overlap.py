"""Golden items that also stand in the calibration data, word for word or nearly.

What a technique was calibrated on it gets right for that reason alone, so such items say nothing on other prompts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from paredown.evaluate.audit import wording
from paredown.evaluate.audit.duplicates import COMMON_ITEMS, COMMON_SHARE
from paredown.records.audit import Finding, Severity
from paredown.records.calibration import Calibration, CalibrationSample
from paredown.records.golden import GoldenItem
from paredown.records.verdict import Margin
from paredown.spec.targets import POOLED
from paredown.stats import near_duplicates, word_runs

NEARLY = 0.7
"""Words of a prompt that stand in the calibration data in runs of eight, from which on it counts as held by them.

Measured on GSM8K: one word changed at random leaves 0.72 or more in 99 of 100 prompts, and no prompt of one half of
the set has more than 0.58 in the other.
"""
SHORT_WORDS = 3 * word_runs.RUN
SHORT_NEARLY = 0.6
"""Shorter prompts than this are compared as sets of words too: one word changed leaves them few runs of eight, and of
fourteen words a similarity (Jaccard) of 0.6.
"""
MAJORITY = 0.5


def find(items: Sequence[GoldenItem], margins: Sequence[Margin], calibration: Calibration) -> tuple[Finding, ...]:
    """margins: the gates, of which a majority of leaked items leaves nothing; items: those that are judged or choose"""
    overlap = _held(items, calibration)
    found = []
    for kind, held, how in (
        ("calibration overlap", overlap.exact, "word for word"),
        ("calibration near overlap", overlap.near, "but for a few words"),
    ):
        if held:
            places = [f"{item.id} in {where}" for item, where in held]
            sentence = (
                f"{wording.items(len(held), 'stands', 'stand')} in the calibration data {how} "
                f"({wording.some(places)}): a technique that is calibrated on them gets them right for that reason. "
                "Take them out of the calibration data, or out of the golden set."
            )
            found.append(Finding(kind, sentence, items=tuple(item.id for item, _ in held)))
    leaked = frozenset(item.id for item, _ in (*overlap.exact, *overlap.near))
    return (*found, *_lost_gates(items, margins, leaked))


Held = list[tuple[GoldenItem, str]]


@dataclass(frozen=True)
class _Overlap:
    """Items that the data hold word for word and nearly, each with the place of what holds most of it."""

    exact: Held
    near: Held


def _held(items: Sequence[GoldenItem], calibration: Calibration) -> _Overlap:
    units = [(text, sample.where) for sample in calibration.samples for text in _units(sample)]
    asked = _asked(items)
    texts, others = [text for _, text in asked], [text for text, _ in units]
    runs = word_runs.covered(texts, others, most_texts=max(COMMON_ITEMS, COMMON_SHARE * len(items)))
    exact = {asked[one.text][0]: one.other for one in runs if one.share == 1.0}
    near = {asked[one.text][0]: one.other for one in runs if NEARLY <= one.share < 1.0}
    short = [place for place, text in asked if len(near_duplicates.words(text)) < SHORT_WORDS]
    short_texts = [text for _, text in asked if len(near_duplicates.words(text)) < SHORT_WORDS]
    alike = near_duplicates.nearest(short_texts, others, SHORT_NEARLY)
    near |= {short[one.text]: one.other for one in alike}
    return _Overlap(
        [(items[place], units[other][1]) for place, other in sorted(exact.items())],
        [(items[place], units[other][1]) for place, other in sorted(near.items()) if place not in exact],
    )


def _asked(items: Sequence[GoldenItem]) -> list[tuple[int, str]]:
    """The texts by which each item is known, with its place: all that is asked, and a long last turn by itself.

    Choices are not asked, but where several items have the same prompt they are what tells them apart; a text that
    stands by itself is its one choice.
    """
    whole = ["\n".join(part.content for part in item.messages if part.role != "system") for item in items]
    shared = Counter(whole)
    found = []
    for place, (item, text) in enumerate(zip(items, whole, strict=True)):
        told_by_choices = shared[text] > 1 or not item.messages
        found.append((place, "\n".join([text, *item.choices]) if told_by_choices else text))
        last = item.messages[-1].content if len(item.messages) > 1 else ""
        if last != text and len(near_duplicates.words(last)) >= word_runs.RUN:
            found.append((place, last))
    return found


def _units(sample: CalibrationSample) -> tuple[str, ...]:
    """The texts that a prompt can be all of: each message, and the conversation as an item with examples asks it."""
    if sample.text:
        return (sample.text,)
    talk = "\n".join(message.content for message in sample.messages if message.role != "system")
    return (talk, *(message.content for message in sample.messages if message.content != talk))


def _lost_gates(items: Sequence[GoldenItem], margins: Sequence[Margin], leaked: frozenset[str]) -> list[Finding]:
    found = []
    for margin in margins:
        members = [i for i in items if margin.slice == POOLED or i.slice in (margin.members or (margin.slice,))]
        share = sum(item.id in leaked for item in members) / len(members) if members else 0.0
        if share > MAJORITY:
            sentence = (
                f"{wording.percent(share)} of the prompts of the gate {margin.slice!r} stand in the calibration data, "
                "so that passing it would show nothing. Calibrate on other text (the traffic's own prompts, say)."
            )
            found.append(Finding("calibration is the golden set", sentence, Severity.REFUSE, slice=margin.slice))
    return found
