"""Prompts have exactly the length asked for under every kind of tokenizer, and share exactly what they are to share."""

from __future__ import annotations

import itertools
import zlib
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paredown.errors import UserError
from paredown.hosts.chat_template import Conversation
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.records.traffic import TrafficRequest
from paredown.traffic import synthetic
from paredown.traffic.tokens import Tokens
from paredown.traffic.vocabulary import measure

ANY = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Threes:
    """Three characters are a token, so that no text's length is the sum of its parts' lengths."""

    context_length = None

    def encode_conversation(self, messages: Conversation) -> tuple[int, ...]:
        text = f"<{messages[0]['content']}>"
        return tuple(zlib.crc32(text[at : at + 3].encode()) for at in range(0, len(text), 3))


class Syllables(Threes):
    """Words of up to five letters are one token, longer ones two, and capitals do not count."""

    def encode_conversation(self, messages: Conversation) -> tuple[int, ...]:
        words = messages[0]["content"].lower().split()
        parts = [part for word in words for part in (word[:5], word[5:]) if part]
        return (1, *(zlib.crc32(part.encode()) for part in parts), 2)


class Pairs(Threes):
    """Every character is two tokens: no odd length exists."""

    def encode_conversation(self, messages: Conversation) -> tuple[int, ...]:
        return tuple(number for byte in messages[0]["content"].encode() for number in (byte, 300))


class Deaf(Threes):
    """A template that does not show what the user says."""

    def encode_conversation(self, messages: Conversation) -> tuple[int, ...]:
        return (1, 2, 3)


def ids_of(tokens: Tokens, request: TrafficRequest) -> tuple[int, ...]:
    return tokens.encode_conversation([{"role": m.role, "content": m.content} for m in request.messages])


