"""Items beyond the context are found before they are asked."""

from __future__ import annotations

import dataclasses

from paredown.evaluate.audit import encoding, lengths


def test_the_longest_choice_or_the_limit_of_the_answer_counts(item, tokens) -> None:
    one, other = encoding.encode([item("a", "hm", choices=("x", "xyz")), item("b", "hm")], tokens())
    prompt = len("<user>hm\n<assistant>")
    assert (one.longest, other.longest) == (prompt + 3, prompt + 32)


def test_items_beyond_the_context_are_found(item, tokens) -> None:
    encoded = encoding.encode([item("a", "x" * 980), item("b", "x" * 900)], tokens())
    (found,) = lengths.find(encoded, 1000)
    assert (found.kind, found.items) == ("too long", ("a",))
    assert "1 item does not fit the context of 1,000 tokens (a; the longest takes 1,030 " in found.sentence
    assert lengths.find(encoded, None) == ()


def test_a_text_that_stands_by_itself_is_counted_without_a_template(item, tokens) -> None:
    text = dataclasses.replace(item("a", choices=("x" * 12,)), messages=())
    (found,) = encoding.encode([text], tokens("{{ raise_exception('never') }}"))
    assert (found.longest, found.refused) == (12, "")
