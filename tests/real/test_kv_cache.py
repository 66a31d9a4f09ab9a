"""The KV cache of real engines: what is predicted from the configuration is what they allocate, within 5 %."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from paredown import registry
from paredown.contracts import (
    Engine,
    GenerationRequest,
    GenerationSession,
    KvCacheUse,
    OpenContext,
    PlanFacts,
    Proposal,
    Rung,
)
from paredown.engines import openvino_genai
from paredown.models import describe, kv_cache
from paredown.optimize import apply
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.machine import Machine
from paredown.testing import tiny_models

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(1200)]

MACHINE = Machine("host", "linux", "cpu", 2, 2, (), 2**33, (), {})
WINDOW = 24
MAKERS = {"mistral": tiny_models.make_mistral, "gemma2": tiny_models.make_gemma2}
WITHIN = 0.05


def prompt(length: int, seed: int = 0) -> tuple[int, ...]:
    chance = random.Random(seed)
    return tuple(chance.randrange(256) for _ in range(length))


def asked(name: str, length: int, answer: int) -> GenerationRequest:
    return GenerationRequest(name, prompt(length, length), answer, ignore_eos=True)


@contextmanager
def session(engine: str, directory: Path, **options: Any) -> Iterator[GenerationSession]:
    chosen = registry.engine(engine)
    assert chosen.open is not None
    model = chosen.open(OpenContext({"main": directory}, chosen.resolve(None, MACHINE, options)))
    made = model.generation()
    try:
        yield made
    finally:
        made.close()
        model.close()


def use(session: GenerationSession) -> KvCacheUse:
    found = session.kv_cache()
    assert found is not None
    return found


def tokens_of(session: GenerationSession, requests: list[GenerationRequest], joining: int = 0) -> dict[str, list[int]]:
    """All but the last `joining` requests at once; each of those some steps after the one before."""
    found: dict[str, list[int]] = {}
    waiting = list(requests[len(requests) - joining :])
    for request in requests[: len(requests) - joining]:
        session.add(request)
    ended = step = 0
    while ended < len(requests):
        if waiting and step % 5 == 4:
            session.add(waiting.pop(0))
        for output in session.step():
            found.setdefault(output.id, []).extend(output.token_ids)
            ended += bool(output.finish_reason)
        step += 1
    return found


# ── transformers ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_transformers_allocates_what_the_configuration_says(tmp_path: Path) -> None:
    path = tiny_models.make_llama(tmp_path / "m")
    facts = describe.facts(path)
    with session("transformers", path, dtype="float32") as running:
        running.add(asked("a", 100, 20))
        running.step()
        after_prompt = use(running)
        for _ in range(10):
            running.step()

        assert after_prompt == KvCacheUse(kv_cache.kv_bytes(facts, 100, 4.0) or 0, 100)
        assert use(running) == KvCacheUse(kv_cache.kv_bytes(facts, 110, 4.0) or 0, 110)


def test_in_a_batch_every_row_takes_as_much_as_the_longest(tmp_path: Path) -> None:
    path = tiny_models.make_llama(tmp_path / "m")
    facts = describe.facts(path)
    with session("transformers", path, dtype="float32") as running:
        for name, length in (("a", 40), ("b", 10), ("c", 100)):
            running.add(asked(name, length, 20))
        for _ in range(3):
            running.step()

        assert use(running) == KvCacheUse(kv_cache.kv_bytes(facts, 100, 4.0, sequences=3) or 0, 300)
        running.cancel("c")
        assert use(running) == KvCacheUse(kv_cache.kv_bytes(facts, 40, 4.0, sequences=2) or 0, 80)


@pytest.mark.parametrize("family", MAKERS)
def test_layers_with_a_window_keep_no_more_than_their_window(tmp_path: Path, family: str) -> None:
    path = MAKERS[family](tmp_path / "m", window=WINDOW)
    facts = describe.facts(path)
    assert facts.window == WINDOW
    with session("transformers", path, dtype="float32") as running:
        running.add(asked("a", 100, 20))
        running.step()
        after_prompt = use(running)
        for _ in range(10):
            running.step()
        found, predicted = use(running), kv_cache.kv_bytes(facts, 110, 4.0)

    assert predicted is not None
    assert predicted < 0.7 * (kv_cache.kv_bytes_without_window(facts, 110, 4.0) or 0)
    assert after_prompt.allocated_bytes == pytest.approx(kv_cache.kv_bytes(facts, 100, 4.0), rel=WITHIN)
    assert found.tokens == 110
    assert found.allocated_bytes == pytest.approx(predicted, rel=WITHIN)


@pytest.mark.parametrize("family", MAKERS)
def test_with_a_window_a_batch_that_requests_join_and_leave_gives_each_what_it_gets_alone(
    tmp_path: Path, family: str
) -> None:
    """Prompts shorter and longer than the window, so that padding and the window meet; and as transformers does it."""
    import torch
    import transformers

    path = MAKERS[family](tmp_path / "m", window=WINDOW)
    lengths = ((5, 40), (60, 10), (20, 30), (90, 25), (30, 12), (3, 50))
    requests = [asked(str(number), length, answer) for number, (length, answer) in enumerate(lengths)]
    with session("transformers", path, dtype="float32") as running:
        together = tokens_of(running, requests, joining=3)
        alone = {request.id: tokens_of(running, [request])[request.id] for request in requests}
    model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
    for request in requests:
        ids = list(request.prompt_ids)
        with torch.inference_mode():
            for _ in range(request.max_tokens):
                ids.append(int(model(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
        assert alone[request.id] == ids[len(request.prompt_ids) :], request.id

    assert together == alone


@pytest.mark.parametrize(
    ("family", "config"),
    [
        ("Llama", {}),
        ("Mistral", {"sliding_window": 64}),
        ("Mistral", {"sliding_window": None}),
        ("Qwen2", {"sliding_window": 64, "use_sliding_window": True, "max_window_layers": 4}),
        ("Qwen2", {"sliding_window": 64, "use_sliding_window": False}),
        ("Gemma2", {"sliding_window": 64}),
        ("Gemma3Text", {"sliding_window": 64}),
        ("Cohere2", {"sliding_window": 64}),
        ("GptOss", {"sliding_window": 64}),
        ("Phi3", {"sliding_window": 64, "pad_token_id": 0}),
    ],
)
def test_layers_are_told_apart_as_transformers_does_also_where_the_file_lists_none(
    family: str, config: dict[str, Any]
) -> None:
    import transformers
    from transformers.cache_utils import DynamicCache

    made = getattr(transformers, f"{family}Config")(num_hidden_layers=12, **config)
    windowed = sum(layer.is_sliding for layer in DynamicCache(config=made).layers)
    written = made.to_dict()
    older = {name: value for name, value in written.items() if name != "layer_types"}

    for plain in (written, older):
        found = kv_cache.layers_of(plain, 12)
        assert (found.full, found.windowed, found.unknown) == (12 - windowed, windowed, "")


# ── the engines that open converted models ───────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def converted(cache: Path, demo_artifact: Artifact, demo_facts: ModelFacts) -> Callable[[str], Path]:
    """The built-in model for an engine, by the first lossless technique that makes a format of it."""

    def make(name: str) -> Path:
        engine: Engine = registry.engine(name)
        absent = [package for package in engine.needs.packages if importlib.util.find_spec(package) is None]
        if absent:
            pytest.skip(f"{name} needs {', '.join(absent)}, which is not installed")
        for technique in registry.techniques():
            if technique.produces in engine.opens and technique.apply is not None and technique.rung is Rung.LOSSLESS:
                for proposal in technique.propose(PlanFacts(demo_facts, MACHINE)):
                    if isinstance(proposal, Proposal):
                        return apply.make(
                            technique, proposal.steps[-1], {"main": demo_artifact}, cache=cache,
                            parameters=demo_artifact.parameters, on_progress=lambda _done, _doing: None,
                        ).path  # fmt: skip
        return pytest.skip(f"no lossless technique makes a format of {name}")

    return make


def test_onnxruntime_genai_allocates_prompt_and_whole_answer_at_once(
    converted: Callable[[str], Path], demo_facts: ModelFacts
) -> None:
    with session("onnxruntime_genai", converted("onnxruntime_genai")) as running:
        assert use(running) == KvCacheUse(0, 0)
        running.add(asked("a", 200, 100))
        running.step()

        assert use(running) == KvCacheUse(kv_cache.kv_bytes(demo_facts, 300, 4.0) or 0, 300)


@pytest.mark.parametrize("precision", ["f16", "u8"])
def test_openvino_allocates_whole_blocks_of_what_the_configuration_says(
    converted: Callable[[str], Path], demo_facts: ModelFacts, precision: str
) -> None:
    options = {"kv_cache_precision": precision}
    size = kv_cache.element_bytes(demo_facts, None, options)
    assert size is not None
    block = openvino_genai.BLOCK_POSITIONS
    with session("openvino_genai", converted("openvino_genai"), **options) as running:
        for number, blocks in ((block, 1), (block + 1, 2), (10 * block, 10)):
            running.add(asked(str(number), number, 2))
            running.step()
            found = use(running)
            predicted = kv_cache.kv_bytes(demo_facts, blocks * block, size)

            assert predicted is not None
            assert found.tokens == blocks * block
            assert found.allocated_bytes == pytest.approx(predicted, rel=WITHIN)
            assert found.capacity_tokens == pytest.approx(2**30 / predicted * blocks * block, rel=WITHIN)
            running.step()  # its last token: a cancelled one would keep its blocks until the next step
