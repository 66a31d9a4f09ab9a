"""After INVESTIGATE prompts are added and the same command goes on, under the same error budget."""

from __future__ import annotations

import dataclasses

import pytest

from paredown.decide.alpha import AlphaBudget
from paredown.records.verdict import Verdict
from paredown.store.run_store import RunStore
from tests.unit.flow.conftest import write_prompts

pytestmark = pytest.mark.slow


def test_prompts_added_after_investigate_decide_at_the_next_share_of_the_error_budget(world) -> None:
    few = write_prompts(world.directory / "few.jsonl", 40)
    more = write_prompts(world.directory / "more.jsonl", 160, first=40)
    small = dataclasses.replace(world, prompts=few)
    only = {"only": ["fake_8bit"]}
    first = small.run("adding", techniques=only)
    assert first.decision.verdict is Verdict.INVESTIGATE
    assert first.decision.exit_status == 4
    second = small.run("adding", techniques=only, golden=[str(few), str(more)])
    assert second.decision.verdict is Verdict.SHIP
    with RunStore(world.directory / "adding", read_only=True) as store:
        budget = store.get("alpha", "run", AlphaBudget)
        screened = list(store.entries("screened"))
    assert [round(attempt.alpha, 4) for attempt in budget.attempts] == [0.04, 0.008]
    assert budget.spent < 0.05
    assert len(screened) == 2
