"""Twins in a run: decided once, found again in the record, told in the verdict, and computed again by `verify`."""

from __future__ import annotations

import dataclasses
import json

import pytest

from paredown.evaluate.twins import SliceChoice, Twinned
from paredown.flow import asked, single, twinning
from paredown.flow.progress import Silent
from paredown.flow.verify import verify
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message
from paredown.records.verdict import Margin, PairedCounts, SliceVerdict, Verdict
from paredown.store.run_store import RunStore
from paredown.testing import fake_models

TWIN = GoldenItem("a~twin", "sums", "likelihood", (Message("user", "?"),), "0", choices=("7", "8"))
TWINNED = Twinned((SliceChoice("sums", 0.0, 8, as_choices=True),), (TWIN,))


def judged(name: str) -> SliceVerdict:
    return SliceVerdict(name, True, 0.05, PairedCounts(1, 0, 0, 0), 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, Verdict.SHIP, "Fine.")


def test_the_reason_of_a_slice_and_of_a_pool_says_how_many_were_asked_as_choices() -> None:
    other = dataclasses.replace(TWIN, id="b", slice="facts")
    margins = [Margin("sums", 0.05, True), Margin("facts", 0.05, True), Margin("both", 0.05, True, ("facts", "sums"))]
    told = twinning.told([judged(m.slice) for m in margins], [TWIN, other], margins, TWINNED)
    assert [one.reason.startswith("Fine. 1 of the 1 prompts of 'sums'") for one in told] == [True, False, True]
    assert told[1].reason == "Fine."


def cannot_write(world, tmp_path):
    """A world whose model answers nearly nothing right, in two slices with written prompts and choices."""
    model = fake_models.variant(world.model, tmp_path / "model", right_fraction={"": 0.05})
    return dataclasses.replace(world, model=model)


@pytest.mark.slow
def test_evaluate_shows_a_slice_that_cannot_be_written_once_more_as_choices(world, tmp_path) -> None:
    said: list[str] = []

    class Listening(Silent):
        def note(self, text: str) -> None:
            said.append(text)

    poor = cannot_write(world, tmp_path)
    rows = single.evaluate(poor.spec(), tmp_path / "record", Listening())
    assert [(row.slice, row.twins > 0) for row in rows] == [("facts", False), ("facts", True)] + [
        ("reasoning", False)
    ] + ([("reasoning", True)] if len(rows) == 4 else [])
    as_written, as_choices = rows[0], rows[1]
    assert as_choices.scored == as_written.scored == 120
    assert (as_choices.chance or 0) > (as_written.chance or 0)
    assert any("prompts of 'facts' are asked as choices (likelihood twins)" in text for text in said)
    written_only = single.evaluate(poor.spec(twins=False), None, Silent())
    assert [(row.slice, row.twins) for row in written_only] == [("facts", 0), ("reasoning", 0)]
    assert written_only[0].score == as_written.score


@pytest.mark.slow
def test_a_run_decides_once_asks_both_sides_the_same_tells_it_and_verifies(world, tmp_path) -> None:
    poor = dataclasses.replace(cannot_write(world, tmp_path), directory=tmp_path)
    finished = poor.run("run", techniques={"only": ["fake_8bit"]}, exhaust=True)
    (candidate,) = finished.decision.candidates
    assert any("are asked as choices" in one.reason for one in candidate.slices)
    with RunStore(tmp_path / "run", read_only=True) as store:
        prepared = asked.reload(store)
        assert len(list(store.entries(twinning.KIND))) == 1
        twins = [item.id for item in (*prepared.screening, *prepared.confirmation) if item.id.endswith("~twin")]
        golden = {item.id for item in prepared.golden.items}
    assert twins
    assert not set(twins) & golden
    assert verify(tmp_path / "run").candidates == 1
    again = poor.run("run", techniques={"only": ["fake_8bit"]}, exhaust=True)
    assert json.dumps([c.verdict for c in again.decision.candidates]) == json.dumps([candidate.verdict])
