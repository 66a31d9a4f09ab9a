"""Worst texts: their order, and where they are split."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from paredown.decide import drift
from paredown.records.golden import Divergence, Fidelity, FidelityText, TextFidelity

WORDS = ["", " the", " cat", " sat", " dog", " down", " up"]
END = 0


def decode(ids: Sequence[int]) -> str:
    return "".join(WORDS[i] for i in ids)


def text(name: str, ids: tuple[int, ...], start: int = 1) -> FidelityText:
    return FidelityText(name, "s", ids, start)


def of(name: str, kl: tuple[float, ...], same: tuple[bool, ...], found: Divergence | None = None) -> TextFidelity:
    return TextFidelity(name, "s", kl, same, same.index(False) if False in same else None, divergence=found)


def fidelity(*texts: TextFidelity) -> Fidelity:
    return Fidelity("c", "FULL", texts, 4, None, None, None, None, 0)


CAT = Divergence(1, token=4, logprob=math.log(0.7), baseline_token=2, baseline_logprob=math.log(0.9),
                 candidate_of_baseline=math.log(0.2), baseline_of_candidate=None)  # fmt: skip


def test_a_text_is_split_at_the_first_token_on_which_they_differ() -> None:
    one = of("a", (0.0, 1.5, 0.1), (True, False, True), CAT)
    (shown,) = drift.worst(fidelity(one), [text("a", (6, 1, 2, 3))], decode, {"a": "its own answer"})
    assert (shown.before, shown.written, shown.after) == (" the", " cat", " sat")
    assert shown.baseline is not None
    assert shown.candidate is not None
    assert (shown.baseline.text, shown.candidate.text) == (" cat", " dog")
    assert (shown.baseline.by_baseline, shown.baseline.by_candidate) == pytest.approx((0.9, 0.2))
    assert (shown.candidate.by_baseline, shown.candidate.by_candidate) == (None, pytest.approx(0.7))
    assert (shown.mean_kl, shown.max_kl, shown.first) == (pytest.approx(1.6 / 3), 1.5, 1)
    assert shown.own_answer == "its own answer"


def test_the_farthest_texts_come_first_and_those_without_any_difference_not_at_all() -> None:
    texts = [text(name, (6, 1, 2)) for name in "abc"]
    found = fidelity(
        of("a", (0.1, 0.1), (True, True)), of("b", (0.5, 0.5), (True, True)), of("c", (0.0, 0.0), (True, True))
    )
    assert [one.id for one in drift.worst(found, texts, decode, {})] == ["b", "a"]


def test_without_kl_the_texts_that_agree_least_come_first() -> None:
    texts = [text(name, (6, 1, 2)) for name in "ab"]
    found = fidelity(of("a", (), (True, False)), of("b", (), (False, False)))
    assert [one.id for one in drift.worst(found, texts, decode, {})] == ["b", "a"]


def test_a_token_without_text_ends_the_answer() -> None:
    ends = Divergence(1, END, -0.1, 2, -0.2)
    (shown,) = drift.worst(fidelity(of("a", (0.0, 1.0), (True, False), ends)), [text("a", (6, 1, 2))], decode, {})
    assert shown.candidate is not None
    assert shown.candidate.text == ""


def test_a_text_of_a_record_without_the_tokens_still_shows_where_it_differs() -> None:
    one = of("a", (0.0, 1.0), (True, False))
    (shown,) = drift.worst(fidelity(one), [text("a", (6, 1, 2))], decode, {})
    assert (shown.before, shown.written, shown.baseline, shown.candidate) == (" the", " cat", None, None)


def test_a_character_of_several_tokens_is_not_shown_twice() -> None:
    def bytewise(ids: Sequence[int]) -> str:
        return bytes(ids).decode(errors="replace")

    euro = list("€".encode())
    assert drift.split(bytewise, [65], euro[0]) == ("A", "�")
    assert drift.split(bytewise, [65, *euro[:2]], euro[2]) == ("A�", "�")


def test_only_the_end_of_a_long_beginning_is_shown() -> None:
    ids = (6, *(1,) * 200, 2)
    one = of("a", (0.0,) * 200 + (1.0,), (True,) * 200 + (False,))
    (shown,) = drift.worst(fidelity(one), [text("a", ids)], decode, {})
    assert shown.before.startswith("… ")
    assert shown.before.count("the") == drift.SHOWN_BEFORE
