"""No prompt twice, however many are taken."""

from __future__ import annotations

from paredown.measure.fresh_prompts import FreshPrompts
from paredown.records.traffic import Message, TrafficRequest

SYSTEM = Message("system", "Be brief.")
REQUESTS = tuple(
    TrafficRequest(f"r{i}", (SYSTEM, Message("user", f"Question {i}")), 4, prompt_tokens=9) for i in range(3)
)


def begins(request: TrafficRequest) -> str:
    return request.messages[0].content


def test_the_first_round_is_the_traffic_as_it_is() -> None:
    assert FreshPrompts(REQUESTS).take(3) == REQUESTS


def test_later_rounds_never_repeat_a_prompt_or_a_name() -> None:
    prompts = FreshPrompts(REQUESTS)
    taken = [*prompts.take(2), *prompts.take(10)]

    assert len({request.messages for request in taken}) == 12
    assert len({request.id for request in taken}) == 12
    assert prompts.rounds == 4


def test_what_changes_is_the_beginning_so_that_no_prefix_is_shared_with_an_earlier_round() -> None:
    taken = FreshPrompts(REQUESTS).take(9)

    assert [begins(request) for request in taken] == ["Be brief."] * 3 + ["(2) Be brief."] * 3 + ["(3) Be brief."] * 3
    assert all(request.messages[1] == REQUESTS[i % 3].messages[1] for i, request in enumerate(taken))


def test_a_changed_prompt_no_longer_has_the_length_it_was_made_to_have() -> None:
    assert [request.prompt_tokens for request in FreshPrompts(REQUESTS).take(4)] == [9, 9, 9, None]


def test_with_salt_the_first_round_is_changed_as_well() -> None:
    taken = FreshPrompts(REQUESTS, "a1").take(4)

    assert [begins(request) for request in taken] == ["(a1) Be brief."] * 3 + ["(a12) Be brief."]
