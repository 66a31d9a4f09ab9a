"""The main job on the fake engine: the ladder, the gates, one confirmation, the record."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from paredown.errors import RecordError, RunInUseError, UserError
from paredown.flow import again
from paredown.flow.confirmation import Confirmed
from paredown.flow.run import Finished
from paredown.flow.verify import verify
from paredown.records.golden import Fidelity
from paredown.records.verdict import Verdict
from paredown.store.lock import exclusive
from paredown.store.run_store import RunStore


def verdict_of(finished: Finished, name: str):
    return next(v for v in finished.decision.candidates if v.candidate == name)


def test_the_run_ships_the_candidate_that_meets_every_target(finished: Finished) -> None:
    assert finished.decision.recommended == "fake_8bit"
    assert finished.decision.verdict is Verdict.SHIP
    assert finished.decision.exit_status == 0


def test_it_stops_at_the_first_rung_that_meets_every_target_and_says_what_it_did_not_try(finished: Finished) -> None:
    assert "fake_4bit" not in {v.candidate for v in finished.decision.candidates}
    (left,) = [one for one in finished.decision.left_out if one.name == "fake_4bit"]
    assert "every target was met" in left.reason


def test_a_candidate_whose_engine_dies_is_an_outcome_and_the_run_goes_on(finished: Finished) -> None:
    crashed = verdict_of(finished, "fake_crash")
    assert crashed.stage == "smoke"
    assert "killed by signal 9" in crashed.error


def test_only_the_chosen_candidate_is_confirmed_and_once(finished: Finished, world) -> None:
    with RunStore(world.directory / "finished", read_only=True) as store:
        (entry,) = store.entries("confirmed")
        assert entry.key.startswith("fake_8bit/confirmation/")
        assert store.get("confirmed", entry.key, Confirmed).alpha == pytest.approx(0.04)


def test_the_chosen_candidate_is_compared_round_by_round_and_the_others_by_their_short_trial(
    finished: Finished,
) -> None:
    speeds = {
        name: next(one for one in verdict_of(finished, name).ratios if one.figure == "decode_speed")
        for name in ("fake_8bit", "fake_lossless")
    }
    assert (speeds["fake_8bit"].in_turns, speeds["fake_8bit"].rounds) == (True, 2)
    assert speeds["fake_8bit"].low is not None
    assert (speeds["fake_lossless"].in_turns, speeds["fake_lossless"].low) == (False, None)
    (judged,) = (r for r in verdict_of(finished, "fake_8bit").targets if r.target.metric == "decode_speed")
    assert judged.against == speeds["fake_8bit"]
    assert judged.ratio == speeds["fake_8bit"].ratio


def test_the_confirmation_is_on_prompts_that_chose_nothing(finished: Finished) -> None:
    chosen = verdict_of(finished, "fake_8bit")
    (gate,) = [s for s in chosen.slices if s.gated]
    assert chosen.stage == "confirmation"
    assert gate.counts.n == 86
    assert chosen.looks is not None
    assert (chosen.looks.planned, chosen.looks.asked, chosen.looks.looks_made) == (180, 86, 2)


def test_the_paragraph_ends_with_artifact_command_and_digest(finished: Finished) -> None:
    paragraph = finished.decision.paragraph
    assert str(finished.decision.artifact) in paragraph
    assert "paredown serve" in paragraph
    assert "Record: " in paragraph


def test_the_same_command_again_measures_nothing(finished: Finished, world) -> None:
    directory = world.directory / "finished"
    with RunStore(directory, read_only=True) as store:
        before = {(e.kind, e.key) for e in store.entries()}
    again_finished = world.run(
        "finished", techniques={"only": ["fake_lossless", "fake_8bit", "fake_crash", "fake_4bit"]}
    )
    with RunStore(directory, read_only=True) as store:
        after = [(e.kind, e.key) for e in store.entries()]
    assert {pair for pair in after if pair[0] in {"trial", "blocks", "answers", "evaluation"}} == {
        pair for pair in before if pair[0] in {"trial", "blocks", "answers", "evaluation"}
    }
    assert again_finished.decision.recommended == "fake_8bit"


def test_a_request_that_differs_is_refused_in_the_same_directory(finished: Finished, world) -> None:
    with pytest.raises(UserError, match=r"another request \(different: seed"):
        world.run("finished", seed=5, techniques={"only": ["fake_lossless", "fake_8bit", "fake_crash", "fake_4bit"]})


def test_two_runs_in_one_directory_are_refused(finished: Finished, world) -> None:
    with exclusive(world.directory / "finished"), pytest.raises(RunInUseError, match="--run-dir"):
        world.run("finished")


def test_verify_comes_to_the_same_figures_and_verdict(finished: Finished, world) -> None:
    found = verify(world.directory / "finished")
    assert found.decision.recommended == "fake_8bit"
    assert found.candidates == 3
    assert found.figures > 20


def test_verify_accepts_the_published_digest_and_no_other(finished: Finished, world) -> None:
    published = finished.decision.paragraph.rpartition("Record: ")[2].rstrip(".")
    verify(world.directory / "finished", published)
    with pytest.raises(RecordError, match="never had the digest"):
        verify(world.directory / "finished", "0" * 64)


@pytest.fixture
def copy(finished: Finished, world, tmp_path: Path) -> Path:
    return Path(shutil.copytree(world.directory / "finished", tmp_path / "copy"))


def test_a_record_that_was_moved_verifies_all_the_same(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy.parent)
    assert verify(Path(copy.name)).decision.recommended == "fake_8bit"


def test_fidelity_looks_far_into_the_context_beside_a_noise_floor_of_the_baseline(finished: Finished, world) -> None:
    with RunStore(world.directory / "finished", read_only=True) as store:
        found = store.get("fidelity", "fake_8bit", Fidelity)
    assert found.floor is not None
    assert found.truncation is not None
    assert found.log_perplexity_se is not None
    assert {part.kind for part in found.parts} == {"slice", "text", "positions"}
    assert max(text.start for text in found.texts) >= 1024


def test_verify_fails_when_a_mean_does_not_follow_from_its_positions(copy: Path) -> None:
    with RunStore(copy) as store:
        found = store.get("fidelity", "fake_8bit", Fidelity)
        store.put("fidelity", "fake_8bit", replace(found, mean_kl=0.0123), bulk=True)
    with pytest.raises(RecordError, match=r"fidelity fake_8bit: mean_kl was recorded as 0\.0123"):
        verify(copy)


def test_verify_fails_when_a_byte_of_the_raw_events_was_changed(copy: Path) -> None:
    file = next((copy / "files").rglob("*.gz"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(RecordError, match="was changed"):
        verify(copy)


def test_verify_fails_when_the_verdict_was_rewritten_with_a_whole_new_chain(copy: Path) -> None:
    """Whoever rewrites the chain too is caught because the raw data still say otherwise."""
    from paredown.store import run_store

    with RunStore(copy, read_only=True) as store:
        entries = list(store.entries())
    database = sqlite3.connect(copy / "record.sqlite")
    previous = "0" * 64
    for entry in entries:
        body = entry.body.replace('"exit_status":0', '"exit_status":3') if entry.kind == "decision" else entry.body
        chain = run_store.chain_digest(
            previous, entry.seq, entry.kind, entry.key, body, entry.bulk, entry.created_unix_ns
        )
        database.execute("UPDATE entries SET body = ?, chain = ? WHERE seq = ?", (body, chain, entry.seq))
        previous = chain
    database.commit()
    database.close()
    with pytest.raises(RecordError, match=r"decision: exit_status was recorded as 3 and comes out as 0"):
        verify(copy)


def test_the_report_can_be_made_again_from_the_record_alone(finished: Finished, copy: Path, world) -> None:
    shown = again.view_of(copy)
    assert shown.decision.recommended == "fake_8bit"
    assert [c.name for c in shown.candidates] == ["fake_lossless", "fake_8bit", "fake_crash"]
