"""What the ONNX techniques propose, from facts alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import PlanFacts
from paredown.models import onnx_export
from paredown.records.artifact import LinearShape, ModelFacts
from paredown.records.candidate import LeftOut, Proposal, Rung
from paredown.records.machine import Machine

MACHINE = Machine("host", "linux", "cpu", 2, 2, (), 2**33, (), {})
LINEARS = (
    LinearShape("mlp.down_proj", 576, 1536, 30),
    LinearShape("mlp.gate_proj", 1536, 576, 30),
    LinearShape("mlp.up_proj", 1536, 576, 30),
    LinearShape("self_attn.k_proj", 192, 576, 30),
    LinearShape("self_attn.o_proj", 576, 576, 30),
    LinearShape("self_attn.q_proj", 576, 576, 30),
    LinearShape("self_attn.v_proj", 192, 576, 30),
)
SMALL = ModelFacts(
    name="small", path=Path("small"), architecture="LlamaForCausalLM", dtype="bfloat16", parameters=134515008,
    active_parameters=134479872, layers=30, hidden_size=576, heads=9, kv_heads=3, head_dim=64, vocabulary=49152,
    context_length=8192, tied_head=True, kv_bytes_per_token=23040, linears=LINEARS, has_chat_template=True,
)  # fmt: skip


def proposal(name: str, facts: ModelFacts = SMALL) -> Proposal | LeftOut:
    (offer,) = registry.technique(name).propose(PlanFacts(facts, MACHINE))
    return offer


@pytest.mark.parametrize(
    ("name", "rung", "stored"),
    # What the builder of onnxruntime-genai 0.18 wrote for exactly these shapes.
    [
        ("onnx_fp32", Rung.LOSSLESS, 540157184),
        ("onnx_int8", Rung.EIGHT_BIT, 145122560),
        ("onnx_int4", Rung.FOUR_BIT, 86287616),
    ],
)
def test_the_predicted_size_is_what_the_builder_writes(name: str, rung: Rung, stored: int) -> None:
    offer = proposal(name)
    assert isinstance(offer, Proposal)
    assert offer.rung is rung
    assert offer.prediction.weight_bytes == stored


def test_eight_bits_of_a_tied_model_fit_into_55_percent() -> None:
    offer = proposal("onnx_int8")
    assert isinstance(offer, Proposal)
    assert offer.prediction.weight_bytes is not None
    assert offer.prediction.weight_bytes <= 0.55 * 2 * SMALL.parameters


def test_an_untied_head_keeps_the_embedding_wide_in_the_prediction() -> None:
    tied, untied = proposal("onnx_int8"), proposal("onnx_int8", replace(SMALL, tied_head=False))
    assert isinstance(tied, Proposal)
    assert isinstance(untied, Proposal)
    assert (untied.prediction.weight_bytes or 0) - (tied.prediction.weight_bytes or 0) == 49152 * 576 * 4


def test_a_block_that_does_not_divide_is_halved_and_reported() -> None:
    chosen = onnx_export.choose_block_size(SMALL, 128, (16, 32, 64, 128))
    assert chosen == onnx_export.BlockSize(64, "group 128 does not divide 576; 64 used")


def test_the_adjustment_reaches_the_proposal() -> None:
    narrow = replace(SMALL, hidden_size=96, linears=(LinearShape("mlp.down_proj", 96, 96, 30),))
    offer = proposal("onnx_int8", narrow)
    assert isinstance(offer, Proposal)
    assert offer.steps[0].options == {"block_size": 32}
    assert offer.adjustments == ("group 64 does not divide 96; 32 used",)


@pytest.mark.parametrize("name", ["onnx_int8", "onnx_int4"])
def test_no_block_size_at_all_is_left_out_with_the_reason(name: str) -> None:
    offer = proposal(name, replace(SMALL, hidden_size=90))
    assert isinstance(offer, LeftOut)
    assert "no block size divides" in offer.reason


@pytest.mark.parametrize("name", ["onnx_fp32", "onnx_int8", "onnx_int4"])
def test_an_architecture_that_the_builder_does_not_know_is_left_out(name: str) -> None:
    offer = proposal(name, replace(SMALL, architecture="MambaForCausalLM"))
    assert isinstance(offer, LeftOut)
    assert "MambaForCausalLM" in offer.reason


def test_an_unknown_data_type_makes_no_claim_of_speed() -> None:
    offer = proposal("onnx_int4", replace(SMALL, dtype="float8_e4m3fn"))
    assert isinstance(offer, Proposal)
    assert offer.prediction.decode_speed_ratio is None


@pytest.mark.parametrize("name", ["onnx_fp32", "onnx_int8", "onnx_int4"])
def test_a_model_with_a_window_is_left_out_because_the_library_computes_it_wrongly(name: str) -> None:
    offer = proposal(name, replace(SMALL, architecture="MistralForCausalLM", windowed_layers=30, window=4096))
    assert isinstance(offer, LeftOut)
    assert "window of 4,096 positions" in offer.reason
