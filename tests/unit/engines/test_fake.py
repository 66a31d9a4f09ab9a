from __future__ import annotations

import dataclasses
import math
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paredown.contracts import GenerationRequest, KvCacheUse, OpenContext, ScoreRequest
from paredown.engines import fake
from paredown.errors import UserError
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message
from paredown.testing import fake_models
from paredown.testing.fake_language import (
    END,
    VOCABULARY,
    CacheScript,
    FakeScript,
    Language,
    Peaked,
    Speeds,
    read_script,
)

MADE = FakeScript(knowledge=fake_models.KNOWLEDGE)


def item(number: int, slice_name: str = "facts") -> GoldenItem:
    return GoldenItem(
        f"i{number}",
        slice_name,
        "likelihood",
        (Message("user", f"What is {number} + {number}?"),),
        answer="1",
        choices=(f" {number}", f" {2 * number}", f" {3 * number + 1}"),
    )


ITEMS = [item(n) for n in range(1, 201)]


def opened(directory: Path, **options: float) -> fake.OpenedFake:
    return fake.open_engine(OpenContext({"main": directory}, options))


def prompt_ids(question: str) -> tuple[int, ...]:
    return tuple(fake_models.prompt_of([Message("user", question)]).encode())


def accuracy(directory: Path) -> list[bool]:
    """For each item whether the right choice has the largest log-probability."""
    session, right = opened(directory).scoring(), []
    for one in ITEMS:
        ids = tuple(fake_models.prompt_of(one.messages).encode())
        results = session.score([ScoreRequest((*ids, *choice.encode()), len(ids)) for choice in one.choices])
        sums = [sum(result.target_logprobs) for result in results]
        right.append(sums.index(max(sums)) == int(one.answer))
    return right


def answer(directory: Path, question: str, max_tokens: int = 80, **options: float) -> bytes:
    session = opened(directory, **options).generation()
    session.add(GenerationRequest("a", prompt_ids(question), max_tokens, stop_ids=(END,)))
    tokens: list[int] = []
    while True:
        for output in session.step():
            tokens += output.token_ids
            if output.finish_reason:
                return bytes(token for token in tokens if token < 256)


def test_a_known_question_gets_its_answer(tmp_path: Path) -> None:
    directory = fake_models.make(tmp_path / "m")
    assert answer(directory, "What is the capital of France?") == b"The capital of France is Paris."


def test_an_unknown_question_gets_words_that_end(tmp_path: Path) -> None:
    directory = fake_models.make(tmp_path / "m")
    first, second = answer(directory, "How high is it?", 200), answer(directory, "How low is it?", 200)
    assert first.endswith(b".")
    assert first != second


@pytest.mark.parametrize("fraction", [0.0, 0.7, 1.0])
def test_the_share_of_right_answers_is_that_of_the_script(tmp_path: Path, fraction: float) -> None:
    script = FakeScript(right_fraction={"": 0.5, "facts": fraction})
    directory = fake_models.make(tmp_path / "m", script, items=ITEMS)
    right = sum(accuracy(directory)) / len(ITEMS)
    assert right == pytest.approx(fraction, abs=0.12 if 0 < fraction < 1 else 0)


def test_a_worse_variant_loses_answers_and_gains_none(tmp_path: Path) -> None:
    source = fake_models.make(tmp_path / "m", FakeScript(right_fraction={"": 0.8}), items=ITEMS)
    worse = fake_models.variant(source, tmp_path / "v", right_fraction={"": 0.6})
    pairs = list(zip(accuracy(source), accuracy(worse), strict=True))
    assert not any(after and not before for before, after in pairs)
    assert any(before and not after for before, after in pairs)


def test_luck_flips_answers_both_ways(tmp_path: Path) -> None:
    source = fake_models.make(tmp_path / "m", FakeScript(right_fraction={"": 0.5}), items=ITEMS)
    other = fake_models.variant(source, tmp_path / "v", luck=0.4, seed=3)
    pairs = list(zip(accuracy(source), accuracy(other), strict=True))
    assert any(after and not before for before, after in pairs)
    assert any(before and not after for before, after in pairs)


def test_an_identical_copy_is_indistinguishable(tmp_path: Path) -> None:
    source = fake_models.make(tmp_path / "m", FakeScript(right_fraction={"": 0.7}, disagreement=0.1), items=ITEMS)
    copy = fake_models.variant(source, tmp_path / "v")
    ids = tuple(b"Some plain text of no importance, written to be scored.")
    one, other = (opened(path).scoring().score([ScoreRequest(ids, 1, top_k=9)]) for path in (source, copy))
    assert one == other
    assert accuracy(source) == accuracy(copy)


