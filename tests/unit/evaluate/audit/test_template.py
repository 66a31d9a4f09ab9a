"""Templates that refuse, drop or change what is asked are found by rendering them."""

from __future__ import annotations

import pytest

from paredown.evaluate.audit import encoding, template
from paredown.hosts.chat_template import compile_template
from paredown.records.audit import Severity

PLAIN = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}\n{% endfor %}<assistant>"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + PLAIN
DROPS_SYSTEM = "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}{% endfor %}"
DATED = "Today is {{ strftime_now('%d %B %Y') }}. " + PLAIN
RANDOM = PLAIN + "{{ range(90000) | random }}"


@pytest.fixture
def found(tokens):
    def find(text: str, *items):
        encoded = encoding.encode(items, tokens(text))
        return {one.kind: one for one in template.find(encoded, lambda date: compile_template(text, {}, lambda: date))}

    return find


def test_a_template_that_says_everything_is_no_finding(item, found) -> None:
    assert found(PLAIN, item("a", "  Why? "), item("b", "Why?", system="Be brief.")) == {}


def test_a_template_without_a_system_role_says_where_to_put_the_instruction(item, found) -> None:
    one = found(NO_SYSTEM, item("a", "Why?", system="Be brief."), item("b", "Why?"))["template refuses"]
    assert (one.items, one.severity) == (("a",), Severity.WARN)
    assert "no system role: put the instruction into the user's message" in one.sentence


def test_a_template_that_refuses_every_item_leaves_nothing_to_judge(item, found) -> None:
    one = found("{{ raise_exception('not today') }}", item("a"), item("b"))["template refuses"]
    assert one.severity is Severity.REFUSE
    assert "not today" in one.sentence


def test_a_system_message_that_the_template_leaves_out_is_found(item, found) -> None:
    one = found(DROPS_SYSTEM, item("a", "Why?", system="Be brief."), item("b", "Why?"))["template drops"]
    assert one.items == ("a",)
    assert "'system'" in one.sentence


def test_a_template_that_writes_the_date_is_found(item, found) -> None:
    assert set(found(DATED, item("a"))) == {"template has the date"}


def test_a_template_with_a_random_part_is_found(item, found) -> None:
    assert set(found(RANDOM, item("a"))) == {"template is random"}


def test_raw_prompts_and_texts_ask_nothing_of_the_template(item, found) -> None:
    raw = item("a", "q", choices=("x", "y"), arguments={"raw": True})
    assert found("{{ raise_exception('never') }}", raw) == {}
