"""What every technique declares and proposes, whoever wrote it. No technique is imported by name here."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import PlanFacts, Technique
from paredown.models import formats
from paredown.records.artifact import LinearShape, ModelFacts
from paredown.records.candidate import LeftOut, Proposal
from paredown.records.codec import dumps, loads
from paredown.records.machine import Accelerator, Machine

TECHNIQUES = registry.techniques()


def model(
    hidden: int, layers: int, heads: int, kv_heads: int, inner: int, vocabulary: int, **more: object
) -> ModelFacts:
    """A Llama-like model of those sizes."""
    head = hidden // heads
    linears = (
        LinearShape("self_attn.q_proj", hidden, hidden, layers),
        LinearShape("self_attn.k_proj", kv_heads * head, hidden, layers),
        LinearShape("self_attn.v_proj", kv_heads * head, hidden, layers),
        LinearShape("self_attn.o_proj", hidden, hidden, layers),
        LinearShape("mlp.gate_proj", inner, hidden, layers),
        LinearShape("mlp.up_proj", inner, hidden, layers),
        LinearShape("mlp.down_proj", hidden, inner, layers),
    )
    blocks = sum(shape.rows * shape.columns * shape.count for shape in linears)
    table = vocabulary * hidden
    facts = ModelFacts(
        name="m",
        path=Path("/no/such/model"),
        architecture="LlamaForCausalLM",
        dtype="bfloat16",
        parameters=blocks + table,
        active_parameters=blocks + table,
        layers=layers,
        hidden_size=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head,
        vocabulary=vocabulary,
        context_length=2048,
        tied_head=True,
        kv_bytes_per_token=4 * layers * kv_heads * head,
        linears=linears,
        has_chat_template=True,
    )
    return dataclasses.replace(facts, **more)  # type: ignore[arg-type]  # fields by name


def machine(*accelerators: Accelerator, memory_gib: int = 24, sets: tuple[str, ...] = ("avx2",)) -> Machine:
    return Machine("x", "Linux", "a processor", 4, 2, sets, memory_gib * 2**30, accelerators, {})


MODELS = {
    "small": model(576, 30, 9, 3, 1536, 49_152),
    "large table": model(640, 18, 4, 1, 2048, 262_144),
    "7B": model(4096, 32, 32, 8, 14_336, 128_256),
    "odd sizes": model(90, 2, 3, 1, 250, 1000),
    "float32": model(576, 30, 9, 3, 1536, 49_152, dtype="float32"),
    "eight bits already": model(576, 30, 9, 3, 1536, 49_152, dtype="float8_e4m3fn"),
    "no linear layers": model(576, 30, 9, 3, 1536, 49_152, linears=()),
}
MACHINES = {
    "cpu": machine(),
    "server": machine(memory_gib=512, sets=("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8")),
    "gpu": machine(Accelerator("H200", 140 * 2**30, "570", "9.0")),
}
FACTS = {
    f"{model_name}, {machine_name}": PlanFacts(model_facts, machine_facts)
    for model_name, model_facts in MODELS.items()
    for machine_name, machine_facts in MACHINES.items()
    if machine_name == "cpu" or model_name in ("small", "7B")
}


@pytest.fixture(params=TECHNIQUES, ids=lambda technique: technique.name)
def technique(request: pytest.FixtureRequest) -> Technique:
    found: Technique = request.param
    return found


@pytest.fixture(params=FACTS.values(), ids=list(FACTS))
def facts(request: pytest.FixtureRequest) -> PlanFacts:
    found: PlanFacts = request.param
    return found


def proposals(technique: Technique, facts: PlanFacts) -> list[Proposal]:
    return [one for one in technique.propose(facts) if isinstance(one, Proposal)]


def test_it_says_what_it_is_and_what_it_costs(technique: Technique) -> None:
    assert technique.summary
    assert len(technique.trade_off.split()) >= 20


def test_its_formats_can_be_read(technique: Technique) -> None:
    assert technique.consumes
    assert {*technique.consumes, technique.produces} <= set(formats.names())


def test_what_it_needs_is_installable(technique: Technique) -> None:
    assert technique.needs.memory_factor > 0
    assert technique.environment or not technique.needs.packages or technique.needs.extra
    if technique.environment:
        assert all("==" in requirement for requirement in technique.environment.requirements)


def test_its_options_explain_themselves(technique: Technique) -> None:
    names = [option.name for option in technique.options]

    assert len(names) == len(set(names))
    assert all(option.help for option in technique.options)
    assert all(option.default in option.choices for option in technique.options if option.choices)


def test_it_answers_every_model_and_machine(technique: Technique, facts: PlanFacts) -> None:
    answers = technique.propose(facts)

    assert answers
    assert all(isinstance(answer, Proposal | LeftOut) for answer in answers)


def test_proposing_is_pure(technique: Technique, facts: PlanFacts) -> None:
    assert list(technique.propose(facts)) == list(technique.propose(facts))


def test_what_is_left_out_has_a_reason(technique: Technique, facts: PlanFacts) -> None:
    for answer in technique.propose(facts):
        assert answer.reason
        assert answer.rung == technique.rung


def test_names_are_unique(technique: Technique, facts: PlanFacts) -> None:
    names = [answer.name for answer in technique.propose(facts)]

    assert len(names) == len(set(names))


def test_every_step_has_every_option_of_its_technique_and_no_other(technique: Technique, facts: PlanFacts) -> None:
    declared = {option.name: option for option in technique.options}
    for step in (step for proposal in proposals(technique, facts) for step in proposal.steps):
        if step.technique != technique.name:
            continue
        assert set(step.options) == set(declared)
        for name, value in step.options.items():
            assert not declared[name].choices or value in declared[name].choices


def test_the_last_step_makes_what_the_proposal_says(technique: Technique, facts: PlanFacts) -> None:
    for proposal in proposals(technique, facts):
        assert proposal.format == (technique.produces if proposal.steps else proposal.format)
        assert bool(proposal.steps) == (technique.apply is not None)


def test_group_sizes_divide_every_row(technique: Technique, facts: PlanFacts) -> None:
    for step in (step for proposal in proposals(technique, facts) for step in proposal.steps):
        size = step.options.get("group_size", step.options.get("block_size"))
        if isinstance(size, int) and size > 0:
            odd = [shape.name for shape in facts.model.linears if shape.columns % size]
            assert not odd, f"{size} does not divide the rows of {odd}"


def test_predictions_are_positive_and_smaller_than_the_source_where_weights_shrink(
    technique: Technique, facts: PlanFacts
) -> None:
    stored = facts.model.parameters * (4 if facts.model.dtype == "float32" else 2)
    for proposal in proposals(technique, facts):
        expected = proposal.prediction
        assert expected.weight_bytes is None or expected.weight_bytes > 0
        assert expected.decode_speed_ratio is None or expected.decode_speed_ratio > 0
        if expected.weight_bytes is not None and technique.changes_weights and facts.model is MODELS["7B"]:
            assert expected.weight_bytes < stored


def test_a_proposal_survives_the_record(technique: Technique, facts: PlanFacts) -> None:
    for proposal in proposals(technique, facts):
        assert loads(Proposal, dumps(proposal)) == proposal


def test_no_heavy_library_is_loaded_by_declaring_and_proposing() -> None:
    heavy = "{'torch', 'transformers', 'onnx', 'onnxruntime', 'openvino', 'bitsandbytes', 'numpy'}"
    code = (
        f"import sys; from paredown import registry; registry.techniques(); print(sorted({heavy} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
