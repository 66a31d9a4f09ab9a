"""Floors worked out by hand for a small model, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paredown.profile.roofline import (
    Step,
    active_weight_bytes,
    bandwidth_for,
    place,
    placements,
    steps_of,
    work_of,
)
from paredown.records.artifact import Artifact, ModelFacts, TensorGroup
from paredown.records.bottleneck import Bound
from paredown.records.machine import Bandwidth, Ceilings, MatrixRate
from paredown.testing.scripted_events import block, request, trial

# Two layers with 300 matrix weights in all, a tied head of 10 words × 4.
FACTS = ModelFacts(
    name="m",
    path=Path(),
    architecture="a",
    dtype="bfloat16",
    parameters=340,
    active_parameters=340,
    layers=2,
    hidden_size=4,
    heads=2,
    kv_heads=1,
    head_dim=2,
    vocabulary=10,
    context_length=100,
    tied_head=True,
    kv_bytes_per_token=16,
    linears=(),
    has_chat_template=True,
)
ARTIFACT = Artifact(Path(), "hf", "d", weight_bytes=680, disk_bytes=700, parameters=340)
CEILINGS = Ceilings((Bandwidth(100, 4000.0), Bandwidth(1000, 1000.0)), (MatrixRate("float32", 10_000.0),))


def test_decode_reads_the_weights_once_and_every_cache() -> None:
    # 680 + 3 requests · 16 B · 5 positions; 3 · (2 · 340 + 4 · 2 layers · 2 heads · 2 · 5 positions)
    work = work_of(FACTS, ARTIFACT, Step("decode", 5, 3, 1.0))

    assert (work.bytes_moved, work.operations) == (680 + 240, 3 * (680 + 160))


def test_prefill_computes_the_head_once_and_half_of_the_attention() -> None:
    # 2 · 300 · 5 for the blocks, 2 · 40 for the head, 32 · (5 · 6 / 2) for attention
    work = work_of(FACTS, ARTIFACT, Step("prefill", 5, 1, 1.0))

    assert work.operations == 3000 + 80 + 480


WINDOWED = replace(FACTS, kv_full_layers=1, windowed_layers=1, window=3, kv_unknown="")


def test_a_layer_with_a_window_reads_no_more_than_that() -> None:
    # 16 B for a position in both layers; one keeps 5 positions, the other 3: 4 in the mean. 4 · 2 heads · 2 · (5 + 3)
    work = work_of(WINDOWED, ARTIFACT, Step("decode", 5, 3, 1.0))

    assert (work.bytes_moved, work.operations) == (680 + 3 * 16 * 4, 3 * (680 + 128))


def test_prefill_compares_pairs_within_the_window() -> None:
    # 15 pairs in the full layer; 1 + 2 + 3 + 3 + 3 in the other
    work = work_of(WINDOWED, ARTIFACT, Step("prefill", 5, 1, 1.0))

    assert work.operations == 3000 + 80 + 16 * (15 + 12)


def test_a_cache_that_nobody_describes_is_left_out_of_the_floor() -> None:
    latent = replace(WINDOWED, kv_unknown="a compressed state")
    step = Step("decode", 5, 1, 1.0)

    assert work_of(latent, ARTIFACT, step).bytes_moved == 680
    assert work_of(latent, ARTIFACT, step, kv_bytes_per_token=2).bytes_moved == 680 + 2 * 5


def test_another_phase_is_refused() -> None:
    with pytest.raises(ValueError, match="not 'warm'"):
        work_of(FACTS, ARTIFACT, Step("warm", 5, 1, 1.0))


def group(kind: str, size_bytes: int, elements: int) -> TensorGroup:
    return TensorGroup("x", 1, elements, size_bytes, kind)


def test_an_embedding_that_is_the_head_is_read_and_another_one_is_not() -> None:
    tied = replace(ARTIFACT, groups=(group("matrix", 600, 300), group("embedding", 80, 40), group("scale", 20, 5)))
    untied = replace(tied, groups=(*tied.groups, group("head", 40, 40)))

    assert active_weight_bytes(FACTS, tied) == 700
    assert active_weight_bytes(FACTS, untied) == 660


def test_scales_of_a_quantized_table_that_is_not_read_are_not_read_either() -> None:
    # 340 of the 380 quantized weights are read, and so many of the 38 bytes of scales.
    groups = (group("matrix", 300, 300), group("head", 40, 40), group("embedding", 40, 40), group("scale", 38, 19))

    assert active_weight_bytes(FACTS, replace(ARTIFACT, groups=groups)) == 340 + 34


def test_only_the_experts_that_are_used_are_read() -> None:
    experts = replace(ARTIFACT, groups=(group("matrix", 600, 300), group("head", 80, 40), group("embedding", 9, 4)))

    assert active_weight_bytes(replace(FACTS, active_parameters=170), experts) == 340


def test_without_kinds_the_share_of_active_parameters_is_taken() -> None:
    assert active_weight_bytes(replace(FACTS, parameters=380), replace(ARTIFACT, weight_bytes=760)) == 680


def test_bandwidth_is_taken_at_the_working_set() -> None:
    assert bandwidth_for(CEILINGS, 999) == 4000.0
    assert bandwidth_for(CEILINGS, 5000) == 1000.0
    assert bandwidth_for(CEILINGS, 1) == 4000.0
    assert bandwidth_for(Ceilings((), ()), 1) is None


@pytest.mark.parametrize(
    ("phase", "measured_s", "bound", "says"),
    [
        ("decode", 0.25, Bound.MEMORY, "8-bit, then 4-bit weights"),
        ("decode", 0.40, Bound.OVERHEAD, "another engine"),
        ("prefill", 0.50, Bound.COMPUTE, "narrower arithmetic"),
        ("prefill", 0.70, Bound.OVERHEAD, "better execution"),
    ],
)
def test_the_larger_floor_must_explain_sixty_percent(phase: str, measured_s: float, bound: Bound, says: str) -> None:
    found = place("c", FACTS, ARTIFACT, CEILINGS, Step(phase, 5, 1, measured_s))

    assert found is not None
    assert found.bound is bound
    assert says in found.sentence


def test_the_fraction_is_the_larger_floor_over_the_time() -> None:
    found = place("c", FACTS, ARTIFACT, CEILINGS, Step("decode", 5, 1, 0.5))

    assert found is not None
    assert (found.memory_floor_s, found.compute_floor_s) == (pytest.approx(0.19), pytest.approx(0.084))
    assert found.fraction == pytest.approx(0.38)


def test_a_placement_keeps_the_spread_and_the_type_of_the_arithmetic() -> None:
    found = place("c", FACTS, ARTIFACT, CEILINGS, Step("decode", 5, 1, 0.5, samples=9, low_s=0.4, high_s=0.7))

    assert found is not None
    assert (found.samples, found.low_s, found.high_s, found.compute_dtype) == (9, 0.4, 0.7, "float32")
    assert found.floor_s == pytest.approx(0.19)


def test_faster_than_the_ceiling_is_said_and_not_hidden() -> None:
    found = place("c", FACTS, ARTIFACT, CEILINGS, Step("decode", 5, 1, 0.1))

    assert found is not None
    assert found.fraction > 1
    assert "busier machine" in found.sentence


def test_without_the_ceiling_there_is_no_placement() -> None:
    step = Step("decode", 5, 1, 0.1)

    assert place("c", FACTS, ARTIFACT, CEILINGS, step, compute_dtype="int8") is None
    assert place("c", FACTS, ARTIFACT, replace(CEILINGS, bandwidth=()), step) is None


def test_a_single_stream_shows_prefill_and_decode() -> None:
    single = trial(block(request([100, 150, 200], prompt_tokens=20), request([300, 340, 380], prompt_tokens=22)))

    assert steps_of(single) == (Step("prefill", 21, 1, 0.2), Step("decode", 22, 1, pytest.approx(0.045)))


def test_several_in_flight_show_decode_only() -> None:
    crowd = trial(block(request([100, 150], prompt_tokens=20)), concurrency=8)

    assert [(step.phase, step.batch) for step in steps_of(crowd)] == [("decode", 8)]


def test_a_trial_that_is_void_or_failed_is_not_placed() -> None:
    good = trial(block(request([100, 150], prompt_tokens=20)))
    failed = trial(block(request([], failure="refused")))

    assert len(placements("c", FACTS, ARTIFACT, CEILINGS, [good])) == 2
    assert placements("c", FACTS, ARTIFACT, CEILINGS, [replace(good, void="late"), failed]) == ()
