"""Golden items in the calibration data are found, exactly and nearly, wherever they stand in it."""

from __future__ import annotations

import dataclasses

from paredown.evaluate.audit import overlap
from paredown.records.audit import Severity
from paredown.records.calibration import Calibration, CalibrationSample
from paredown.records.traffic import Message
from paredown.records.verdict import Margin

STORY = (
    "A farmer has {} goats and buys nine more at the market in spring. In autumn she sells a third of them to her "
    "neighbour. How many goats stay with her over the winter?"
)


def data(*texts: str) -> Calibration:
    return Calibration("c", tuple(CalibrationSample(text, where=f"c:{n}") for n, text in enumerate(texts, 1)), "d")


def chat(*contents: str) -> Calibration:
    turns = tuple(Message("user", content) for content in contents)
    return Calibration("c", (CalibrationSample(messages=turns, where="c:7"),), "d")


def test_prompts_that_stand_elsewhere_are_no_finding(item) -> None:
    assert overlap.find([item("a", STORY.format("six"))], (), data("A text on the harvest of olives.")) == ()


def test_a_prompt_inside_a_longer_text_is_found_with_its_place(item) -> None:
    text = f"From the paper: {STORY.format('six').upper()} And so on."
    (found,) = overlap.find([item("a", STORY.format("six")), item("b", "Other?")], (), data("first", text))
    assert (found.kind, found.items) == ("calibration overlap", ("a",))
    assert "1 item stands in the calibration data word for word (a in c:2)" in found.sentence


def test_a_short_prompt_is_found_when_it_is_a_message_of_a_conversation(item) -> None:
    (found,) = overlap.find([item("a", "What is rust?")], (), chat("Hello", "what is rust"))
    assert (found.kind, found.items) == ("calibration overlap", ("a",))
    assert overlap.find([item("a", "What is rust?")], (), data("Nobody asks what is rust and what is not.")) == ()


def test_a_prompt_with_examples_is_found_as_the_conversation_that_it_is(item) -> None:
    turns = ("Is rust a metal?", "No.", "Is tin a metal?", "Yes.", "Is brass?")
    asked = dataclasses.replace(item("a"), messages=tuple(Message("user", turn) for turn in turns))
    (found,) = overlap.find([asked], (), chat(*turns))
    assert (found.kind, found.items) == ("calibration overlap", ("a",))


def test_a_prompt_with_a_word_changed_is_found_as_nearly_the_same(item) -> None:
    (found,) = overlap.find([item("a", STORY.format("six"))], (), data(STORY.format("seven")))
    assert (found.kind, found.items) == ("calibration near overlap", ("a",))


def test_a_short_prompt_with_a_word_more_is_found_as_nearly_the_same(item) -> None:
    asked = "Which of the two rivers that run through the old town is the longer one?"
    (found,) = overlap.find([item("a", asked)], (), data(f"Please: {asked}"))
    assert found.kind == "calibration overlap"
    (found,) = overlap.find([item("a", asked)], (), data(asked.replace("old ", "")))
    assert found.kind == "calibration near overlap"


def test_instructions_that_all_prompts_share_are_no_overlap(item) -> None:
    rules = "Answer with the one letter that stands before the right answer and say nothing else at all."
    items = [item(f"i{n}", f"{rules} Question {n}: what is {n} plus {n * n}?") for n in range(12)]
    assert overlap.find(items, (), data(f"{rules} Why is the sky blue over the sea and red in the evening?")) == ()


def test_a_text_that_stands_by_itself_is_compared_by_its_words(item) -> None:
    text = dataclasses.replace(item("a", choices=(STORY.format("six"),)), messages=())
    assert overlap.find([text], (), data(STORY.format("six")))[0].kind == "calibration overlap"


def test_a_gate_that_is_mostly_calibration_data_is_refused(item) -> None:
    items = [item(f"i{n}", STORY.format(n)) for n in range(4)]
    gate = Margin("s", 0.05, gated=True)
    half = overlap.find(items, (gate,), data(*(STORY.format(n) + " now" for n in range(2))))
    assert Severity.REFUSE in {one.severity for one in half}  # the four differ in one word: all are nearly there
    far = [item(f"i{n}", f"{n} {n}x {n}y {n}z") for n in range(4)]
    found = overlap.find(far, (gate,), data(*(f"{n} {n}x {n}y {n}z" for n in range(3))))
    assert [one.slice for one in found if one.severity is Severity.REFUSE] == ["s"]
    assert "75 %" in found[-1].sentence
    found = overlap.find(far, (gate,), data(*(f"{n} {n}x {n}y {n}z" for n in range(2))))
    assert {one.severity for one in found} == {Severity.WARN}


def test_the_last_question_of_a_conversation_is_found_alone_when_it_is_long_enough(item) -> None:
    def talk(question: str):
        turns = (Message("user", "Why is it so?"), Message("assistant", "Because."), Message("user", question))
        return dataclasses.replace(item("a"), messages=turns)

    question = "Which of the two rivers that run through the old town is the longer one?"
    assert overlap.find([talk(question)], (), data(question))[0].kind == "calibration overlap"
    assert overlap.find([talk("Go on, please.")], (), chat("Go on, please.")) == ()


def test_items_of_one_prompt_are_told_apart_by_their_choices(item) -> None:
    items = [item(n, "Which sentence is right?", choices=(f"{n} goes home", f"{n} go home")) for n in ("he", "she")]
    assert overlap.find(items, (), chat("Which sentence is right?")) == ()
    (found,) = overlap.find(items, (), data("Which sentence is right? he goes home he go home"))
    assert found.items == ("he",)
