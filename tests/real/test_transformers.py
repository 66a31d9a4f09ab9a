"""The reference engine on tiny random models: batches, and scores over shared prefixes, equal plain computation."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from paredown.contracts import GenerationRequest, OpenContext, OpenedEngine, ScoreRequest
from paredown.engines import transformers as engine
from paredown.errors import UserError
from paredown.hosts import tokenizer
from paredown.records.machine import Machine
from paredown.testing import tiny_models

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]

MACHINE = Machine("x", "Linux", "p", 2, 2, (), 2**34, (), {})
EXACT = 1e-4


def opened(directory: Path, **options: Any) -> engine.Opened:
    return engine.open_engine(OpenContext({"main": directory}, {"dtype": "float32", "threads": 1, **options}))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.make_llama(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def model(tiny: Path) -> engine.Opened:
    return opened(tiny)


def run(session: Any, requests: list[GenerationRequest], joining: dict[int, GenerationRequest]) -> dict[str, list[int]]:
    """Tokens of each request; `joining[n]` is added before step n."""
    tokens: dict[str, list[int]] = {}
    ended: set[str] = set()
    for request in requests:
        session.add(request)
    expected = {request.id for request in (*requests, *joining.values())}
    for step in range(1000):
        if step in joining:
            session.add(joining[step])
        for output in session.step():
            tokens.setdefault(output.id, []).extend(output.token_ids)
            if output.finish_reason:
                ended.add(output.id)
        if ended == expected:
            return tokens
    raise AssertionError(f"only {ended} ended")


def prompt(length: int, seed: int) -> tuple[int, ...]:
    chance = random.Random(seed)
    return tuple(chance.randrange(256) for _ in range(length))


def requests_of(count: int) -> list[GenerationRequest]:
    return [GenerationRequest(str(n), prompt(3 + 7 * n % 23, n), 5 + 4 * n % 11, ignore_eos=True) for n in range(count)]


def test_a_batch_that_requests_join_and_leave_gives_each_what_it_gets_alone(model: OpenedEngine) -> None:
    requests = requests_of(7)
    alone = {request.id: run(model.generation(), [request], {})[request.id] for request in requests}
    joining = {4: requests[4], 9: requests[5], 10: requests[6]}
    assert run(model.generation(), requests[:4], joining) == alone


def test_a_cancelled_request_changes_nothing_for_the_others(model: OpenedEngine) -> None:
    requests = requests_of(3)
    alone = run(model.generation(), [requests[2]], {})[requests[2].id]
    session = model.generation()
    for request in requests:
        session.add(request)
    tokens: list[int] = []
    for step in range(100):
        if step == 4:
            session.cancel("0")
            session.cancel("1")
        tokens += [token for output in session.step() if output.id == "2" for token in output.token_ids]
    assert tokens == alone


def test_greedy_decoding_is_that_of_generate(model: Any, tiny: Path) -> None:
    import torch

    ids = prompt(20, 3)
    ours = run(model.generation(), [GenerationRequest("a", ids, 24, ignore_eos=True)], {})["a"]
    theirs = model._model.generate(
        torch.tensor([ids]), max_new_tokens=24, min_new_tokens=24, do_sample=False, attention_mask=torch.ones(1, 20)
    )[0, 20:].tolist()
    # `min_new_tokens` forbids the stop token, which we do not.
    same = next((at for at in range(24) if ours[at] != theirs[at]), 24)
    assert same == 24 or ours[same] in tokenizer.load(tiny).stop_ids


def test_a_stop_token_ends_an_answer_and_is_part_of_it(model: OpenedEngine) -> None:
    free = run(model.generation(), [GenerationRequest("a", prompt(9, 5), 12, ignore_eos=True)], {})["a"]
    stopped = run(model.generation(), [GenerationRequest("a", prompt(9, 5), 12, stop_ids=(free[3],))], {})["a"]
    assert stopped == free[: free.index(free[3]) + 1]


def sharing_requests() -> list[ScoreRequest]:
    """Groups behind one beginning: a long document each, several questions, several answers; and texts of their own."""
    system = prompt(30, 100)
    found = []
    for group, length in enumerate((20, 100, 260)):
        document = (*system, *prompt(length, group))
        for question in range(4):
            asked = (*document, *prompt(5 + question, 10 * group + question))
            for answer in range(4):
                said = prompt(1 + answer, 1000 * group + 10 * question + answer)
                named = tuple((1, 2, 300 % 257) for _ in said)
                found.append(ScoreRequest((*asked, *said), len(asked), top_k=3, at_ids=named))
    found.append(ScoreRequest(prompt(400, 7), 1, top_k=5))
    found.append(ScoreRequest((*system, *prompt(60, 8)), 12))
    return found


def plain(model: Any, request: ScoreRequest) -> Any:
    import torch

    with torch.inference_mode():
        logits = model._model(input_ids=torch.tensor([request.token_ids])).logits[0].float()
    return torch.log_softmax(logits, dim=-1)[request.start - 1 : -1]


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_scores_over_shared_prefixes_are_those_of_plain_scoring(tiny: Path, attention: str) -> None:
    model = opened(tiny, attention=attention)
    requests = sharing_requests()
    session = model.scoring()
    for request, result in zip(requests, session.score(requests), strict=True):
        expected = plain(model, request)
        target = expected.gather(1, _column(request.token_ids[request.start :])).squeeze(1).tolist()
        assert result.target_logprobs == pytest.approx(target, abs=EXACT)
        for row, ids, values in zip(expected, result.top_ids, result.top_logprobs, strict=False):
            best = row.topk(len(ids))
            assert values == pytest.approx(best.values.tolist(), abs=EXACT)
            assert list(ids) == best.indices.tolist()
        assert len(result.at_logprobs) == len(request.at_ids)
        for row, ids, values in zip(expected, request.at_ids, result.at_logprobs, strict=False):
            assert values == pytest.approx([float(row[one]) for one in ids], abs=EXACT)


def _column(ids: tuple[int, ...]) -> Any:
    import torch

    return torch.tensor(ids)[:, None]


def test_shared_prefixes_go_through_the_model_once(model: OpenedEngine) -> None:
    requests = sharing_requests()
    session = model.scoring()
    assert session is not None
    session.score(requests)
    unique = {one.token_ids[:end] for one in requests for end in range(1, len(one.token_ids))}
    assert session.computed_tokens == len(unique)


def test_a_prefix_held_from_the_call_before_is_not_computed_again(model: OpenedEngine) -> None:
    document = prompt(600, 55)
    session = model.scoring()
    assert session is not None
    (first,) = session.score([ScoreRequest((*document, 1, 2, 3), 601)])
    assert session.computed_tokens == 602
    (again,) = session.score([ScoreRequest((*document, 1, 2, 3), 601)])
    assert again.target_logprobs == pytest.approx(first.target_logprobs, abs=EXACT)
    assert session.computed_tokens == 604


def test_a_model_with_a_sliding_window_is_scored_and_served_alike(tmp_path: Path) -> None:
    import torch
    import transformers

    size = tiny_models.write_byte_tokenizer(tmp_path)
    torch.manual_seed(1)
    config = transformers.MistralConfig(
        **(
            tiny_models.LLAMA
            | {"vocab_size": size, "sliding_window": 16, "bos_token_id": None, "eos_token_id": size - 1}
        )
    )
    transformers.MistralForCausalLM(config).save_pretrained(tmp_path)
    model = opened(tmp_path)
    requests = [ScoreRequest(prompt(70, 1), 1, top_k=1), ScoreRequest((*prompt(40, 1), 5, 6), 30, top_k=1)]
    session = model.scoring()
    for request, result in zip(requests, session.score(requests), strict=True):
        target = plain(model, request).gather(1, _column(request.token_ids[request.start :])).squeeze(1)
        assert result.target_logprobs == pytest.approx(target.tolist(), abs=EXACT)
    batch = [GenerationRequest(str(n), prompt(20 + 9 * n, n), 30, ignore_eos=True) for n in range(3)]
    alone = {one.id: run(model.generation(), [one], {})[one.id] for one in batch}
    assert run(model.generation(), batch, {}) == alone


def test_pickle_weights_are_not_opened(tiny: Path, tmp_path: Path) -> None:
    import torch

    for path in tiny.iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(OSError, match="safetensors"):
        opened(tmp_path)


def test_the_checkpoints_own_data_type_is_kept(tmp_path: Path) -> None:
    directory = tiny_models.make_llama(tmp_path / "half", dtype="bfloat16")
    model: Any = opened(directory, dtype="auto")
    assert str(model._model.dtype) == "torch.bfloat16"


def test_auto_is_resolved_to_the_type_of_most_weights(tmp_path: Path) -> None:
    from paredown.models import artifact

    directory = tiny_models.make_llama(tmp_path / "half", dtype="bfloat16")
    made = artifact.describe(directory, format="hf", parameters=1000)
    assert engine.resolve(made, MACHINE, {})["dtype"] == "bfloat16"


def test_a_data_type_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match="float64"):
        engine.resolve(None, MACHINE, {"dtype": "float64"})
