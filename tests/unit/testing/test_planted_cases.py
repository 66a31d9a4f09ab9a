"""The golden prompts and calibration data of the planted faults; the damaged checkpoints run in tests/real."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from paredown.evaluate import golden
from paredown.testing import planted_cases, planted_faults


def test_every_fault_has_a_name_of_its_own_and_something_that_must_be_said() -> None:
    names = [fault.name for fault in planted_cases.FAULTS]
    assert len(set(names)) == len(names) == 11
    assert all(fault.named for fault in planted_cases.FAULTS)


def test_the_golden_file_holds_what_is_asked_written_prompts_first(tmp_path: Path) -> None:
    chosen = {"safety": 10, "tool_calls": 20}
    items = golden.load([str(planted_cases.golden_file(tmp_path / "g.jsonl", chosen))]).items
    assert Counter(item.slice for item in items) == {"safety": 5, "over_refusal": 5, "tool_calls": 20}
    assert sum(not item.choices for item in items) == 12
    assert {item.tags["kind"] for item in items if item.slice == "safety"} == {"harmful"}


def test_calibration_data_that_leak_hold_whole_golden_conversations(tmp_path: Path) -> None:
    prompts = planted_cases.golden_file(tmp_path / "g.jsonl", {"safety": 10})
    leaking = planted_cases.leaking_calibration(tmp_path / "c.jsonl", prompts, leaked=3)
    talks = [json.loads(line)["messages"] for line in leaking.read_text().splitlines()]
    asked = [json.loads(line)["messages"] for line in prompts.read_text().splitlines()]
    assert sum(talk in asked for talk in talks) == 3


def test_rows_are_spread_over_all() -> None:
    assert planted_cases.spread(range(10), 5) == [0, 2, 4, 6, 8]
    assert planted_cases.spread(range(3), 5) == [0, 1, 2]
    assert planted_cases.spread(range(3), -1) == []


def test_a_copy_has_every_file_and_editing_it_leaves_the_source_alone(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "config.json").write_text('{"a": 1, "b": 2}')
    (source / "model.safetensors").write_bytes(b"weights")
    made = planted_faults.copy(source, tmp_path / "copy")
    planted_faults.edit_json(made, "config.json", without=("a",), c=3)
    assert json.loads((made / "config.json").read_text()) == {"b": 2, "c": 3}
    assert json.loads((source / "config.json").read_text()) == {"a": 1, "b": 2}
    assert (made / "model.safetensors").read_bytes() == b"weights"
