"""The confirmation of a run: frozen, asked look by look, resumed after a kill, and begun again on fresh prompts."""

from __future__ import annotations

import dataclasses

import pytest

from paredown.decide.alpha import AlphaBudget
from paredown.flow import confirmation, quality
from paredown.flow.confirmation import Confirmed
from paredown.flow.verify import verify
from paredown.records import codec
from paredown.records.golden import Evaluation
from paredown.records.verdict import Verdict
from paredown.store.run_store import RunStore
from tests.unit.flow.conftest import write_prompts

pytestmark = pytest.mark.slow

ONLY = {"only": ["fake_8bit"]}


def chosen(finished):
    return next(v for v in finished.decision.candidates if v.candidate == "fake_8bit")


def parts(directory) -> list[Evaluation]:
    """What was asked of the candidate after the freezing, part by part."""
    with RunStore(directory, read_only=True) as store:
        return [
            codec.loads(Evaluation, store.body(entry))
            for entry in store.entries("evaluation")
            if entry.key.startswith("fake_8bit/confirmation/")
        ]


def test_the_order_and_the_looks_stand_in_the_record_before_the_first_held_back_answer(finished, world) -> None:
    with RunStore(world.directory / "finished", read_only=True) as store:
        (entry,) = store.entries(confirmation.KIND)
        first = next(one for one in store.entries("evaluation") if one.key.startswith("fake_8bit/confirmation/"))
        frozen = codec.loads(Confirmed, store.body(entry))
    assert entry.seq < first.seq
    assert frozen.sizes == (54, 86, 117, 149, 180)
    assert [len(one.answers) for one in parts(world.directory / "finished")] == [54, 32]


def test_without_early_stopping_every_prompt_is_asked_and_no_looks_are_told(world) -> None:
    finished = world.run("fixed", techniques=ONLY, early_stopping=False)
    verdict = chosen(finished)
    assert verdict.verdict is Verdict.SHIP
    assert verdict.looks is None
    assert next(row for row in verdict.slices if row.gated).counts.n == 180
    verify(world.directory / "fixed")


def test_a_run_that_is_killed_in_a_look_repeats_no_answer_and_comes_to_the_same_verdict(
    finished, world, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, asked = quality.evaluate, []

    def killed(context, running, candidate, split, items, stage, policy=quality.POLICY):
        if split == "confirmation" and candidate.name == "fake_8bit":
            if asked:
                raise KeyboardInterrupt
            asked.append(len(items))
        return whole(context, running, candidate, split, items, stage, policy)

    with monkeypatch.context() as patch:
        patch.setattr(quality, "evaluate", killed)
        with pytest.raises(KeyboardInterrupt):
            world.run("killed", techniques=ONLY)
    assert [len(one.answers) for one in parts(world.directory / "killed")] == [54]
    verdict = chosen(world.run("killed", techniques=ONLY))
    assert [len(one.answers) for one in parts(world.directory / "killed")] == [54, 32]
    assert verdict.looks == chosen(finished).looks
    assert verdict.verdict is Verdict.SHIP
    with RunStore(world.directory / "killed", read_only=True) as store:
        assert len(store.get("alpha", "run", AlphaBudget).attempts) == 1


@pytest.fixture(scope="module")
def added(world):
    """A run that had too few prompts, and the same run after some were added."""
    few = write_prompts(world.directory / "first.jsonl", 40)
    more = write_prompts(world.directory / "second.jsonl", 200, first=40)
    first = dataclasses.replace(world, prompts=few).run("fresh", techniques=ONLY)
    second = world.run("fresh", techniques=ONLY, golden=[str(few), str(more)])
    return first, second


def test_prompts_that_were_added_are_confirmed_without_those_that_were_answered_before(added, world) -> None:
    first, second = added
    assert chosen(first).verdict is Verdict.INVESTIGATE
    assert chosen(second).verdict is Verdict.SHIP
    with RunStore(world.directory / "fresh", read_only=True) as store:
        before, after = (codec.loads(Confirmed, store.body(entry)) for entry in store.entries(confirmation.KIND))
    assert not set(before.order) & set(after.order)
    assert (before.alpha, after.alpha) == (pytest.approx(0.04), pytest.approx(0.008))
    assert "(Confirmation 2 of 2.)" in next(row for row in chosen(second).slices if row.gated).reason


def test_a_candidate_that_has_shipped_is_not_confirmed_again_when_prompts_are_added(added, world) -> None:
    third = write_prompts(world.directory / "third.jsonl", 60, first=240)
    files = [str(world.directory / name) for name in ("first.jsonl", "second.jsonl")]
    again = world.run("fresh", techniques=ONLY, golden=[*files, str(third)])
    assert chosen(again).verdict is Verdict.SHIP
    with RunStore(world.directory / "fresh", read_only=True) as store:
        assert len(store.get("alpha", "run", AlphaBudget).attempts) == 2
    verify(world.directory / "fresh")


def test_too_few_prompts_added_spend_nothing_of_the_error_budget(world) -> None:
    few = write_prompts(world.directory / "few-a.jsonl", 40)
    dataclasses.replace(world, prompts=few).run("too-few", techniques=ONLY)
    more = write_prompts(world.directory / "few-b.jsonl", 20, first=40)
    second = world.run("too-few", techniques=ONLY, golden=[str(few), str(more)])
    assert chosen(second).verdict is Verdict.INVESTIGATE
    with RunStore(world.directory / "too-few", read_only=True) as store:
        assert len(store.get("alpha", "run", AlphaBudget).attempts) == 1
    verify(world.directory / "too-few")
