"""Requests that become items: rare strata, and what the model's template refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from paredown.curate import selection
from paredown.curate.log_lines import Exchange
from paredown.curate.selection import Ledger, LeftOutLines
from paredown.errors import UserError
from paredown.records.traffic import Message

ENGLISH, CHINESE = "What is the name of the river in this town?", "今天天气怎么样"


def asking(text: str, count: int) -> list[Exchange]:
    return [Exchange(f"log:{place}", (Message("user", f"{text} {place}"),)) for place in range(count)]


def placed(exchanges: list[Exchange], ledger: Ledger | None = None) -> Counter[str]:
    def count(messages: Sequence[Message]) -> int:
        if messages[0].content.endswith("7"):
            raise UserError("roles must alternate")
        return len(messages[0].content)

    found = selection.place(exchanges, count, 1_000, ("language",), ledger or Ledger())
    return Counter(one.stratum for one in found)


def test_strata_too_small_for_a_slice_are_judged_together() -> None:
    assert placed([*asking(ENGLISH, 130), *asking(CHINESE, 9)]) == {"en": 117, "other": 8}


def test_a_small_log_keeps_its_strata() -> None:
    assert placed([*asking(ENGLISH, 60), *asking(CHINESE, 6)]) == {"en": 54, "zh": 6}


def test_what_the_template_refuses_is_counted() -> None:
    ledger = Ledger()
    placed(asking(ENGLISH, 20), ledger)
    assert ledger.left_out() == (LeftOutLines("refused by the model's chat template", 2, "log:7"),)


def test_of_a_large_log_a_part_is_drawn_whatever_its_order_and_the_rest_counted() -> None:
    ledger, log = Ledger(), asking(ENGLISH, 50)
    drawn = selection.thin(log, 1, ledger, most=20)
    assert set(drawn) == set(selection.thin(log[::-1], 1, Ledger(), most=20)) != set(log[:20])
    assert [one.where for one in drawn] == sorted((one.where for one in drawn), key=lambda where: int(where[4:]))
    assert [one.count for one in ledger.left_out()] == [30]
    assert selection.thin(log, 1, Ledger(), most=50) == log


def test_turns_schema_and_answer_are_masked_with_one_numbering() -> None:
    turns = (Message("system", "From b@example.org"), Message("user", "a@example.org, b@example.org"))
    one = Exchange("log:1", turns, schema='{"const": "a@example.org"}', answer="To b@example.org")
    found = selection.masked([selection.Placed(one, "en", 9)], ())
    exchange = found.requests[0].exchange
    assert [message.content for message in exchange.messages] == ["From [EMAIL_1]", "[EMAIL_2], [EMAIL_1]"]
    assert (exchange.schema, exchange.answer) == ('{"const": "[EMAIL_2]"}', "To [EMAIL_1]")
    assert found.counts == {"EMAIL": 2}
