"""Explanations of a whole run on the fake engine: in the record, in the view, computed again by `verify`."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from paredown.errors import RecordError, UserError
from paredown.flow import explain
from paredown.flow.again import view_of
from paredown.flow.layers import explain_run
from paredown.flow.progress import Silent
from paredown.flow.run import Finished
from paredown.flow.verify import verify
from paredown.records.explanation import DriftedText, Explanation
from paredown.store.run_store import RunStore

pytestmark = pytest.mark.slow


@pytest.fixture
def copy(finished: Finished, tmp_path: Path) -> Path:
    shutil.copytree(finished.report.parent, tmp_path / "copy")
    return tmp_path / "copy"


def explanation_of(finished: Finished, name: str) -> Explanation:
    found = finished.view.candidate(name)
    assert found is not None
    assert found.explanation is not None
    return found.explanation


def test_a_run_explains_every_candidate_that_answered(finished: Finished) -> None:
    chosen = explanation_of(finished, "fake_8bit")
    confirmed = next(c for c in finished.view.candidates if c.name == "fake_8bit").verdict
    assert chosen.compared >= sum(s.counts.n for s in confirmed.slices if s.gated)
    assert {group.tag for group in chosen.groups} >= {"slice", "scorer"}
    assert sum(group.n for group in chosen.groups if group.tag == "slice") == chosen.compared


def test_flips_are_the_answers_that_stand_side_by_side_in_the_report(finished: Finished) -> None:
    flips = {(flip.item, flip.lost) for flip in explanation_of(finished, "fake_8bit").flips}
    shown = {(w.item.id, not w.gained) for w in finished.view.worst if w.candidate == "fake_8bit"}
    assert shown <= flips
    assert len(shown) == min(12, sum(lost for _, lost in flips)) + min(6, sum(not lost for _, lost in flips))


def test_the_text_that_drifts_shows_the_tokens_of_both_sides(finished: Finished) -> None:
    explained = [c.explanation for c in finished.view.candidates if c.explanation]
    differing = [text for one in explained for text in one.drifted if text.first is not None]
    assert all(text.baseline and text.candidate and text.baseline.token != text.candidate.token for text in differing)
    assert [one.drifted_missing for one in explained if not one.drifted] == [""] * len(explained)


def test_the_record_holds_it_and_the_report_made_again_shows_the_same(finished: Finished, copy: Path) -> None:
    again = view_of(copy)
    assert [c.explanation for c in again.candidates] == [c.explanation for c in finished.view.candidates]


def test_verify_notices_a_flip_that_was_added_to_the_explanation(copy: Path) -> None:
    verify(copy)
    with RunStore(copy) as store:
        stored = store.get("explanation", "fake_8bit", Explanation)
        changed = {**stored.__dict__, "compared": stored.compared + 1}
        store.put("explanation", "fake_8bit", Explanation(**changed), bulk=True)
    with pytest.raises(RecordError, match="explanation fake_8bit: compared"):
        verify(copy)


def test_explain_says_why_the_layers_of_this_format_cannot_be_looked_at(copy: Path) -> None:
    found = explain_run(copy, (), Silent())
    assert found.candidates == ("fake_8bit",)
    chosen = found.view.candidate("fake_8bit")
    assert chosen is not None
    assert chosen.sensitivity is not None
    assert "the baseline has the format 'fake'" in chosen.sensitivity.missing
    assert "single layers can be exchanged in a Hugging Face checkpoint only" in found.report.read_text()
    verify(copy)


def test_explain_without_layers_adds_none(copy: Path) -> None:
    found = explain_run(copy, ("fake_lossless",), Silent(), layers=False)
    assert found.candidates == ("fake_lossless",)
    assert all(c.sensitivity is None for c in found.view.candidates)


def test_an_unknown_candidate_or_directory_is_one_sentence(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"Unknown candidate of this run 'fake_9bit'.*fake_8bit"):
        explain_run(copy, ("fake_9bit",), Silent())
    with pytest.raises(UserError, match="holds no run"):
        explain_run(tmp_path / "nothing", (), Silent())
    assert not (tmp_path / "nothing").exists()


def test_explained_again_nothing_is_added_to_the_record(copy: Path) -> None:
    explain_run(copy, (), Silent())
    with RunStore(copy, read_only=True) as store:
        before = store.root_digest()
    explain_run(copy, (), Silent())
    with RunStore(copy, read_only=True) as store:
        assert store.root_digest() == before


def test_texts_that_were_kept_survive_the_model(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunStore(copy) as store:
        before = store.get("explanation", "fake_8bit", Explanation)
        kept = replace(before, drifted=(DriftedText("t", "s", 4, 0.5, 1.0, 0.5, None, "kept"),))
        store.put("explanation", "fake_8bit", kept, bulk=True)
    monkeypatch.setattr(explain, "_tokenizer", lambda _prepared: (None, "the model is gone"))
    found = explain_run(copy, (), Silent(), layers=False).view.candidate("fake_8bit")
    assert found is not None
    assert found.explanation == kept
