"""ONNX and OpenVINO on the built-in model: what the techniques make, and that scoring agrees with serving.

The sessions are driven in this process, as the host's engine thread drives them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from paredown import registry
from paredown.contracts import (
    Engine,
    GenerationRequest,
    OpenContext,
    OpenedEngine,
    PlanFacts,
    ScoreRequest,
    ScoreResult,
)
from paredown.models import artifact
from paredown.optimize import apply
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Proposal
from paredown.records.machine import Machine

pytestmark = [pytest.mark.real, pytest.mark.timeout(1200)]

ENGINE_OF = {"onnx-genai": "onnxruntime_genai", "openvino": "openvino_genai"}
TECHNIQUES = ("onnx_fp32", "onnx_int8", "onnx_int4", "openvino_fp16", "openvino_int8", "openvino_int4")
QUANTIZED = tuple(name for name in TECHNIQUES if "int" in name)
QUESTIONS = (
    "What is the capital of France?",
    "Write a short poem about the sea.",
    "Explain photosynthesis simply.",
    "What is 17 + 25?",
)
ANSWER_TOKENS = 24
MACHINE = Machine("host", "linux", "cpu", 2, 2, (), 2**33, (), {})


def prompts(directory: Path) -> tuple[tuple[int, ...], ...]:
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    text = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
    return tuple(tuple(tokenizer.encode(text.format(question)).ids) for question in QUESTIONS)


@contextmanager
def opened(engine: Engine, directory: Path) -> Iterator[OpenedEngine]:
    assert engine.open is not None
    model = engine.open(OpenContext({"main": directory}, engine.resolve(None, MACHINE, {})))
    try:
        yield model
    finally:
        model.close()


@dataclass(frozen=True)
class Finished:
    tokens: tuple[int, ...]
    reason: str


def generate(model: OpenedEngine, requests: Sequence[GenerationRequest]) -> Mapping[str, Finished]:
    """All requests at once; each one's tokens and how it ended."""
    session = model.generation()
    tokens: dict[str, list[int]] = {request.id: [] for request in requests}
    ended: dict[str, Finished] = {}
    for request in requests:
        session.add(request)
    while len(ended) < len(requests):
        for output in session.step():
            assert output.id not in ended
            tokens[output.id] += output.token_ids
            if output.finish_reason:
                ended[output.id] = Finished(tuple(tokens[output.id]), output.finish_reason)
    session.close()
    return ended


def forced(directory: Path) -> tuple[GenerationRequest, ...]:
    return tuple(
        GenerationRequest(str(i), ids, ANSWER_TOKENS, ignore_eos=True) for i, ids in enumerate(prompts(directory))
    )


def first_choice_agreement(model: OpenedEngine, requests: Sequence[GenerationRequest]) -> float:
    """Share of served greedy tokens that scoring holds for the most likely one."""
    served = generate(model, requests)
    scoring = model.scoring()
    assert scoring is not None
    results = scoring.score(
        [ScoreRequest(r.prompt_ids + served[r.id].tokens, len(r.prompt_ids), top_k=2) for r in requests]
    )
    hits = [
        top[0] == token
        for request, result in zip(requests, results, strict=True)
        for top, token in zip(result.top_ids, served[request.id].tokens, strict=True)
    ]
    scoring.close()
    return sum(hits) / len(hits)


def choices_scored(
    model: OpenedEngine, prompt: tuple[int, ...], *, shared: bool
) -> tuple[tuple[ScoreResult, ...], int]:
    """Four continuations of one prompt, in one call (shared) or each after another text; and the tokens computed."""
    endings = ((10, 20, 30), (10, 20, 31), (400,), (500, 600))
    requests = [ScoreRequest(prompt + ending, len(prompt)) for ending in endings]
    scoring = model.scoring()
    assert scoring is not None
    if shared:
        results = tuple(scoring.score(requests))
        return results, scoring.computed_tokens
    parts = []
    for request in requests:
        scoring.score([ScoreRequest((7, 8, 9), 1)])
        parts += scoring.score([request])
    return tuple(parts), scoring.computed_tokens


@dataclass(frozen=True)
class Made:
    proposal: Proposal
    artifact: Artifact
    source: Artifact

    @property
    def engine(self) -> Engine:
        return registry.engine(ENGINE_OF[self.artifact.format])


@pytest.fixture(scope="session")
def make(cache: Path, demo_artifact: Artifact, demo_facts: ModelFacts) -> Callable[[str], Made]:
    """Technique → its artifact, from the cache when it was made before."""

    def made(name: str) -> Made:
        technique = registry.technique(name)
        (proposal,) = technique.propose(PlanFacts(demo_facts, MACHINE))
        assert isinstance(proposal, Proposal)
        result = apply.make(
            technique,
            proposal.steps[-1],
            {"main": demo_artifact},
            cache=cache,
            parameters=demo_facts.parameters,
            on_progress=lambda fraction, what: None,
        )
        return Made(proposal, result, demo_artifact)

    return made


