"""BFCL: possible answers become all right calls; prompts where no tool fits become the "no call" case."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paredown.errors import UserError
from paredown.evaluate import golden
from paredown.loaders.bfcl import LOADER
from paredown.records.golden import Answer, GoldenItem
from paredown.scorers.tool_call import SCORER as TOOL_CALL

TOOL = {
    "name": "shop.order",
    "description": "Order something.",
    "parameters": {
        "type": "dict",
        "properties": {
            "what": {"type": "string"},
            "price": {"type": "float"},
            "type": {"type": "any", "description": "whatever"},
            "sizes": {"type": "tuple", "items": {"type": "dict", "properties": {"float": {"type": "float"}}}},
        },
        "required": ["what"],
    },
}


def question(name: str = "simple_0", **fields: object) -> dict[str, object]:
    return {"id": name, "question": [[{"role": "user", "content": "Buy tea."}]], "function": [TOOL], **fields}


def answer(possible: object, name: str = "simple_0") -> dict[str, object]:
    return {"id": name, "ground_truth": [{"shop.order": possible}]}


def write(folder: Path, asked: object, right: object = None) -> str:
    (folder / "asked.jsonl").write_text(json.dumps(asked))
    if right is None:
        return f"bfcl:{folder}/asked.jsonl"
    (folder / "right.jsonl").write_text(json.dumps(right))
    return f"bfcl:{folder}/asked.jsonl:{folder}/right.jsonl"


def item_of(source: str) -> GoldenItem:
    (item,) = golden.load([source]).items
    return item


def calls(item: GoldenItem) -> list[Any]:
    return [call["arguments"] for call in json.loads(item.answer)]


def score(item: GoldenItem, **arguments: object) -> float | None:
    return TOOL_CALL.score(item, Answer(item.id, json.dumps({"name": "shop.order", "arguments": arguments}))).value


def test_every_combination_of_right_values_is_right_and_nothing_else(tmp_path: Path) -> None:
    item = item_of(write(tmp_path, question(), answer({"what": ["Tea", "green tea"], "price": [5, ""]})))
    assert len(calls(item)) == 4
    assert score(item, what="tea ", price=5.0) == 1.0
    assert score(item, what="Green Tea") == 1.0
    assert score(item, what="Tea", price=6) == 0.0
    assert score(item, price=5) == 0.0
    assert (item.slice, item.scorer, item.id) == ("tool_calls", "tool_call", "bfcl/simple_0")
    assert item.tags["category"] == "simple"


def test_a_required_argument_may_not_be_left_out(tmp_path: Path) -> None:
    assert calls(item_of(write(tmp_path, question(), answer({"what": ["Tea", ""]})))) == [{"what": "Tea"}]


def test_objects_hold_possible_values_at_any_depth_and_lists_hold_their_parts(tmp_path: Path) -> None:
    possible = {"what": ["x"], "sizes": [[{"a": [1, 2], "b": ["", 3]}], [7, 8]]}
    found = [call["sizes"] for call in calls(item_of(write(tmp_path, question(), answer(possible))))]
    assert found == [[{"a": 1}], [{"a": 1, "b": 3}], [{"a": 2}], [{"a": 2, "b": 3}], [7, 8]]


def test_where_no_tool_fits_a_call_is_wrong(tmp_path: Path) -> None:
    item = item_of(write(tmp_path, question("live_irrelevance_3-0-0")))
    assert score(item, what="Tea") == 0.0
    assert TOOL_CALL.score(item, Answer(item.id, "I cannot do that.")).value == 1.0


def test_the_tools_stand_before_the_question_as_json_schema(tmp_path: Path) -> None:
    turns = [[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Buy tea."}]]
    system, user = item_of(write(tmp_path, question("irrelevance_0", question=turns))).messages
    shown = json.loads(system.content.splitlines()[-1])
    assert system.content.startswith("Be brief.\n\n")
    assert (user.role, user.content) == ("user", "Buy tea.")
    assert shown["name"] == "shop.order"
    assert shown["parameters"] == {
        "type": "object",
        "properties": {
            "what": {"type": "string"},
            "price": {"type": "number"},
            "type": {"description": "whatever"},
            "sizes": {"type": "array", "items": {"type": "object", "properties": {"float": {"type": "number"}}}},
        },
        "required": ["what"],
    }


@pytest.mark.parametrize(
    ("asked", "right", "says"),
    [
        (question(), None, "asked.jsonl:1: field 'id' is \"simple_0\"; .*:ANSWERS"),
        (question(), answer({}, "simple_1"), "asked.jsonl:1: field 'id' is \"simple_0\"; expected one of the ids in"),
        (question(question=[[], []]), answer({}), "asked.jsonl:1: field 'question' is .* expected one turn"),
        (question(function=[]), answer({}), "asked.jsonl:1: field 'function'"),
        (question(function=[{"name": "x"}]), answer({}), "asked.jsonl:1: field 'function'"),
        (question(), {"id": "simple_0", "ground_truth": [{"a": {}}, {"b": {}}]}, "'ground_truth' is .* one call"),
        (
            question(),
            {"id": "simple_0", "ground_truth": [{"other": {}}]},
            "right.jsonl:1: .* a tool that .*asked.jsonl:1 lists",
        ),
        (question(), answer({"what": "Tea"}), "right.jsonl:1: .* for each argument a list"),
        (question(), answer({"what": [{"a": 1}]}), "right.jsonl:1: .* for each argument a list"),
        (question(), answer({"what": [""]}), "right.jsonl:1: .* for each argument a list"),
        (question(), answer({str(n): [1, 2] for n in range(60)}), "right.jsonl:1: .* at most 256 combinations"),
    ],
)
def test_what_cannot_be_expressed_is_refused_with_place_and_field(
    tmp_path: Path, asked: object, right: object, says: str
) -> None:
    with pytest.raises(UserError, match=says):
        golden.load([write(tmp_path, asked, right)])


def test_an_id_with_two_answers_is_refused(tmp_path: Path) -> None:
    source = write(tmp_path, question(), answer({}))
    path = tmp_path / "right.jsonl"
    path.write_text(f"{path.read_text()}\n{path.read_text()}")
    with pytest.raises(UserError, match=r"right.jsonl:2: the id 'simple_0' stands already at .*right.jsonl:1"):
        list(LOADER.load(source))


@pytest.mark.parametrize("source", ["bfcl:", "bfcl:a.jsonl:", "bfcl::a.jsonl"])
def test_a_source_that_lacks_a_path_says_what_to_write(source: str) -> None:
    with pytest.raises(UserError, match="Write bfcl:PATH"):
        list(LOADER.load(source))