def common(a: Sequence[int], b: Sequence[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@pytest.fixture(params=["byte_tokens", "word_tokens", "threes"])
def tokens(request: pytest.FixtureRequest) -> Tokens:
    return Threes() if request.param == "threes" else request.getfixturevalue(request.param)


@ANY
@given(st.lists(st.integers(0, 400), min_size=1, max_size=12), st.integers(0, 5))
def test_every_prompt_has_exactly_its_length(tokens: Tokens, beyond: list[int], seed: int) -> None:
    shortest = synthetic.shortest(tokens)
    lengths = [shortest + more for more in beyond]
    made = synthetic.make(tokens, lengths, output_tokens=7, seed=seed)

    assert [len(ids_of(tokens, request)) for request in made] == lengths
    assert [request.prompt_tokens for request in made] == lengths
    assert {request.output_tokens for request in made} == {7}
    assert len({request.id for request in made}) == len(made)


def test_the_same_seed_gives_the_same_prompts_and_another_seed_others(word_tokens: LoadedTokenizer) -> None:
    first = synthetic.make(word_tokens, [50, 60], output_tokens=[1, 2], seed=4)

    assert first == synthetic.make(word_tokens, [50, 60], output_tokens=[1, 2], seed=4)
    assert first != synthetic.make(word_tokens, [50, 60], output_tokens=[1, 2], seed=5)
    assert [request.output_tokens for request in first] == [1, 2]


def test_prompts_differ_from_the_first_token_behind_the_template_on(word_tokens: LoadedTokenizer) -> None:
    head = measure(word_tokens, 1).head
    made = [ids_of(word_tokens, r) for r in synthetic.make(word_tokens, [80] * 200, output_tokens=1, seed=0)]

    assert {common(a, b) for a, b in itertools.combinations(made, 2)} == {head}


def test_more_prompts_than_beginnings_still_differ_within_a_few_tokens(byte_tokens: LoadedTokenizer) -> None:
    found = measure(byte_tokens, 1024)
    made = [ids_of(byte_tokens, r) for r in synthetic.make(byte_tokens, [90] * 300, output_tokens=1, seed=0)]

    assert len(found.openings) < 300
    assert max(common(a, b) for a, b in itertools.combinations(made, 2)) < found.head + 16


def test_prompts_share_exactly_the_blocks_whose_ids_they_share(word_tokens: LoadedTokenizer) -> None:
    shared = [(0, 1, 2), (0, 1, 3), (0, 4), (9, 1, 2), (0, 1, 2, 5)]
    made = synthetic.make(
        word_tokens, [290, 300, 150, 310, 400], output_tokens=1, seed=3, shared=shared, block_tokens=100
    )
    ids = [ids_of(word_tokens, request) for request in made]
    found = measure(word_tokens, 1)

    assert [len(one) for one in ids] == [290, 300, 150, 310, 400]
    assert common(ids[0], ids[1]) == 200
    assert common(ids[0], ids[2]) == common(ids[1], ids[2]) == 100
    assert common(ids[0], ids[3]) == found.head
    # Block 2 of the first prompt is cut by its end, where the template's own tail follows.
    assert common(ids[0], ids[4]) == 290 - found.tail


def test_equal_prompts_of_one_length_come_from_equal_ids_alone(word_tokens: LoadedTokenizer) -> None:
    made = synthetic.make(
        word_tokens, [200, 200, 200], output_tokens=1, seed=0, shared=[(1, 2), (1, 2), (1,)], block_tokens=100
    )
    texts = [request.messages[0].content for request in made]

    assert texts[0] == texts[1] != texts[2]


def test_blocks_that_the_template_fills_tell_what_follows_apart(byte_tokens: LoadedTokenizer) -> None:
    made = synthetic.make(byte_tokens, [60, 60], output_tokens=1, seed=0, shared=[(1, 7, 9), (2, 7, 9)], block_tokens=4)

    assert made[0].messages[0].content[:2] != made[1].messages[0].content[:2]


def test_where_only_some_words_are_one_token_those_are_taken() -> None:
    found = measure(Syllables(), 1)

    assert found.all_of_one_token
    assert all(len(piece) <= 6 for piece in found.pieces)
    assert len(ids_of(Syllables(), synthetic.make(Syllables(), [77], output_tokens=1, seed=0)[0])) == 77


def test_beginnings_have_different_first_tokens_also_where_capitals_do_not_count() -> None:
    found = measure(Syllables(), 1024)
    first = {Syllables().encode_conversation([{"content": text}])[1] for text in found.openings}

    assert len(first) == len(found.openings) > 300


def test_words_of_long_texts_do_not_repeat_in_a_pattern(word_tokens: LoadedTokenizer) -> None:
    (made,) = synthetic.make(word_tokens, [1500], output_tokens=1, seed=0)
    counts = Counter(made.messages[0].content.split())

    assert len(counts) > 300
    assert max(counts.values()) < 25


def test_a_length_below_the_template_is_refused_with_the_smallest_that_can_be_made(
    byte_tokens: LoadedTokenizer,
) -> None:
    with pytest.raises(UserError, match="Ask for at least 20"):
        synthetic.make(byte_tokens, [19], output_tokens=1, seed=0)
    assert synthetic.shortest(byte_tokens) == 20


def test_a_length_that_the_tokenizer_cannot_give_is_refused() -> None:
    with pytest.raises(UserError, match="exactly 41 tokens"):
        synthetic.make(Pairs(), [41], output_tokens=1, seed=0)
    assert len(ids_of(Pairs(), synthetic.make(Pairs(), [42], output_tokens=1, seed=0)[0])) == 42


def test_a_template_that_hides_the_content_is_refused() -> None:
    with pytest.raises(UserError, match="leaves out what the user says"):
        synthetic.make(Deaf(), [10], output_tokens=1, seed=0)


def test_blocks_that_come_out_differently_are_noticed() -> None:
    with pytest.raises(UserError, match="joins words across blocks"):
        synthetic.make(
            Threes(), [90, 91, 92, 93], output_tokens=1, seed=0, shared=[(0, n) for n in range(4)], block_tokens=50
        )
