"""A golden set from logs, with the fake model: what is written, and what becomes of every line."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from paredown.errors import UnknownNameError, UserError
from paredown.evaluate import golden
from paredown.flow.golden_from_logs import GoldenAsked, GoldenMade, build
from paredown.flow.progress import Silent
from paredown.flow.subject import ModelAsked
from paredown.testing import fake_models

TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
CALL = {"message": {"content": None, "tool_calls": [{"function": {"name": "add", "arguments": '{"a": 1}'}}]}}
SCHEMA = {"type": "json_schema", "json_schema": {"schema": {"type": "object", "required": ["city"]}}}


def line(text: str, answer: object = "It is so.", **more: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": text}], "response": answer, **more}


BY = ("language", "tools", "json")
LINES: list[object] = [
    *(line(f"What is the name of town {word} and of its river?", user=f"u{word}") for word in "abcdef"),
    line("What is the name of town a, and of its river?", "The same again."),
    line("Please add the numbers that I have sent to you.", {"choices": [CALL]}, tools=[TOOL]),
    line("Give me the city of the sender as a JSON object.", '{"city": "Ulm"}', response_format=SCHEMA),
    line("What is this?", {"choices": [{"message": {"content": "cut off in"}, "finish_reason": "length"}]}, user="x"),
    line("Answer to jo@example.org, please, and not to me.", "I wrote to jo@example.org."),
    {"messages": []},
]


def write(path: Path, lines: list[object]) -> Path:
    path.write_bytes(b"".join(json.dumps(one).encode() + b"\n" for one in lines) + b"\xff\n{half\n")
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_models.make(tmp_path_factory.mktemp("golden") / "model", context_length=4_000)


@pytest.fixture
def asked(model: Path, tmp_path: Path) -> GoldenAsked:
    """Without phone numbers, which take a library."""
    log = write(tmp_path / "log.jsonl", LINES)
    return GoldenAsked((str(log),), ModelAsked(str(model)), tmp_path / "out.jsonl", near=0.95, answers="log", by=BY)


def make(asked: GoldenAsked, tmp_path: Path, **changes: object) -> GoldenMade:
    return build(dataclasses.replace(asked, **changes), tmp_path / "cache", Silent())


def rows(asked: GoldenAsked) -> list[dict[str, object]]:
    return [json.loads(text) for text in asked.out.read_text(encoding="utf-8").splitlines()]


def test_the_file_is_a_golden_set_with_a_slice_for_each_stratum(asked: GoldenAsked, tmp_path: Path) -> None:
    made = make(asked, tmp_path)
    found = golden.load([str(asked.out)])
    assert found.digest == made.digest
    assert found.slices == ("en", "en.json", "en.tools")
    assert {one.name: (one.found, one.taken) for one in made.strata}["en"] == (8, 7)


def test_every_line_is_an_item_or_counted_with_its_first_place(asked: GoldenAsked, tmp_path: Path) -> None:
    made = make(asked, tmp_path)
    log = asked.logs[0]
    left = {one.why: (one.count, one.first) for one in made.left_out}
    assert left == {
        "no messages": (1, f"{log}:12"),
        "not UTF-8": (1, f"{log}:13"),
        "not JSON": (1, f"{log}:14"),
        "nearly the same as an earlier one": (1, f"{log}:7"),
        "without a whole answer in the log": (1, f"{log}:10"),
    }
    assert made.lines == len(rows(asked)) + sum(one.count for one in made.left_out) == 14


def test_calls_and_json_are_scored_by_syntax_and_texts_by_perplexity(asked: GoldenAsked, tmp_path: Path) -> None:
    make(asked, tmp_path)
    by_slice = {str(row["slice"]): row for row in rows(asked)}
    assert by_slice["en.tools"]["scorer"] == "tool_call"
    assert by_slice["en.tools"]["answer"] == {"name": "add", "arguments": {"a": 1}}
    assert by_slice["en.json"]["scorer"] == "json_output"
    assert by_slice["en.json"]["arguments"] == {"schema": json.dumps(SCHEMA["json_schema"]["schema"])}
    assert (by_slice["en"]["scorer"], by_slice["en"]["answer"]) == ("perplexity", "0")


def test_personal_data_is_masked_alike_in_prompt_and_answer_and_nowhere_in_the_files(
    asked: GoldenAsked, tmp_path: Path
) -> None:
    made = make(asked, tmp_path)
    (row,) = [row for row in rows(asked) if "EMAIL" in json.dumps(row)]
    assert row["messages"] == [{"role": "user", "content": "Answer to [EMAIL_1], please, and not to me."}]
    assert row["choices"] == ["I wrote to [EMAIL_1]."]
    assert made.masked == {"EMAIL": 1}
    sidecar = Path(f"{asked.out}.provenance.json")
    assert "jo@example.org" not in asked.out.read_text() + sidecar.read_text()
    assert json.loads(sidecar.read_text())["digest"] == made.digest


def test_personal_data_is_kept_when_asked_for(asked: GoldenAsked, tmp_path: Path) -> None:
    assert make(asked, tmp_path, keep_personal_data=True).masked is None
    assert "jo@example.org" in asked.out.read_text()


def test_users_are_hashed_into_clusters(asked: GoldenAsked, tmp_path: Path) -> None:
    make(asked, tmp_path)
    clusters = [row["cluster"] for row in rows(asked) if "cluster" in row]
    assert len(set(clusters)) == 6
    assert all(len(str(one)) == 16 for one in clusters)


def test_a_judge_gets_the_frozen_answer_as_reference(asked: GoldenAsked, tmp_path: Path) -> None:
    made = make(asked, tmp_path, scorer="judge")
    assert set(made.scorers) == {"judge"}
    assert "It is so." in {row["answer"] for row in rows(asked)}


def test_the_same_seed_takes_the_same_items_and_fewer_when_fewer_are_asked_for(
    asked: GoldenAsked, tmp_path: Path
) -> None:
    first = make(asked, tmp_path, count=5, out=tmp_path / "one.jsonl")
    assert sum(one.taken for one in first.strata) == 5
    assert make(asked, tmp_path, count=5, out=tmp_path / "two.jsonl").digest == first.digest


def test_a_log_without_a_request_says_what_became_of_its_lines(asked: GoldenAsked, tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.jsonl", [{"messages": []}])
    with pytest.raises(UserError, match=r"1 × no messages \(first: .*empty.jsonl:1\); 1 × not UTF-8"):
        make(asked, tmp_path, logs=(str(empty),))


def test_a_log_without_answers_says_so(asked: GoldenAsked, tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.jsonl", [{"prompt": "What is the name of the town?"}])
    with pytest.raises(UserError, match=r"No request has an answer that can be kept: .*without a whole answer"):
        make(asked, tmp_path, logs=(str(plain),))


def test_prompts_beyond_the_context_are_left_out(asked: GoldenAsked, tmp_path: Path) -> None:
    long = write(tmp_path / "long.jsonl", [line("word " * 900), line("What is " + "long " * 10, "x" * 3_950)])
    with pytest.raises(UserError, match=r"longer than the context of 4000 tokens .*; 1 × .* with its answer"):
        make(asked, tmp_path, logs=(str(long),))


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"by": ("size",)}, UnknownNameError, "language"),
        ({"logs": ("nowhere.jsonl",)}, UserError, "Cannot read the log nowhere.jsonl"),
        ({"out": Path("x.txt")}, UserError, "ends in .jsonl"),
        ({"out": Path("no/such/place.jsonl")}, UserError, "does not exist"),
        ({"out": Path("pyproject.toml")}, UserError, "exists already"),
    ],
)
def test_wrong_requests_are_refused_before_anything_is_loaded(
    asked: GoldenAsked, tmp_path: Path, changes: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        make(asked, tmp_path, **{"logs": (), **changes})


@pytest.mark.slow
def test_the_baseline_answers_where_the_log_does_not(asked: GoldenAsked, tmp_path: Path) -> None:
    asks = [{"prompt": "What is the capital of France?"}, {"prompt": "How many days are in a week?", "max_tokens": 4}]
    log = write(tmp_path / "asks.jsonl", asks)
    made = make(asked, tmp_path, logs=(str(log),), answers="")
    assert made.answers == {"baseline": 1, "baseline, cut": 1}
    assert "The capital of France is Paris." in {row["choices"][0] for row in rows(asked)}
