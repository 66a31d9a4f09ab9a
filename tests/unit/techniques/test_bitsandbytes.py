"""What the bitsandbytes techniques propose, in figures worked out by hand."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import PlanFacts
from paredown.records.artifact import LinearShape, ModelFacts
from paredown.records.candidate import LeftOut, Proposal
from paredown.records.machine import Accelerator, Machine

FACTS = ModelFacts(
    name="m",
    path=Path("/no/such/model"),
    architecture="LlamaForCausalLM",
    dtype="bfloat16",
    parameters=100_000,
    active_parameters=90_000,
    layers=1,
    hidden_size=64,
    heads=1,
    kv_heads=1,
    head_dim=64,
    vocabulary=100,
    context_length=512,
    tied_head=False,
    kv_bytes_per_token=256,
    linears=(LinearShape("mlp.up_proj", 1024, 64, 1), LinearShape("lm_head", 100, 64, 1)),
    has_chat_template=True,
)
CPU = Machine("x", "Linux", "p", 2, 2, (), 2**34, (), {})


def answer(name: str, model: ModelFacts = FACTS, machine: Machine = CPU) -> Proposal | LeftOut:
    (found,) = registry.technique(name).propose(PlanFacts(model, machine))
    return found


def test_int8_predicts_a_byte_a_weight_and_a_scale_a_row() -> None:
    found = answer("bitsandbytes_int8")

    assert isinstance(found, Proposal)
    # 65,536 weights of one byte, 1,024 scales of four, 34,464 weights of two.
    assert found.prediction.weight_bytes == 65_536 + 4_096 + 68_928
    assert found.prediction.decode_speed_ratio is None


def test_nf4_predicts_half_a_byte_a_weight_and_a_scale_a_block() -> None:
    found = answer("bitsandbytes_nf4")

    assert isinstance(found, Proposal)
    assert found.prediction.weight_bytes == 32_768 + 4 * 1_024 + 68_928


def test_the_speed_limit_of_nf4_is_the_ratio_of_bytes_read() -> None:
    found = answer("bitsandbytes_nf4")

    assert isinstance(found, Proposal)
    saved = 65_536 * (2 - 0.5 - 4 / 64)
    assert found.prediction.decode_speed_ratio == pytest.approx(180_000 / (180_000 - saved))


@pytest.mark.parametrize("name", ["bitsandbytes_int8", "bitsandbytes_nf4"])
def test_experts_and_head_are_not_counted(name: str) -> None:
    experts = dataclasses.replace(FACTS, linears=(LinearShape("mlp.experts.up_proj", 64, 64, 16), FACTS.linears[1]))

    found = answer(name, experts)

    assert isinstance(found, LeftOut)
    assert "hardly any weight" in found.reason


@pytest.mark.parametrize("name", ["bitsandbytes_int8", "bitsandbytes_nf4"])
def test_weights_that_are_quantized_already_are_left_out(name: str) -> None:
    found = answer(name, dataclasses.replace(FACTS, dtype="float8_e4m3fn"))

    assert isinstance(found, LeftOut)


def test_rows_that_the_cpu_kernel_cannot_take_are_left_out_on_a_cpu_only() -> None:
    odd = dataclasses.replace(FACTS, linears=(LinearShape("mlp.up_proj", 1000, 64, 1),))
    gpu = dataclasses.replace(CPU, accelerators=(Accelerator("H200", 2**37, "570", "9.0"),))

    on_cpu = answer("bitsandbytes_nf4", odd)

    assert isinstance(on_cpu, LeftOut)
    assert "mlp.up_proj has 1000" in on_cpu.reason
    assert isinstance(answer("bitsandbytes_nf4", odd, gpu), Proposal)
