"""Items that ask the same are found, and those that differ in what they ask are not."""

from __future__ import annotations

from paredown.evaluate.audit import duplicates

STORY = "A baker sells {} loaves in the morning and twice as many after noon. How many does she sell on that day?"
LONG = (
    "The river runs past the mill and under the old stone bridge before it reaches the lake. On the shore a boat lies "
    "upside down, its paint gone, and nobody remembers {}. Who owned it?"
)


def kinds(findings) -> dict[str, tuple[str, ...]]:
    return {one.kind: one.items for one in findings}


def test_the_same_question_twice_is_found(item) -> None:
    (found,) = duplicates.find([item("a", "x"), item("b", "x"), item("c", "y")], {})
    assert (found.kind, found.items) == ("duplicate", ("a", "b"))


def test_the_same_question_with_other_choices_is_no_duplicate(item) -> None:
    assert duplicates.find([item("a", "x", choices=("1", "2")), item("b", "x", choices=("3", "4"))], {}) == ()


def test_a_question_with_one_word_changed_is_nearly_the_same(item) -> None:
    found = duplicates.find([item("a", LONG.format("why")), item("b", LONG.format("when")), item("c", "other")], {})
    assert kinds(found) == {"near duplicate": ("a", "b")}
    assert "a and b" in found[0].sentence


def test_items_of_one_cluster_may_share_their_document(item) -> None:
    items = [item("a", LONG.format("why"), cluster="d"), item("b", LONG.format("when"), cluster="d")]
    assert duplicates.find(items, {"a": "screening", "b": "screening"}) == ()


def test_a_template_filled_in_for_many_items_makes_none_of_them_alike(item) -> None:
    words = ("barley", "copper", "dill", "eggs", "flax", "ginger", "honey", "iris", "juniper", "kale", "lime", "mint")
    items = [item(f"i{n}", f"{LONG.format('why')} Then say what {word} is good for.") for n, word in enumerate(words)]
    assert duplicates.find(items, {}) == ()
    assert kinds(duplicates.find(items[:5], {})).keys() == {"near duplicate"}


def test_what_the_system_says_makes_no_items_alike(item) -> None:
    system = " ".join(f"rule{n}" for n in range(60))
    assert duplicates.find([item("a", "One?", system=system), item("b", "Two?", system=system)], {}) == ()


def test_items_alike_in_both_splits_leak(item) -> None:
    items = [item("a", LONG.format("why")), item("b", LONG.format("when")), item("c", "x"), item("d", "x")]
    sides = {"a": "screening", "b": "confirmation", "c": "screening", "d": "confirmation"}
    assert kinds(duplicates.find(items, sides))["split leak"] == ("c", "d", "a", "b")
    assert "split leak" not in kinds(duplicates.find(items, dict.fromkeys(sides, "confirmation")))


def test_numbers_that_differ_in_a_long_story_are_named_with_their_pair(item) -> None:
    items = [item(f"i{n}", LONG.format("why") + " " + STORY.format(n)) for n in range(2)]
    (found,) = duplicates.find(items, {})
    assert "2 items differ" in found.sentence
    assert "(i0 and i1)" in found.sentence


def test_two_questions_about_one_text_are_not_nearly_the_same(item) -> None:
    text = LONG.format("why") * 3
    assert (
        duplicates.find([item("a", f"{text} Play something by Mozart."), item("b", f"{text} Is it raining?")], {}) == ()
    )
