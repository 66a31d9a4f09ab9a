"""What a next confirmation asks and judges, after prompts were added."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

from paredown.decide import looks, order
from paredown.flow import confirmation, quality
from paredown.flow.confirmation import Attempt, Confirmed, propose
from paredown.records.golden import Evaluation, GoldenItem, Score
from paredown.records.verdict import Margin, Verdict

FACTS, CODE = Margin("facts", 0.08, gated=True), Margin("code", 0.08, gated=True)
NEXT = 0.008


def items(count: int, name: str, first: int = 0, **fields) -> list[GoldenItem]:
    return [GoldenItem(f"{name}{first + i}", name, "exact_match", (), "0", **fields) for i in range(count)]


def attempt(made: list[GoldenItem], lost: set[str] = frozenset(), margins=(FACTS, CODE)) -> Attempt:
    """A confirmation in which the candidate loses these items."""
    ordered = order.frozen(made, 0)
    base = Evaluation("b", "confirmation", {}, (), tuple(Score(i.id, 1.0) for i in made), 0, 0, 0.0)
    given = dataclasses.replace(base, scores=tuple(Score(i.id, float(i.id not in lost)) for i in made))
    walk = looks.walk(looks.Asked(ordered, (len(made),), margins, 0.04, NEXT), base, given, lambda _: None)
    digests = tuple(quality.item_digest(item) for item in ordered)
    frozen = Confirmed(0.04, NEXT, "c", "b", digests, (len(made),), tuple(m.slice for m in margins))
    return Attempt(frozen, ordered, base, given, walk)


def proposed(history, confirmation_items, margins=(FACTS, CODE)):
    return propose(history, SimpleNamespace(confirmation=tuple(confirmation_items), margins=margins), NEXT, 0)


FIRST = [*items(100, "facts"), *items(100, "code")]
OPEN = attempt(FIRST, {f"code{i}" for i in range(6)})
ADDED = [*items(100, "facts", 100), *items(100, "code", 100)]


def test_the_first_attempt_asks_and_judges_everything() -> None:
    found = proposed((), FIRST)
    assert {item.id for item in found.items} == {item.id for item in FIRST}
    assert found.slices == ("facts", "code")


def test_a_next_attempt_asks_only_fresh_prompts_and_only_for_the_gates_that_are_open() -> None:
    assert [row.verdict for row in OPEN.walk.slices] == [Verdict.SHIP, Verdict.INVESTIGATE]
    found = proposed((OPEN,), [*FIRST, *ADDED])
    assert {item.id for item in found.items} == {f"code{100 + i}" for i in range(100)}
    assert found.slices == ("code",)


def test_a_gate_that_has_shipped_is_open_again_when_the_new_prompts_bring_another_slice_into_it() -> None:
    pool = Margin("all", 0.08, gated=True)
    first = attempt(items(100, "facts"), margins=(pool,))
    same = proposed((first,), [*items(200, "facts")], (pool,))
    other = proposed((first,), [*items(200, "facts"), *items(100, "maths")], (pool,))
    assert "every gate has shipped" in same.why_not
    assert len(other.items) == 200
    assert other.slices == ("all",)


def test_a_rejection_is_not_undone_by_more_prompts() -> None:
    bad = attempt(FIRST, {f"code{i}" for i in range(40)})
    assert "was rejected" in proposed((bad,), [*FIRST, *ADDED]).why_not


def test_too_few_fresh_prompts_are_said_before_anything_is_spent() -> None:
    few = proposed((OPEN,), [*FIRST, *ADDED[:100], *items(20, "code", 100)])
    assert not few.items
    assert "20 prompts" in few.why_not
    assert "67 prompts" in few.why_not


def test_zero_tolerance_prompts_that_were_added_are_asked_even_when_every_gate_has_shipped() -> None:
    shipped = attempt(FIRST)
    strict = items(1, "facts", 900, zero_tolerance=True)
    found = proposed((shipped,), [*FIRST, *strict])
    assert [item.id for item in found.items] == ["facts900"]


def test_the_rows_of_a_gate_are_those_of_the_last_attempt_that_judged_it_and_name_it() -> None:
    second = attempt(items(100, "code", 100), margins=(CODE,))
    rows = {row.slice: row for row in confirmation.rows((OPEN, second), (FACTS, CODE))}
    assert "(Confirmation 1 of 2.)" in rows["facts"].reason
    assert "(Confirmation 2 of 2.)" in rows["code"].reason
    assert rows["code"].verdict is Verdict.SHIP


def test_a_zero_tolerance_prompt_that_was_lost_before_stays_lost() -> None:
    strict = items(1, "facts", 900, zero_tolerance=True)
    first = attempt([*FIRST, *strict], {"facts900"})
    rows = confirmation.rows((first, attempt([*ADDED, *items(1, "code", 901, zero_tolerance=True)])), (FACTS, CODE))
    assert rows[-1].verdict is Verdict.REJECT


def test_an_attempt_that_was_not_finished_counts_nowhere() -> None:
    unfinished = dataclasses.replace(OPEN, walk=looks.Walk(wanted=(FIRST[0],)))
    assert confirmation.rows((unfinished,), (FACTS, CODE)) == ()
