"""The sentence names what limits which phase, and the rung that shortens most of a request's time."""

from __future__ import annotations

from pathlib import Path

import pytest

from paredown.profile.diagnosis import bottleneck, remedy_for
from paredown.records.artifact import ModelFacts
from paredown.records.bottleneck import Bound, Placement
from paredown.records.candidate import Rung
from paredown.records.machine import Bandwidth, Ceilings, MatrixRate
from paredown.records.measurement import OperatorRow, OperatorTable

GB = 10**9
FACTS = ModelFacts(
    name="m", path=Path(), architecture="a", dtype="bfloat16", parameters=GB, active_parameters=GB, layers=2,
    hidden_size=4, heads=2, kv_heads=1, head_dim=2, vocabulary=10, context_length=100, tied_head=True,
    kv_bytes_per_token=1000, linears=(), has_chat_template=True,
)  # fmt: skip
CEILINGS = Ceilings(
    (Bandwidth(GB // 4, 40e9), Bandwidth(GB, 20e9)), (MatrixRate("float32", 1e11), MatrixRate("int8", 4e11))
)


def placed(
    phase: str, batch: int, bound: Bound, *, measured_s: float = 0.125, tokens: int = 100, bits: float = 16,
    compute_dtype: str = "float32", fraction: float = 0.8,
) -> Placement:  # fmt: skip
    """A phase whose larger floor explains `fraction` of its time; the other floor is a tenth of that."""
    moved = round(GB * bits / 8) + batch * tokens * FACTS.kv_bytes_per_token
    fraction = 0.4 if bound is Bound.OVERHEAD else fraction
    larger, smaller = fraction * measured_s, 0.1 * fraction * measured_s
    memory, compute = (smaller, larger) if bound is Bound.COMPUTE else (larger, smaller)
    return Placement(
        "c", phase, batch, tokens, measured_s, moved, round(1e11 * compute), memory, compute, fraction, bound, "",
        compute_dtype=compute_dtype,
    )  # fmt: skip


MEMORY, COMPUTE, OVERHEAD = Bound.MEMORY, Bound.COMPUTE, Bound.OVERHEAD


@pytest.mark.parametrize(
    ("first", "last", "prefill", "rung", "says"),
    [
        (MEMORY, MEMORY, COMPUTE, Rung.EIGHT_BIT, ["Decode at batch 1 is memory-bound", "still memory-bound"]),
        (
            MEMORY,
            COMPUTE,
            COMPUTE,
            Rung.EIGHT_BIT,
            ["Decode at batch 1 is memory-bound", "Decode at batch 16 is compute-bound", "8-bit weights"],
        ),
        (
            OVERHEAD,
            OVERHEAD,
            COMPUTE,
            Rung.LOSSLESS,
            [
                "Decode at batch 16 is still overhead-bound",
                "Prefill of 100 tokens needs something else: the 8-bit rung",
            ],
        ),
        (
            OVERHEAD,
            MEMORY,
            MEMORY,
            Rung.LOSSLESS,
            ["so that the batch hides the overhead", "Decode at batch 16 needs something else: the 8-bit rung"],
        ),
        (COMPUTE, COMPUTE, COMPUTE, Rung.EIGHT_BIT, ["multiplied as integers"]),
        (MEMORY, OVERHEAD, MEMORY, Rung.EIGHT_BIT, ["Decode at batch 16 needs something else: the lossless rung"]),
    ],
)
def test_decode_decides_when_it_takes_most_of_the_time(
    first: Bound, last: Bound, prefill: Bound, rung: Rung, says: list[str]
) -> None:
    placements = [placed("decode", 16, last), placed("decode", 4, OVERHEAD), placed("decode", 1, first)]
    found = bottleneck([*placements, placed("prefill", 1, prefill, measured_s=1.0)], [], FACTS, CEILINGS)

    assert found.rung is rung
    assert "Decode takes 94% of the time of a request of 100 prompt and 128 answer tokens" in found.sentence
    assert "batch 4" not in found.sentence
    for words in says:
        assert words in found.sentence


def test_prefill_decides_when_it_takes_most_of_the_time() -> None:
    slow = placed("prefill", 1, COMPUTE, measured_s=48.0, tokens=4000)
    short = placed("prefill", 1, OVERHEAD, measured_s=0.1, tokens=10)
    found = bottleneck([placed("decode", 1, OVERHEAD), short, slow], [], FACTS, CEILINGS)

    assert found.rung is Rung.EIGHT_BIT
    assert "Prefill takes 75% of the time of a request of 4000 prompt and 128 answer tokens" in found.sentence


@pytest.mark.parametrize(
    ("placement", "rung", "at_most"),
    [
        # 100 of 125 ms are floor: 25 ms stay. 2 GB become 1 GB at the same bandwidth (kept cache: 0.1 MB).
        (placed("decode", 1, MEMORY), Rung.EIGHT_BIT, 125 / (25 + 50)),
        # 1 GB becomes 0.5 GB, which is still read at 20 GB/s or better: 40 GB/s from 250 MB on
        (placed("decode", 1, MEMORY, bits=8), Rung.FOUR_BIT, 125 / (25 + 0.5e9 / 40e9 * 1e3)),
        (placed("decode", 1, MEMORY, bits=4.5), Rung.STRUCTURE, None),
        (placed("decode", 1, OVERHEAD), Rung.LOSSLESS, 1 / 0.4),
        (placed("prefill", 1, COMPUTE), Rung.EIGHT_BIT, 125 / (25 + 25)),
        (placed("prefill", 1, COMPUTE, compute_dtype="int8"), Rung.STRUCTURE, 125 / (25 + 75)),
    ],
)
def test_the_gain_is_what_amdahl_leaves(placement: Placement, rung: Rung, at_most: float | None) -> None:
    found = remedy_for(placement, FACTS, CEILINGS)

    assert found.rung is rung
    if at_most is not None:
        assert found.at_most == pytest.approx(at_most, rel=0.01)


def test_without_faster_integers_compute_bound_work_needs_a_smaller_structure() -> None:
    slow_integers = Ceilings(CEILINGS.bandwidth, (MatrixRate("float32", 1e11), MatrixRate("int8", 0.9e11)))

    assert remedy_for(placed("prefill", 1, COMPUTE), FACTS, slow_integers).rung is Rung.STRUCTURE


def test_where_the_cache_is_most_of_the_bytes_it_is_the_cache_that_must_shrink() -> None:
    found = remedy_for(placed("decode", 16, MEMORY, tokens=200_000), FACTS, CEILINGS)

    assert "KV cache" in found.what


def test_halving_the_bytes_gains_no_more_than_the_other_floor_allows() -> None:
    balanced = Placement("c", "decode", 8, 1, 0.1, 2 * GB, 9 * GB, 0.1, 0.09, 1.0, MEMORY, "")

    assert remedy_for(balanced, FACTS, CEILINGS).at_most == pytest.approx(0.1 / 0.09)


@pytest.mark.parametrize(
    ("framework_s", "says"),
    [(0.6, "60% of a decode step is outside any operator"), (0.1, "operators take 90% of a decode step, aten::mm")],
)
def test_overhead_is_told_apart_by_the_operator_table(framework_s: float, says: str) -> None:
    table = OperatorTable("decode", 1, 100, 4, 1.0, framework_s, (OperatorRow("aten::mm", 9, 0.3, 0.7),))

    assert says in bottleneck([placed("decode", 1, OVERHEAD)], [table], FACTS, CEILINGS).sentence
    assert "operator" not in bottleneck([placed("decode", 1, MEMORY)], [table], FACTS, CEILINGS).sentence


def test_only_one_phase_is_enough() -> None:
    found = bottleneck([placed("prefill", 1, COMPUTE)], [], FACTS, CEILINGS)

    assert (found.rung, "Only prefill could be placed" in found.sentence) == (Rung.EIGHT_BIT, True)


def test_steps_faster_than_their_floor_are_said_to_be_so() -> None:
    found = bottleneck([placed("decode", 1, MEMORY, fraction=1.2)], [], FACTS, CEILINGS)

    assert "Steps faster than their floor" in found.sentence
    assert "Steps faster" not in bottleneck([placed("decode", 1, MEMORY)], [], FACTS, CEILINGS).sentence


def test_without_any_placement_no_rung_is_named_and_the_reason_is() -> None:
    found = bottleneck([], [], FACTS, Ceilings((), (), {"bandwidth": "too little memory"}))

    assert found.rung is None
    assert "bandwidth: too little memory" in found.sentence
