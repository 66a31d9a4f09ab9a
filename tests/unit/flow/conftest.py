"""A model, prompts and techniques of the fake engine, and a run of the main job on them."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from paredown.evaluate import golden
from paredown.flow import speed
from paredown.flow.progress import Silent
from paredown.flow.run import Finished, run
from paredown.profile import ceilings
from paredown.records.machine import Bandwidth, Ceilings, MatrixRate
from paredown.spec.load import from_mapping
from paredown.testing import extension, fake_models, fake_techniques

CEILINGS = Ceilings((Bandwidth(2**28, 30e9),), (MatrixRate("float32", 150e9), MatrixRate("bfloat16", 400e9)))
TRAFFIC = "load_shape: single_stream\nsummary: short\nrequests:\n" + "".join(
    f"  - {{id: r{i}, messages: [{{role: user, content: 'Tell me about number {i}.'}}], output_tokens: 8}}\n"
    for i in range(24)
)
TARGETS = ("decode_speed>=1.3x", "weight_bytes<=60%", "quality_drop<=8pt")


def write_prompts(path: Path, count: int, first: int = 0) -> Path:
    """Two slices; one prompt in six is generated, the others are choices."""
    rows: list[dict[str, object]] = []
    for i in range(first, first + count):
        row: dict[str, object] = {"id": f"i{i}", "slice": ("facts", "reasoning")[i % 2]}
        if i % 6:
            row |= {"prompt": f"Question number {i}?", "choices": ["yes", "no", "maybe"], "answer": i % 3}
        else:
            row |= {"prompt": f"Say word {i}.", "answer": f"word{i}"}
        rows.append(row)
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


@dataclass(frozen=True)
class World:
    """Where everything of a test lies."""

    directory: Path
    model: Path
    prompts: Path
    traffic: Path

    def spec(self, **changes: object):
        settings: dict[str, object] = {
            "model": str(self.model),
            "golden": [str(self.prompts)],
            "traffic": [str(self.traffic)],
            "targets": list(TARGETS),
            "cache": str(self.directory / "cache"),
        }
        return from_mapping({**settings, **changes}, "test")

    def run(self, name: str, **changes: object) -> Finished:
        return run(self.spec(**changes), self.directory / name, Silent())


def build(directory: Path) -> World:
    prompts = write_prompts(directory / "prompts.jsonl", 240)
    script = dataclasses.replace(
        fake_models.SENSIBLE, speeds=fake_models.fast(5_000), right_fraction={"": 0.9}, weight_bytes=1_000_000
    )
    model = fake_models.make(directory / "model", script, items=golden.load([str(prompts)]).items)
    traffic = directory / "short.yaml"
    traffic.write_text(TRAFFIC)
    return World(directory, model, prompts, traffic)


@pytest.fixture(scope="module")
def plug_ins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The fake techniques, declared to this process and to workers that it starts."""
    directory = extension.declare(tmp_path_factory.mktemp("plug-ins"), fake_techniques.DECLARED)
    before = os.environ.get("PYTHONPATH")
    sys.path.insert(0, str(directory))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(directory), before)))
    yield directory
    sys.path.remove(str(directory))
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="module")
def short_measurements() -> Iterator[None]:
    """Measuring the machine takes ten seconds and is tested elsewhere; fewer and shorter blocks are enough here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ceilings, "measure", lambda: CEILINGS)
        patch.setattr(speed, "KV_PROBE_TOKENS", 4)
        patch.setattr(speed, "FINAL_BLOCKS", 2)
        patch.setattr(speed, "CONTROL_BLOCKS", 1)
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, plug_ins: Path, short_measurements: None) -> World:
    return build(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def finished(world: World) -> Finished:
    """One whole run that ships at the 8-bit rung; shared by the tests that only look at it."""
    return world.run("finished", techniques={"only": ["fake_lossless", "fake_8bit", "fake_crash", "fake_4bit"]})
