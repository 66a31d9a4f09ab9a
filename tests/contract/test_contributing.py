"""The worked examples of CONTRIBUTING.md, executed as they stand there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paredown import registry
from paredown.contracts import Evidence, LeftOut, PlanFacts, Proposal
from paredown.records.artifact import ModelFacts
from paredown.records.events import Block, ChunkEvent, RequestEvents, Trial
from paredown.records.figure import Samples
from paredown.records.golden import Answer, GoldenItem
from paredown.records.machine import Machine
from paredown.records.traffic import Message
from paredown.testing.extension import declare

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text()
EXAMPLES = dict(re.findall(r"```python (\S+)\n(.*?)```", TEXT, flags=re.DOTALL))


def facts(cores: int) -> PlanFacts:
    shape = {"layers": 2, "hidden_size": 64, "heads": 4, "kv_heads": 2, "head_dim": 16, "vocabulary": 256}
    model = ModelFacts(
        "m", Path("m"), "llama", "bfloat16", 1000, 900, context_length=512, tied_head=True, kv_bytes_per_token=64,
        linears=(), has_chat_template=True, **shape,
    )  # fmt: skip
    return PlanFacts(model, Machine("", "Linux", "cpu", cores, cores, (), 2**34, (), {}))


@pytest.fixture(autouse=True)
def extension(tmp_path: Path) -> Iterator[None]:
    """An installed package, outside paredown, that holds the examples and declares them as entry points."""
    package = tmp_path / "paredown_examples"
    declared: dict[str, dict[str, str]] = {}
    for name, code in EXAMPLES.items():
        kind, file = name.split("/")
        (package / kind).mkdir(parents=True, exist_ok=True)
        (package / kind / file).write_text(code)
        stem = file.removesuffix(".py")
        declared.setdefault(kind, {})[stem] = f"paredown_examples.{kind}.{stem}:{registry.KINDS[kind]}"
    declare(tmp_path, declared)
    sys.path.insert(0, str(tmp_path))
    yield
    sys.path.remove(str(tmp_path))
    for module in [name for name in sys.modules if name.startswith("paredown_examples")]:
        del sys.modules[module]


def test_the_page_has_the_three_examples() -> None:
    assert set(EXAMPLES) == {"metrics/longest_gap.py", "scorers/starts_with.py", "techniques/one_thread.py"}


def test_the_metric_of_the_page_measures_the_longest_gap() -> None:
    chunks = tuple(ChunkEvent(at, (1,)) for at in (10**9, 2 * 10**9, 5 * 10**9))
    request = RequestEvents("r", 0, 0, chunks, 6 * 10**9, 4, 3, 3)
    trial = Trial("c", "chat", 1, (Block(0, (request,), None, None, None, True),))
    assert registry.metric("longest_gap").compute(Evidence(trial)) == Samples("longest_gap", "s", (3.0,))


def test_the_metric_of_the_page_says_missing_without_a_trial() -> None:
    found = registry.metric("longest_gap").compute(Evidence())
    assert isinstance(found, Samples)
    assert found.missing
    assert found.values == ()


@pytest.mark.parametrize(("text", "value"), [(" Paris, of course", 1.0), ("It is Paris", 0.0)])
def test_the_scorer_of_the_page_looks_at_the_start(text: str, value: float) -> None:
    item = GoldenItem("a", "facts", "starts_with", (Message("user", "Capital of France?"),), "Paris")
    assert registry.scorer("starts_with").score(item, Answer("a", text=text)).value == value


def test_the_scorer_of_the_page_refuses_an_item_without_an_answer() -> None:
    item = GoldenItem("a", "facts", "starts_with", (Message("user", "?"),), "")
    with pytest.raises(ValueError, match="'answer' is empty"):
        registry.scorer("starts_with").check(item)


def test_the_technique_of_the_page_offers_a_setting_where_there_are_cores_and_says_why_not_elsewhere() -> None:
    technique = registry.technique("one_thread")
    (offer,) = technique.propose(facts(cores=4))
    assert isinstance(offer, Proposal)
    assert offer.engine_options == {"threads": 1}
    (left_out,) = technique.propose(facts(cores=1))
    assert isinstance(left_out, LeftOut)
    assert "one core" in left_out.reason


def test_an_example_is_listed_beside_the_package_s_own_plug_ins() -> None:
    assert "one_thread" in registry.names("techniques")
