"""The audit with the built-in model's own tokenizer and template, on real prose, questions and source code."""

from __future__ import annotations

import sysconfig
from importlib import resources
from pathlib import Path

import pytest

from paredown.evaluate import golden
from paredown.flow import auditing
from paredown.flow.progress import Silent
from paredown.records.audit import Finding
from paredown.spec.load import from_mapping
from paredown.traffic import load

pytestmark = pytest.mark.real


def audit(cache: Path, directory: Path, text: str | None = None, **settings: object) -> dict[str, Finding]:
    if text is not None:
        path = directory / "calibration.txt"
        path.write_text(text, encoding="utf-8")
        settings["calibration"] = str(path)
    spec = from_mapping({"model": "demo", "cache": str(cache), **settings}, "test")
    return {one.kind: one for one in auditing.run(spec, Silent()).findings}


def prose() -> str:
    folder = resources.files("paredown.builtin") / "plain"
    asked = [message.content for request in load.load("long").requests for message in request.messages]
    texts = [(folder / f"english-{name}.txt").read_text("utf-8") for name in ("essay", "science", "story")]
    return "\n\n".join([*texts, *asked])


def source_code() -> str:
    modules = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[10:30]
    return "\n\n".join(module.read_text("utf-8", errors="ignore") for module in modules)


@pytest.mark.parametrize("golden", ["builtin", "builtin:short_facts", "builtin:reasoning"])
def test_prose_passes_and_source_code_does_not(cache: Path, tmp_path: Path, golden: str) -> None:
    like, unlike = (audit(cache, tmp_path, text, golden=[golden]) for text in (prose(), source_code()))
    assert "calibration unlike production" not in like
    assert "symbols" in unlike["calibration unlike production"].sentence


def test_the_built_in_prompts_lose_nothing_in_the_tokenizer_or_the_template(cache: Path, tmp_path: Path) -> None:
    found = audit(cache, tmp_path)
    assert not set(found) - {"few items"}


def test_golden_prompts_planted_in_a_long_text_are_found(cache: Path, tmp_path: Path) -> None:
    planted = [item for item in golden.load(["builtin:reasoning"]).items if "sensible" not in item.id][::25]
    asked = ["\n".join(message.content for message in item.messages) for item in planted]
    found = audit(cache, tmp_path, "\n\n".join([prose(), *asked, prose()]), golden=["builtin:reasoning"])
    assert set(found["calibration overlap"].items) == {item.id for item in planted}
