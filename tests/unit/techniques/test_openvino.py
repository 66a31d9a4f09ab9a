"""What the OpenVINO techniques propose, from facts alone, and what they count in a model's XML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import PlanFacts
from paredown.errors import TechniqueError
from paredown.models import openvino_export
from paredown.records.artifact import LinearShape, ModelFacts
from paredown.records.candidate import LeftOut, Proposal
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
XML = """<net><layers>
<layer id="0" type="Const"><data element_type="u8" shape="4, 8" offset="0" size="32"/></layer>
<layer id="1" type="Const"><data element_type="f16" shape="4" offset="32" size="8"/></layer>
<layer id="2" type="Const"><data element_type="u8" shape="4, 8" offset="0" size="32"/></layer>
</layers></net>"""


def proposal(name: str, facts: ModelFacts = SMALL) -> Proposal | LeftOut:
    (offer,) = registry.technique(name).propose(PlanFacts(facts, MACHINE))
    return offer


@pytest.mark.parametrize(
    ("name", "stored"),
    # What optimum-intel 2.2 with nncf 3.4 wrote for exactly these shapes.
    [("openvino_fp16", 269030094), ("openvino_int8", 135234584), ("openvino_int4", 85831064)],
)
def test_the_predicted_size_is_within_half_a_percent_of_what_is_written(name: str, stored: int) -> None:
    offer = proposal(name)
    assert isinstance(offer, Proposal)
    assert offer.prediction.weight_bytes == pytest.approx(stored, rel=0.005)


def test_a_group_that_does_not_divide_is_halved_and_reported() -> None:
    offer = proposal("openvino_int4")
    assert isinstance(offer, Proposal)
    assert offer.steps[0].options == {"group_size": 64}
    assert offer.adjustments == ("group 128 does not divide 576; 64 used",)


def test_a_group_that_divides_needs_no_adjustment() -> None:
    offer = proposal("openvino_int4", replace(SMALL, linears=(LinearShape("mlp.down_proj", 512, 1024, 2),)))
    assert isinstance(offer, Proposal)
    assert offer.adjustments == ()


@pytest.mark.parametrize("name", ["openvino_fp16", "openvino_int8", "openvino_int4"])
def test_an_architecture_that_cannot_be_converted_is_left_out(name: str) -> None:
    offer = proposal(name, replace(SMALL, architecture="MambaForCausalLM"))
    assert isinstance(offer, LeftOut)
    assert "MambaForCausalLM" in offer.reason


def test_constants_that_share_their_bytes_are_counted_once(tmp_path: Path) -> None:
    (tmp_path / "openvino_model.xml").write_text(XML)
    assert openvino_export.count_types(tmp_path) == {"u8": 32, "f16": 8}


def test_a_conversion_that_left_the_weights_wide_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "openvino_model.xml").write_text(XML)
    with pytest.raises(TechniqueError, match="Only 0% of the bytes are of type u4 or i4"):
        openvino_export.check_types(tmp_path, ("u4", "i4"), 0.3)
