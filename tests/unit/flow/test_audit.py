"""The audit as a user meets it: in the record before the first candidate, and by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from paredown.cli.main import group
from paredown.errors import UserError
from paredown.flow import audit, auditing, prepare
from paredown.flow.progress import Silent
from paredown.records.audit import Audit, Finding, Severity
from paredown.store.run_store import RunStore
from paredown.testing import fake_models

PROSE = "In the evening the harbour is quiet and the boats come home one after the other. " * 40


def write(directory: Path, *texts: str) -> str:
    path = directory / "calibration.jsonl"
    path.write_text("\n".join(map(json.dumps, texts)))
    return str(path)


def prompts(world) -> list[str]:
    return [json.loads(line)["prompt"] for line in world.prompts.read_text().splitlines()]


def test_a_golden_prompt_in_the_calibration_data_is_found_before_anything_is_measured(world, tmp_path) -> None:
    given = write(tmp_path, PROSE, prompts(world)[7])
    found = auditing.run(world.spec(calibration=given), Silent())
    (one,) = [one for one in found.findings if one.kind == "calibration overlap"]
    assert one.items == ("i7",)
    assert f"{given}:2" in one.sentence
    clean = auditing.run(world.spec(calibration=write(tmp_path, PROSE)), Silent())
    assert "calibration overlap" not in {one.kind for one in clean.findings}


def test_a_calibration_file_that_is_not_there_stops_before_the_model_is_looked_for(world, tmp_path) -> None:
    spec = world.spec(calibration=str(tmp_path / "none.txt"), model="no such model")
    with pytest.raises(UserError, match=r"calibration file .*none\.txt does not exist"):
        auditing.run(spec, Silent())


def test_a_question_that_stands_on_both_sides_of_the_split_is_found(world, tmp_path) -> None:
    rows = [{"id": f"r{n}", "prompt": "What is the boat in the old harbour called?", "answer": "Ida"} for n in range(9)]
    path = tmp_path / "twice.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    found = auditing.run(world.spec(golden=[str(path)]), Silent())
    assert {"duplicate", "split leak"} <= {one.kind for one in found.findings}


def test_findings_are_kept_once_and_read_back_with_those_on_the_answers(tmp_path, world, monkeypatch) -> None:
    spec = world.spec(targets=["quality_drop<=1pt"])
    looked = auditing.audited(spec, prepare.check(spec, tmp_path, Silent()))
    with RunStore(tmp_path / "run", create=True) as store:
        first = audit.before(store, looked)
        assert [one.kind for one in first.findings] == ["small slice"]
        monkeypatch.setattr(audit, "look", lambda _: pytest.fail("looked twice"))
        assert audit.before(store, looked) == first
        late = Finding("slice at chance", "…", slice="s")
        store.put(audit.KIND, f"{audit.ANSWERS}/x", Audit((late,)))
        assert audit.recorded(store) == (*first.findings, late)


def test_a_run_on_nothing_but_calibration_data_is_refused_with_the_sentence(world, tmp_path) -> None:
    given = write(tmp_path, *prompts(world))
    with pytest.raises(UserError, match="passing it would show nothing"):
        world.run("refused", calibration=given)
    with RunStore(world.directory / "refused", read_only=True) as store:
        kinds = {one.kind for one in audit.recorded(store)}
    assert "calibration is the golden set" in kinds


@pytest.mark.parametrize(
    ("findings", "status"),
    [
        ((), 0),
        ((Finding("few items", "n", Severity.NOTE),), 0),
        ((Finding("duplicate", "w"),), 4),
        ((Finding("duplicate", "w"), Finding("x", "r", Severity.REFUSE)), 2),
    ],
)
def test_the_exit_status_is_that_of_the_worst_finding(monkeypatch, findings, status) -> None:
    monkeypatch.setattr(auditing, "run", lambda *_, **__: Audit(findings))
    plain = CliRunner().invoke(group, ["audit", "m"], standalone_mode=False)
    assert plain.return_value == status
    found = CliRunner().invoke(group, ["audit", "m", "--json"], standalone_mode=False)
    assert [one["kind"] for one in json.loads(found.stdout)["findings"]] == [one.kind for one in findings]


@pytest.mark.slow
def test_with_answers_the_baseline_is_asked_and_slices_at_chance_are_found(world, tmp_path) -> None:
    guessing = fake_models.variant(world.model, tmp_path / "guessing", right_fraction={"": 0.3})
    found = auditing.run(world.spec(model=str(guessing)), Silent(), answers=True)
    assert [one.slice for one in found.findings if one.kind == "slice at chance"] == ["facts", "reasoning"]
    knowing = auditing.run(world.spec(), Silent(), answers=True)
    assert "slice at chance" not in {one.kind for one in knowing.findings}
