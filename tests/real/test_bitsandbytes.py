"""LLM.int8 and NF4 on the built-in model: really smaller, as predicted, and the same model after reloading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paredown import registry
from paredown.contracts import PlanFacts
from paredown.models import artifact
from paredown.optimize import apply
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Proposal, Step
from paredown.records.machine import Machine

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]

CPU = Machine("x", "Linux", "p", 2, 2, (), 2**34, (), {})
TEXT = (
    "The water cycle describes how water moves between the sea, the air and the land. The sun warms the sea, water "
    "rises as vapour, cools in the clouds and falls as rain or snow. Rivers carry it back to the sea, and the cycle "
    "begins again. Plants take part in it too, because their leaves give water back to the air."
)
NF4 = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": "bfloat16"}
NAMES = ["bitsandbytes_int8", "bitsandbytes_nf4"]


def proposal(name: str, facts: ModelFacts) -> Proposal:
    (found,) = registry.technique(name).propose(PlanFacts(facts, CPU))
    assert isinstance(found, Proposal)
    return found


def made(name: str, source: Artifact, cache: Path, **options: Any) -> Artifact:
    technique = registry.technique(name)
    defaults = {option.name: option.default for option in technique.options}
    step = Step(name, {**defaults, **options})
    return apply.make(
        technique, step, {"main": source}, cache=cache, parameters=source.parameters, on_progress=lambda f, w: None
    )


def loaded(path: Path, **more: Any) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(path, dtype="auto", device_map={"": "cpu"}, **more)


def log_probabilities(path: Path) -> Any:
    import torch
    from transformers import AutoTokenizer

    ids = AutoTokenizer.from_pretrained(path)(TEXT, return_tensors="pt").input_ids
    with torch.inference_mode():
        return loaded(path)(ids).logits.float().log_softmax(-1)


@pytest.fixture(scope="module")
def reference(demo: Path) -> Any:
    return log_probabilities(demo)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_as_small_as_predicted(name: str, demo_facts: ModelFacts, demo_artifact: Artifact, cache: Path) -> None:
    found = made(name, demo_artifact, cache)

    assert found.weight_bytes == pytest.approx(proposal(name, demo_facts).prediction.weight_bytes, rel=0.005)
    file = found.path / "model.safetensors"
    assert found.weight_bytes == pytest.approx(file.stat().st_size, rel=0.005)


@pytest.mark.parametrize(("name", "bits"), zip(NAMES, [8.0, 4.0], strict=True))
def test_its_matrices_really_have_these_bits(name: str, bits: float, demo_artifact: Artifact, cache: Path) -> None:
    technique = registry.technique(name)
    found = made(name, demo_artifact, cache)
    (matrices,) = [group for group in found.groups if group.kind == "matrix"]

    assert (matrices.count, matrices.bits) == (210, bits)
    assert artifact.was_optimized(demo_artifact, found, artifact.claimed_bits(technique.rung)).passed is True


@pytest.mark.parametrize("name", NAMES)
def test_what_stays_in_16_bits_is_listed_with_its_reason(name: str, demo_artifact: Artifact, cache: Path) -> None:
    left = {layer.name: layer for layer in made(name, demo_artifact, cache).layers_left}

    assert left.keys() == {"model.embed_tokens", "lm_head"}
    assert left["lm_head"].reason == "it is the embedding table (tied)"
    assert left["model.embed_tokens"].bits == 16.0


@pytest.mark.parametrize(
    ("name", "options", "settings"),
    [
        ("bitsandbytes_int8", {}, {"load_in_8bit": True}),
        ("bitsandbytes_nf4", {}, NF4),
        ("bitsandbytes_nf4", {"double_quantization": True}, NF4 | {"bnb_4bit_use_double_quant": True}),
    ],
)
def test_reloaded_it_is_the_model_that_was_quantized(
    name: str, options: dict[str, Any], settings: dict[str, Any], demo: Path, demo_artifact: Artifact, cache: Path
) -> None:
    import torch
    from transformers import BitsAndBytesConfig

    reloaded = loaded(made(name, demo_artifact, cache, **options).path).state_dict()
    in_memory = loaded(demo, quantization_config=BitsAndBytesConfig(**settings)).state_dict()

    assert reloaded.keys() == in_memory.keys()
    assert [tensor for tensor in in_memory if not torch.equal(reloaded[tensor], in_memory[tensor])] == []


@pytest.mark.parametrize(("name", "lowest", "highest"), [(NAMES[0], 0.0005, 0.05), (NAMES[1], 0.05, 0.6)])
def test_its_answers_are_as_near_as_its_bits_allow(
    name: str, lowest: float, highest: float, reference: Any, demo_artifact: Artifact, cache: Path
) -> None:
    found = log_probabilities(made(name, demo_artifact, cache).path)

    kl_nats = float((reference.exp() * (reference - found)).sum(-1).mean())
    assert lowest < kl_nats < highest


def test_double_quantization_saves_a_third_of_a_bit(demo_artifact: Artifact, cache: Path) -> None:
    plain = made("bitsandbytes_nf4", demo_artifact, cache)
    double = made("bitsandbytes_nf4", demo_artifact, cache, double_quantization=True)

    saved_bits = 8 * (plain.weight_bytes - double.weight_bytes) / 106_168_320
    assert 0.3 < saved_bits < 0.375


@pytest.mark.parametrize("name", NAMES)
def test_tokenizer_and_template_come_along_unchanged(
    name: str, demo: Path, demo_artifact: Artifact, cache: Path
) -> None:
    found = made(name, demo_artifact, cache)

    for file in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
        assert (found.path / file).read_bytes() == (demo / file).read_bytes()