def test_disagreement_is_the_share_of_other_likeliest_tokens_on_plain_text(tmp_path: Path) -> None:
    source = fake_models.make(tmp_path / "m")
    other = fake_models.variant(source, tmp_path / "v", disagreement=0.2)
    chance = random.Random(1)
    ids = tuple(chance.choice(b"abcdefghijklmnop ") for _ in range(3000))
    tops = [opened(path).scoring().score([ScoreRequest(ids, 1, top_k=1)])[0].top_ids for path in (source, other)]
    share = sum(one != two for one, two in zip(*tops, strict=True)) / len(tops[0])
    assert share == pytest.approx(0.2, abs=0.06)


@given(st.integers(0, 256), st.integers(0, 256), st.floats(0.01, 0.999))
def test_the_distribution_sums_to_one(top: int, runner_up: int, sharpness: float) -> None:
    if top == runner_up:
        return
    peaked = Peaked(top, runner_up, sharpness)
    assert math.fsum(math.exp(peaked.logprob(token)) for token in range(VOCABULARY)) == pytest.approx(1)
    assert sorted(peaked.largest(VOCABULARY)) == list(range(VOCABULARY))


@given(st.lists(st.integers(0, 256), max_size=30), st.integers(0, 30))
def test_reading_at_once_and_token_by_token_is_the_same(tokens: list[int], cut: int) -> None:
    language = Language(MADE)
    whole = [*prompt_ids("What is the capital of France?"), *b"The cap", *tokens]
    at_once = language.reader(whole)
    one_by_one = language.reader(whole[:cut])
    for token in whole[cut:]:
        one_by_one.read(token)
    assert at_once.next() == one_by_one.next()


def test_a_scripted_clock_stamps_the_scripts_times_without_waiting(tmp_path: Path) -> None:
    hour = 3_600_000_000_000
    script = FakeScript(scripted_clock=True, speeds=Speeds(load_ns=5, prefill_ns_per_token=1, decode_ns_per_step=hour))
    session = opened(fake_models.make(tmp_path / "m", script), slowdown=2.0).generation()
    session.add(GenerationRequest("a", (1, 2, 3), 2, ignore_eos=True))
    stamps = [output.at_ns for _ in range(2) for output in session.step()]
    assert stamps == [10 + 6 + 2 * hour, 10 + 6 + 4 * hour]


def session_of(directory: Path, cache: CacheScript, prefill_ns: int = 0) -> fake.FakeGeneration:
    script = FakeScript(scripted_clock=True, cache=cache, speeds=Speeds(prefill_ns_per_token=prefill_ns))
    return opened(fake_models.make(directory, script)).generation()


def test_what_does_not_fit_the_cache_waits_until_there_is_room(tmp_path: Path) -> None:
    session = session_of(tmp_path / "m", CacheScript(bytes_per_token=10, capacity_tokens=12))
    for name in ("a", "b", "c"):
        session.add(GenerationRequest(name, (1, 2, 3), 2, ignore_eos=True))
    served = [[output.id for output in session.step()] for _ in range(3)]

    assert served == [["a", "b"], ["a", "b"], ["c"]]
    assert session.kv_cache() == KvCacheUse(10 * 4, 4, 12)


def test_a_request_that_never_fits_the_cache_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MemoryError, match="12 positions and 13"):
        session_of(tmp_path / "m", CacheScript(capacity_tokens=12)).add(GenerationRequest("a", (1, 2, 3), 10))


def test_a_full_cache_can_be_scripted_to_run_out_of_memory(tmp_path: Path) -> None:
    session = session_of(tmp_path / "m", CacheScript(capacity_tokens=9, fails_when_full=True))
    for name in ("a", "b"):
        session.add(GenerationRequest(name, (1, 2, 3), 2, ignore_eos=True))
    with pytest.raises(MemoryError, match="cache is full"):
        session.step()


def test_a_prefix_that_was_read_before_takes_no_time(tmp_path: Path) -> None:
    session = session_of(tmp_path / "m", CacheScript(keeps_prefixes=True), 100)
    stamps = []
    for prompt in ((1, 2, 3, 4), (1, 2, 3, 4), (1, 2, 9)):
        session.add(GenerationRequest(str(len(stamps)), prompt, 1, ignore_eos=True))
        stamps += [output.at_ns for output in session.step()]

    assert stamps == [400, 400, 500]


def test_shared_prefixes_are_counted_once(tmp_path: Path) -> None:
    session = opened(fake_models.make(tmp_path / "m")).scoring()
    session.score([ScoreRequest((1, 2, 3, 4), 3), ScoreRequest((1, 2, 3, 5, 6), 3)])
    assert session.computed_tokens == 4


def test_a_script_survives_being_written(tmp_path: Path) -> None:
    script = dataclasses.replace(MADE, faults=fake.FakeScript().faults, luck=0.25)
    assert read_script(fake_models.make(tmp_path / "m", script)) == script


def test_a_directory_that_is_no_fake_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"fake\.json"):
        opened(tmp_path)