@pytest.mark.parametrize("name", TECHNIQUES)
def test_the_predicted_bytes_are_those_on_the_disk(name: str, make: Callable[[str], Made]) -> None:
    made = make(name)
    assert made.artifact.weight_bytes == pytest.approx(made.proposal.prediction.weight_bytes, rel=0.005)


@pytest.mark.parametrize("name", QUANTIZED)
def test_the_weights_really_have_the_bits_that_the_rung_claims(name: str, make: Callable[[str], Made]) -> None:
    made = make(name)
    check = artifact.was_optimized(made.source, made.artifact, artifact.claimed_bits(made.proposal.rung))
    assert check.passed, check.detail


@pytest.mark.parametrize("name", ["onnx_int8", "openvino_int8"])
def test_eight_bits_are_at_most_55_percent_of_the_source(name: str, make: Callable[[str], Made]) -> None:
    made = make(name)
    assert made.artifact.weight_bytes <= 0.55 * made.source.weight_bytes


@pytest.mark.parametrize("name", TECHNIQUES)
def test_the_artifact_has_all_that_serving_needs(name: str, make: Callable[[str], Made], demo: Path) -> None:
    made = make(name)
    for file in ("tokenizer.json", "chat_template.jinja", "config.json", "generation_config.json"):
        assert (made.artifact.path / file).read_bytes() == (demo / file).read_bytes()


@pytest.mark.parametrize("name", TECHNIQUES)
def test_scoring_agrees_with_serving(name: str, make: Callable[[str], Made]) -> None:
    made = make(name)
    with opened(made.engine, made.artifact.path) as model:
        assert first_choice_agreement(model, forced(made.artifact.path)) >= 0.99


@pytest.mark.parametrize("name", ["onnx_int8", "openvino_int8"])
def test_together_and_alone_give_the_same_tokens(name: str, make: Callable[[str], Made]) -> None:
    made = make(name)
    with opened(made.engine, made.artifact.path) as model:
        requests = forced(made.artifact.path)
        together = generate(model, requests)
        for request in requests:
            assert generate(model, [request])[request.id] == together[request.id]


@pytest.mark.parametrize("name", ["onnx_int8", "openvino_int8"])
def test_a_forced_length_goes_on_after_the_end_token_and_without_it_stops_there(
    name: str, make: Callable[[str], Made]
) -> None:
    made = make(name)
    prompt = prompts(made.artifact.path)[0]
    with opened(made.engine, made.artifact.path) as model:
        free = generate(model, [GenerationRequest("free", prompt, 120, stop_ids=(2,))])["free"]
        assert (free.reason, free.tokens[-1], free.tokens.count(2)) == ("stop", 2, 1)
        wanted = len(free.tokens) + 5
        longer = generate(model, [GenerationRequest("longer", prompt, wanted, ignore_eos=True, stop_ids=(2,))])[
            "longer"
        ]
        assert (longer.reason, len(longer.tokens)) == ("length", wanted)
        assert longer.tokens[: len(free.tokens)] == free.tokens


@pytest.mark.parametrize("name", ["onnx_int8", "openvino_int8"])
def test_a_cancelled_request_is_heard_of_no_more(name: str, make: Callable[[str], Made]) -> None:
    made = make(name)
    stopped, kept = forced(made.artifact.path)[:2]
    with opened(made.engine, made.artifact.path) as model:
        session = model.generation()
        session.add(stopped)
        session.step()
        session.cancel(stopped.id)
        session.add(kept)
        heard = [output.id for _ in range(ANSWER_TOKENS) for output in session.step()]
        assert set(heard) == {kept.id}
        session.close()


@pytest.mark.parametrize(("name", "tolerance"), [("onnx_int8", 1e-6), ("openvino_int8", 0.03)])
def test_a_shared_prompt_is_computed_once_and_changes_nothing(
    name: str, tolerance: float, make: Callable[[str], Made]
) -> None:
    made = make(name)
    prompt = prompts(made.artifact.path)[0]
    with opened(made.engine, made.artifact.path) as model:
        shared, computed = choices_scored(model, prompt, shared=True)
        alone, computed_alone = choices_scored(model, prompt, shared=False)
    for one, other in zip(shared, alone, strict=True):
        # fp16 keys and values are rounded between two calls of OpenVINO; ONNX Runtime's are fp32.
        assert one.target_logprobs == pytest.approx(other.target_logprobs, abs=tolerance)
    assert computed <= len(prompt) + 2 * 4 + 6
    assert computed_alone > 4 * len(prompt)


def test_the_shared_embedding_is_in_the_record(make: Callable[[str], Made]) -> None:
    made = make("onnx_int8")
    assert any("the tied embedding reads rows of the 8-bit head" in note for note in made.artifact.notes)


def test_a_group_that_does_not_divide_is_halved_and_said(make: Callable[[str], Made]) -> None:
    assert make("openvino_int4").proposal.adjustments == ("group 128 does not divide 576; 64 used",)
