"""The golden set that ships: what its tables make, in the counts, forms and cost that the verdict rests on."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from paredown.evaluate import golden
from paredown.evaluate.audit import choices, duplicates
from paredown.records.golden import GoldenItem

ROOT = Path(__file__).resolve().parents[3]
SLICES = {
    *("short_facts", "reasoning", "long_context", "multilingual", "safety", "tool_calls", "structured_output"),
}
CHARACTERS_PER_TOKEN = {"latin": 3.4, "other": 1.0}
"""Low on purpose: the estimate for this set is 37,000 where the tokenizer of the demo model counts 31,400."""


@pytest.fixture(scope="module")
def items() -> tuple[GoldenItem, ...]:
    return golden.load(["builtin"]).items


def test_the_files_are_exactly_what_the_tables_make(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from tools.golden import build

    texts = build.file_texts()
    found = {path.name: path.read_text("utf-8") for path in build.TARGET.glob("*.jsonl")}
    assert found == texts


def test_there_are_enough_items_for_a_pooled_margin_of_three_points(items: tuple[GoldenItem, ...]) -> None:
    assert len(items) >= 840
    counts = Counter(item.slice for item in items)
    assert set(counts) == SLICES
    assert min(counts.values()) >= 90


def test_at_least_four_fifths_are_scored_by_likelihood(items: tuple[GoldenItem, ...]) -> None:
    assert sum(item.scorer == "likelihood" for item in items) >= 0.8 * len(items)


def test_ids_are_unique_and_nothing_is_asked_twice(items: tuple[GoldenItem, ...]) -> None:
    assert len({item.id for item in items}) == len(items)
    split = golden.split(golden.load(["builtin"]), seed=0, screening_fraction=0.25)
    split_of = {item.id: "screening" for item in split.screening.items}
    split_of |= {item.id: "confirmation" for item in split.confirmation.items}
    assert (*duplicates.find(items, split_of), *choices.find(items)) == ()


def test_long_context_has_three_lengths_and_each_document_is_a_cluster(items: tuple[GoldenItem, ...]) -> None:
    long = [item for item in items if item.slice == "long_context"]
    assert {item.tags["length"] for item in long} == {"512", "1k", "2k"}
    documents: dict[str, set[str]] = {}
    for item in long:
        documents.setdefault(item.cluster, set()).add(item.messages[-1].content.rpartition("\n\n")[0])
    assert len(documents) >= 8
    assert all(len(texts) == 1 for texts in documents.values())


def test_of_the_values_in_question_a_long_document_holds_the_right_one_and_that_of_a_rival(
    items: tuple[GoldenItem, ...],
) -> None:
    for item in (item for item in items if item.slice == "long_context"):
        document = item.messages[-1].content.rpartition("\n\n")[0]
        lead = os.path.commonprefix(item.choices).rpartition(" ")[0]  # noqa: RUF071 characters are meant
        values = [choice.removeprefix(lead).strip() for choice in item.choices]
        held = {index for index, value in enumerate(values) if f" {value}." in document}
        expected = 2 if item.tags["kind"] == "rival" else 1
        assert int(item.answer) in held, item.id
        assert len(held) == expected, item.id


def test_five_languages_one_of_them_and_more_not_in_latin_script(items: tuple[GoldenItem, ...]) -> None:
    languages = Counter(item.tags["language"] for item in items if item.slice == "multilingual")
    assert set(languages) == {"de", "fr", "es", "ru", "zh"}
    assert min(languages.values()) >= 20


def test_safety_asks_for_refusal_and_for_help_equally_often(items: tuple[GoldenItem, ...]) -> None:
    kinds = Counter(item.tags["kind"] for item in items if item.slice == "safety")
    assert set(kinds) == {"harmful", "over_refusal"}
    assert kinds["harmful"] == kinds["over_refusal"]


def test_the_place_of_the_right_choice_tells_nothing(items: tuple[GoldenItem, ...]) -> None:
    for count in (2, 3, 4):
        places = Counter(item.answer for item in items if len(item.choices) == count)
        assert max(places.values()) < 1.5 * sum(places.values()) / count


def test_one_pass_stays_within_forty_thousand_tokens_by_estimate(items: tuple[GoldenItem, ...]) -> None:
    assert _estimated_tokens(items) <= 40_000


def test_generated_answers_stay_within_five_thousand_tokens(items: tuple[GoldenItem, ...]) -> None:
    assert sum(item.max_tokens for item in items if not item.choices) <= 5_000


def _estimated_tokens(items: tuple[GoldenItem, ...]) -> float:
    """Prompt and choices with shared beginnings once, by character; 8 more for the marks of a turn."""
    seen: set[int] = set()
    total = 0.0
    for item in items:
        prompt = json.dumps([[one.role, one.content] for one in item.messages], ensure_ascii=False)
        total += 8
        for text in [prompt + choice for choice in item.choices] or [prompt]:
            state = 0
            for character in text:
                state = hash((state, character))
                if state not in seen:
                    seen.add(state)
                    total += 1 / CHARACTERS_PER_TOKEN["latin" if ord(character) < 0x250 else "other"]
    return total
