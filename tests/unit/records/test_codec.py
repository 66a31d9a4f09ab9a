"""Records survive the way to JSON and back, and unknown never becomes a number."""

from __future__ import annotations

from pathlib import Path

import pytest

from paredown.errors import RecordError
from paredown.records import codec
from paredown.records.candidate import Proposal, Rung, Step
from paredown.records.events import Block, ChunkEvent, RequestEvents, Trial
from paredown.records.figure import Figure
from paredown.records.golden import FidelityText, GoldenItem
from paredown.records.traffic import Message
from paredown.records.verdict import Comparison, Target

RECORDS = [
    Figure("ttft", "s", None, missing="no tokens"),
    GoldenItem("a", "safety", "likelihood", (Message("user", "Hé?"),), "0", choices=("x", "y"), tags={"k": "v"}),
    Target("ttft", Comparison.AT_MOST, 0.2, "s", "ttft_p95<=200ms", statistic="p95"),
    Trial(
        "c",
        "chat",
        1,
        (Block(0, (RequestEvents("r", 1, 2, (ChunkEvent(3, (4, 5)),), 6, 7, 2, 2),), None, None, None, True),),
    ),
    Proposal("x", Rung.EIGHT_BIT, (Step("x", {"group": 64, "sym": True, "name": None}),), "onnx-genai", "why"),
    FidelityText("t", "s", (1, 2, 3), 1, ((1, 2), (3, 4)), ((-0.5, -1.0), (-0.25, -3.0))),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: type(r).__name__)
def test_a_record_survives_json(record: object) -> None:
    assert codec.loads(type(record), codec.dumps(record)) == record


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_are_refused(value: float) -> None:
    with pytest.raises(RecordError, match="cannot hold"):
        codec.dumps(Figure("ttft", "s", value))


def test_unknown_stays_unknown() -> None:
    assert codec.loads(Figure, codec.dumps(Figure("ttft", "s", None))).value is None


def test_equal_records_have_equal_digests_whatever_the_order_of_keys() -> None:
    assert codec.digest({"a": 1, "b": 2}) == codec.digest({"b": 2, "a": 1})


def test_a_path_is_kept_as_text_and_comes_back_as_a_path() -> None:
    assert codec.from_plain(Path, codec.to_plain(Path("/x/y"))) == Path("/x/y")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "Not JSON"),
        ('{"metric":"a","unit":"s","value":"fast"}', "fits none"),
        ('{"metric":"a","unit":"s","value":1.0,"colour":"red"}', "has no field colour"),
        ('{"metric":"a"}', "missing"),
        ('{"metric":"a","unit":"s","value":true}', "fits none"),
    ],
)
def test_text_that_does_not_fit_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(RecordError, match=complaint):
        codec.loads(Figure, text)
