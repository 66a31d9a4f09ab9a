"""A step becomes an artifact in a worker process: once, whole, and with a classed error when it does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paredown import registry
from paredown.contracts import Technique
from paredown.errors import DiskFullError, TechniqueError, TechniqueOutOfMemory, UserError
from paredown.models import artifact
from paredown.optimize import apply
from paredown.records.artifact import Artifact
from paredown.records.candidate import Rung, Step
from paredown.testing import fake_models

PLUG_IN = '''
"""A technique outside paredown that does what its option says."""
import errno, json, os, shutil, signal, time
from pathlib import Path
from paredown.contracts import Applied, Option, Technique
from paredown.errors import UserError
from paredown.records.artifact import LayerLeft
from paredown.records.candidate import Rung

def apply(context):
    wanted = context.options["wanted"]
    context.report(0.25, "begun")
    print("a library that prints")
    (context.checkpoints / "seen").open("a").write("x")
    if wanted == "killed": os.kill(os.getpid(), signal.SIGKILL)
    if wanted == "memory": raise MemoryError
    if wanted == "disk": raise OSError(errno.ENOSPC, "No space left on device")
    if wanted == "user": raise UserError("ask otherwise")
    if wanted == "bug": raise ValueError("the reason")
    if wanted == "exit": os._exit(0)
    if wanted == "hang":
        context.report(0.5, str(os.getpid()))
        time.sleep(600)
    if wanted == "nothing": return Applied()
    if wanted == "nonsense": (context.out / "fake.json").write_text("{}"); return Applied()
    for file in context.sources["main"].path.iterdir(): shutil.copy(file, context.out)
    script = json.loads((context.out / "fake.json").read_text())
    (context.out / "fake.json").write_text(json.dumps({**script, "weight_bytes": context.options["weight_bytes"]}))
    return Applied(layers_left=(LayerLeft("head", "because", 16.0),), notes=(os.environ["HF_HUB_OFFLINE"],))

TECHNIQUE = Technique(
    name="on_demand", summary="s", trade_off="t", rung=Rung.FOUR_BIT, consumes=("fake",), produces="fake",
    propose=lambda facts: [], apply=apply, options=(Option("wanted", "shrink", "what to do"),),
)
'''

Make = Callable[..., Artifact]


@pytest.fixture
def technique(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Technique:
    place = tmp_path / "extension"
    information = place / "on_demand-1.0.dist-info"
    information.mkdir(parents=True)
    (place / "on_demand_technique.py").write_text(PLUG_IN)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: on-demand\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[paredown.techniques]\non_demand = on_demand_technique:TECHNIQUE\n")
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setenv("PYTHONPATH", str(place))
    return registry.technique("on_demand")


@pytest.fixture
def source(tmp_path: Path) -> Artifact:
    made = fake_models.make(tmp_path / "source")
    return artifact.describe(made, format="fake", parameters=500_000)


@pytest.fixture
def make(technique: Technique, source: Artifact, tmp_path: Path) -> Make:
    def run(wanted: str = "shrink", **more: Any) -> Artifact:
        options = {"wanted": wanted, "weight_bytes": 250_000, **more.pop("options", {})}
        return apply.make(
            more.pop("technique", technique),
            Step("on_demand", options),
            {"main": source},
            cache=tmp_path / "cache",
            parameters=500_000,
            on_progress=more.pop("on_progress", lambda fraction, what: None),
            **more,
        )

    return run


def left_behind(tmp_path: Path) -> list[str]:
    place = tmp_path / "cache" / "artifacts"
    return [path.name for path in place.iterdir() if not path.name.endswith(".lock")]


def test_sizes_are_read_from_the_files_and_what_was_left_is_kept(make: Make, source: Artifact) -> None:
    made = make()

    assert made.weight_bytes == 250_000
    assert made.bits_per_parameter == 4.0
    assert [layer.reason for layer in made.layers_left] == ["because"]
    assert (made.technique, made.format, made.options["wanted"]) == ("on_demand", "fake", "shrink")
    assert made.digest != source.digest
    assert (made.path / "fake.json").is_file()


def test_workers_do_not_ask_the_hub(make: Make) -> None:
    assert make().notes == ("1",)


def test_progress_is_passed_on_whatever_the_library_prints(make: Make) -> None:
    heard: list[tuple[float, str]] = []

    make(on_progress=lambda fraction, what: heard.append((fraction, what)))

    assert (0.25, "begun") in heard
    assert heard[-1][0] == 1.0


def test_the_same_step_is_made_once(make: Make) -> None:
    first = make()
    second = make(on_progress=lambda fraction, what: pytest.fail(f"made again: {what}"))

    assert second == first


@pytest.mark.parametrize("damage", ["record", "file", "size"])
def test_an_artifact_that_was_damaged_in_the_cache_is_made_again(make: Make, damage: str) -> None:
    first = make()
    if damage == "record":
        (first.path.parent / "artifact.json").write_text("{broken")
    elif damage == "file":
        (first.path / "byte_tokenizer.json").unlink()
    else:
        (first.path / "fake.json").write_text("{}")

    assert make() == first
    assert (first.path / "byte_tokenizer.json").is_file()


def test_other_options_make_another_artifact(make: Make) -> None:
    assert make().path != make(options={"weight_bytes": 240_000}).path


def test_the_key_holds_everything_that_decides_the_content(
    technique: Technique, source: Artifact, tmp_path: Path
) -> None:
    text, other_text = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    text.write_text("{}")
    other_text.write_text('{"text": "other"}')
    step = Step("on_demand", {"x": 1})
    base = apply.content_key(technique, step, {"main": source}, text, 0)

    others = [
        apply.content_key(dataclasses.replace(technique, version=2), step, {"main": source}, text, 0),
        apply.content_key(technique, Step("on_demand", {"x": 2}), {"main": source}, text, 0),
        apply.content_key(technique, step, {"main": dataclasses.replace(source, digest="other")}, text, 0),
        apply.content_key(technique, step, {"main": source}, other_text, 0),
        apply.content_key(technique, step, {"main": source}, None, 0),
        apply.content_key(technique, step, {"main": source}, text, 1),
    ]
    moved = apply.content_key(technique, step, {"main": dataclasses.replace(source, path=Path("/x"))}, text, 0)

    assert len({base, *others}) == 7
    assert moved == base


@pytest.mark.parametrize(
    ("wanted", "error", "sentence"),
    [
        ("bug", TechniqueError, "on_demand failed: ValueError: the reason"),
        ("memory", TechniqueOutOfMemory, "ran out of memory"),
        ("disk", DiskFullError, "is full"),
        ("user", UserError, "ask otherwise"),
        ("killed", TechniqueError, "was killed by SIGKILL"),
        ("exit", TechniqueError, "ended with status 0 before it was done"),
        ("nothing", TechniqueError, "wrote nothing"),
        ("nonsense", TechniqueError, "cannot be read"),
    ],
)
def test_failures_are_classed_and_leave_nothing(
    make: Make, tmp_path: Path, wanted: str, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        make(wanted)

    assert left_behind(tmp_path) == []


def test_a_failure_keeps_the_log_and_the_traceback(make: Make) -> None:
    with pytest.raises(TechniqueError) as caught:
        make("bug")

    assert "a library that prints" in caught.value.detail
    assert "Traceback" in caught.value.detail


def test_checkpoints_survive_a_kill_and_go_when_the_artifact_is_there(make: Make, tmp_path: Path) -> None:
    with pytest.raises(TechniqueError):
        make("killed")
    seen = next((tmp_path / "cache" / "checkpoints").glob("*/seen"))
    assert seen.read_text() == "x"
    with pytest.raises(TechniqueError):
        make("killed")
    assert seen.read_text() == "xx"

    make()

    assert len(list((tmp_path / "cache" / "checkpoints").iterdir())) == 1


@pytest.mark.slow
def test_a_worker_that_takes_too_long_is_stopped(make: Make) -> None:
    heard: list[str] = []

    with pytest.raises(TechniqueError, match="was not finished within 5 s"):
        make("hang", timeout_s=5, on_progress=lambda fraction, what: heard.append(what))

    assert not Path(f"/proc/{heard[-1]}").exists()


def test_an_interrupt_stops_the_worker_and_leaves_nothing(make: Make, tmp_path: Path) -> None:
    heard: list[str] = []

    def interrupt(fraction: float, what: str) -> None:
        heard.append(what)
        if fraction == 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make("hang", on_progress=interrupt)

    assert left_behind(tmp_path) == []
    assert not Path(f"/proc/{heard[-1]}").exists()


def test_a_technique_that_only_sets_options_makes_no_artifact(make: Make, technique: Technique) -> None:
    with pytest.raises(TechniqueError, match="only sets options"):
        make(technique=dataclasses.replace(technique, apply=None))


def test_a_step_that_needs_calibration_is_refused_without_it(make: Make, technique: Technique) -> None:
    needy = dataclasses.replace(technique, needs=dataclasses.replace(technique.needs, calibration=True))

    with pytest.raises(UserError, match="needs calibration text"):
        make(technique=needy)


def test_matrices_left_above_the_rungs_bits_are_listed(make: Make, technique: Technique) -> None:
    assert technique.rung is Rung.FOUR_BIT

    made = make(options={"weight_bytes": 1_000_000, "note": "16 bits a weight"})

    assert [(layer.name, layer.bits) for layer in made.layers_left] == [("head", 16.0), ("weights", 16.0)]
