"""Runs that end otherwise: everything tried, nothing good enough, no time left."""

from __future__ import annotations

import pytest

from paredown.flow.climb import Climb
from paredown.flow.run import Finished
from paredown.records.verdict import Verdict
from paredown.store.run_store import RunStore

pytestmark = pytest.mark.slow


def verdict_of(finished: Finished, name: str):
    return next(v for v in finished.decision.candidates if v.candidate == name)


def test_exhaust_goes_on_and_rejects_four_bits_that_lose_answers(world) -> None:
    only = ["fake_8bit", "fake_8bit_slow", "fake_4bit", "fake_nothing"]
    finished = world.run("exhausted", techniques={"only": only}, exhaust=True)
    assert finished.decision.recommended == "fake_8bit"
    unconfirmed = verdict_of(finished, "fake_8bit_slow")
    assert unconfirmed.verdict is Verdict.INVESTIGATE
    assert "not confirmed" in unconfirmed.reasons[0]
    assert verdict_of(finished, "fake_4bit").verdict is Verdict.REJECT
    assert "nothing was optimized" in verdict_of(finished, "fake_nothing").error


def test_when_nothing_meets_the_targets_the_closest_is_named(world) -> None:
    finished = world.run("missed", techniques={"only": ["fake_lossless", "fake_oom"]})
    assert finished.decision.exit_status == 3
    assert finished.decision.recommended is None
    assert finished.decision.closest == "fake_lossless"
    assert "Out of memory" in verdict_of(finished, "fake_oom").error


def test_a_used_up_budget_leaves_the_rest_for_the_same_command(world) -> None:
    stopped = world.run("budget", techniques={"only": ["fake_8bit"]}, budget="1s")
    with RunStore(world.directory / "budget", read_only=True) as store:
        climbed = store.get("climb", "run", Climb)
    assert climbed.tried == ()
    assert "time budget" in climbed.left_out[0].reason
    assert stopped.decision.exit_status in (3, 4)
