"""Planted fault: techniques that claim 4 bits and whose weights are still 16-bit, on the real model."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from paredown import registry
from paredown.models import artifact
from paredown.optimize import apply
from paredown.records.artifact import Artifact
from paredown.records.candidate import Step

pytestmark = pytest.mark.real

PLUG_IN = """
import json, shutil
from paredown.contracts import Applied, Option, Technique
from paredown.records.candidate import Rung

def apply(context):
    for file in context.sources["main"].path.iterdir(): shutil.copy(file, context.out)
    if context.options["claim"]:
        config = json.loads((context.out / "config.json").read_text())
        claim = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
        (context.out / "config.json").write_text(json.dumps({**config, "quantization_config": claim}))
    return Applied(notes=("every layer now has 4 bits",))

TECHNIQUE = Technique(
    name="boastful", summary="s", trade_off="t", rung=Rung.FOUR_BIT, consumes=("hf",), produces="bitsandbytes",
    propose=lambda facts: [], apply=apply, options=(Option("claim", True, "say so in config.json"),),
)
"""


@pytest.fixture
def boastful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "extension"
    information = place / "boastful-1.0.dist-info"
    information.mkdir(parents=True)
    (place / "boastful_technique.py").write_text(PLUG_IN)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: boastful\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[paredown.techniques]\nboastful = boastful_technique:TECHNIQUE\n")
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setenv("PYTHONPATH", str(place))


@pytest.mark.usefixtures("boastful")
def test_four_bits_that_are_only_in_the_configuration_are_nothing_optimized(
    demo_artifact: Artifact, tmp_path: Path
) -> None:
    technique = registry.technique("boastful")

    made = apply.make(
        technique,
        Step("boastful", {"claim": True}),
        {"main": demo_artifact},
        cache=tmp_path / "cache",
        parameters=demo_artifact.parameters,
        on_progress=lambda fraction, what: None,
    )
    found = artifact.was_optimized(demo_artifact, made, artifact.claimed_bits(technique.rung))

    assert json.loads((made.path / "config.json").read_text())["quantization_config"]["load_in_4bit"]
    assert made.digest != demo_artifact.digest
    assert found.passed is False
    assert found.detail == (
        "nothing was optimized: the weight matrices hold 16.0 bits per parameter (210 × BF16) where 4 were claimed"
    )
    assert sum("stored as BF16" in layer.reason for layer in made.layers_left) == 8


def test_a_plain_copy_is_nothing_optimized(demo_artifact: Artifact) -> None:
    claimed = dataclasses.replace(demo_artifact, technique="boastful", notes=("4 bits",))

    assert artifact.was_optimized(demo_artifact, claimed, 4.0).passed is False
