"""The smoke gate stops broken candidates and lets weak but honest ones pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from paredown.errors import EngineDied, EngineError
from paredown.evaluate import smoke
from paredown.evaluate.smoke import PROMPTS, Reference, SmokeAnswer
from paredown.records.golden import Check, Smoke

Make = Callable[..., Any]
CHANGED = Check("changed", passed=True, detail="weights are 4-bit")
SENTENCES = {prompt: f"Here is an answer, number {index}." for index, prompt in enumerate(PROMPTS)}


def reference(engine: Any) -> Reference:
    return smoke.reference(engine, complete=engine.complete)


def check(engine: Any, baseline: Reference, **more: Any) -> Smoke:
    given = {"candidate": "c", "changed": CHANGED, "reloaded": "not started twice", **more}
    return smoke.check(engine, baseline, complete=engine.complete, **given)


def failed(found: Smoke) -> dict[str, str]:
    return {one.name: one.detail for one in found.checks if one.passed is False}


def test_the_same_model_passes_every_check(toy: Make) -> None:
    baseline = toy(scripted=SENTENCES)
    found = check(toy(scripted=SENTENCES), reference(baseline))
    assert not failed(found)
    assert found.passed
    assert found.answers == tuple(SENTENCES.values())
    assert {one.name for one in found.checks} == {
        *("answers", "coherent", "first token", "chat template", "tokenizer", "stop ids", "stops", "lengths"),
        *("changed", "reloads"),
    }


def test_a_weak_model_that_rambles_like_the_baseline_passes(toy: Make) -> None:
    baseline = reference(toy())
    assert check(toy(noise=3.0), baseline).passed


def test_a_lost_chat_template_is_named(toy: Make) -> None:
    found = check(toy(scripted=SENTENCES, template=False), reference(toy(scripted=SENTENCES)))
    assert "The chat template was lost or changed: 7 of 7" in failed(found)["chat template"]


def test_a_template_that_cannot_render_is_named_but_a_dead_engine_is_raised(
    toy: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline, engine = reference(toy(scripted=SENTENCES)), toy(scripted=SENTENCES)

    def fail(error: EngineError) -> Callable[..., Any]:
        def encode(*_: Any) -> Any:
            raise error

        return encode

    monkeypatch.setattr(engine, "encode", fail(EngineError("no chat template")))
    assert (
        "was lost or cannot render a conversation: no chat template" in failed(check(engine, baseline))["chat template"]
    )
    monkeypatch.setattr(engine, "encode", fail(EngineDied("gone")))
    with pytest.raises(EngineDied):
        check(engine, baseline)


def test_a_missing_first_token_is_named_and_is_no_lost_template(toy: Make) -> None:
    found = failed(check(toy(scripted=SENTENCES), reference(toy(scripted=SENTENCES, bos=(5,)))))
    assert list(found) == ["first token"]
    assert "The first token is missing (BOS): the baseline begins every conversation with the token 5" in str(found)


def test_a_doubled_first_token_is_named(toy: Make) -> None:
    found = failed(check(toy(scripted=SENTENCES, bos=(5, 5)), reference(toy(scripted=SENTENCES, bos=(5,)))))
    assert list(found) == ["first token"]
    assert "one first token too many" in found["first token"]


def test_a_first_token_that_only_texts_without_a_template_lost_is_named(toy: Make) -> None:
    engine = toy(scripted=SENTENCES)
    baseline = reference(engine)
    begun = tuple((5, *ids) for ids in baseline.begun_ids)
    found = failed(check(engine, replace(baseline, begun_ids=begun)))
    assert "begins every text without a template with the token 5" in found["first token"]


def test_a_reference_of_an_older_version_has_no_begun_texts_and_still_serves(toy: Make) -> None:
    engine = toy(scripted=SENTENCES)
    assert check(engine, replace(reference(engine), begun_ids=())).passed


def test_answers_cut_to_a_quarter_stop_early_and_a_shorter_one_does_not(toy: Make) -> None:
    baseline = reference(toy(scripted=SENTENCES))
    cut = {prompt: text[: len(text) // 4] for prompt, text in SENTENCES.items()}
    assert failed(check(toy(scripted=cut), baseline))["lengths"].startswith("Stops early, which looks faster: 42 tok")
    assert "lengths" not in failed(check(toy(scripted=SENTENCES | {PROMPTS[0]: "Yes."}), baseline))


def test_what_the_files_declare_is_in_the_gate(toy: Make) -> None:
    engine = toy(scripted=SENTENCES)
    apart, lost = Check("head", passed=True, detail="", warns=True), Check("vocabulary", passed=False, detail="lost")
    found = check(engine, reference(engine), declared=(apart, lost))
    assert failed(found) == {"vocabulary": "lost"}
    assert [one.name for one in found.warnings] == ["head"]


def test_answers_that_loop_where_the_baselines_do_not_fail(toy: Make) -> None:
    loops = dict.fromkeys(PROMPTS, "the the the the the the the the the the the the")
    found = check(toy(scripted=loops), reference(toy(scripted=SENTENCES)))
    assert "6 of 6 answers are broken: it repeats its last 4 tokens" in failed(found)["coherent"]


def test_loops_on_four_of_six_prompts_are_weak_and_not_broken(toy: Make) -> None:
    four = SENTENCES | dict.fromkeys(PROMPTS[:4], "the the the the the the the the the the the the")
    assert "coherent" not in failed(check(toy(scripted=four), reference(toy(scripted=SENTENCES))))


def test_a_baseline_that_loops_itself_excuses_a_candidate_that_does(toy: Make) -> None:
    loops = dict.fromkeys(PROMPTS, "the the the the the the the the the the the the")
    assert "coherent" not in failed(check(toy(scripted=loops), reference(toy(scripted=loops))))


def test_answers_of_replacement_characters_fail(toy: Make) -> None:
    garbage = dict.fromkeys(PROMPTS, "��ab�\x07q")
    found = check(toy(scripted=garbage), reference(toy(scripted=SENTENCES)))
    assert "characters are no text" in failed(found)["coherent"]


def test_empty_answers_fail(toy: Make) -> None:
    found = check(toy(scripted=dict.fromkeys(PROMPTS, " ")), reference(toy(scripted=SENTENCES)))
    said = "Stops early: 0 of 6 prompts got an answer (baseline: 6); 6 end at once"
    assert failed(found)["answers"] == said


def test_requests_that_fail_are_told_with_their_class(toy: Make) -> None:
    found = check(toy(scripted=SENTENCES, failing={"smoke-0": "status_500"}), reference(toy(scripted=SENTENCES)))
    assert "1 of 6 prompts failed: status_500" in failed(found)["answers"]


def test_a_baseline_that_fails_on_a_prompt_is_no_reference(toy: Make) -> None:
    with pytest.raises(EngineError, match="failed on 1 of 6 smoke prompts: timeout"):
        reference(toy(scripted=SENTENCES, failing={"smoke-3": "timeout"}))


def test_a_candidate_that_never_ends_where_the_baseline_does_fails(toy: Make) -> None:
    endless = {prompt: text + "".join(map(chr, range(32, 127))) * 2 for prompt, text in SENTENCES.items()}
    found = check(toy(scripted=endless), reference(toy(scripted=SENTENCES)))
    assert failed(found)["stops"] == "ends 0 of the 6 answers that the baseline ends by itself"


def test_a_candidate_that_ends_some_of_them_passes(toy: Make) -> None:
    longer = SENTENCES | {PROMPTS[0]: "".join(map(chr, range(32, 127))) * 2}
    assert "stops" not in failed(check(toy(scripted=longer), reference(toy(scripted=SENTENCES))))


def test_a_baseline_that_never_ends_leaves_that_check_open(toy: Make) -> None:
    rambling = {prompt: "".join(map(chr, range(32, 127))) for prompt in PROMPTS}
    found = check(toy(scripted=rambling), reference(toy(scripted=rambling)))
    assert [one.passed for one in found.checks if one.name == "stops"] == [None]


def test_a_lost_stop_token_fails_and_a_further_one_does_not(toy: Make) -> None:
    baseline = reference(toy(scripted=SENTENCES))
    assert "stop ids" in failed(check(toy(scripted=SENTENCES, stop_ids=(5,)), baseline))
    assert "stop ids" not in failed(check(toy(scripted=SENTENCES, stop_ids=(0, 5)), baseline))


def test_another_tokenizer_fails(toy: Make) -> None:
    engine = toy(scripted=SENTENCES)
    baseline = reference(engine)
    other = replace(baseline, text_ids=((1, 2), *baseline.text_ids[1:]))
    assert "1 of 4 texts have other token ids" in failed(check(engine, other))["tokenizer"]
    decoding = replace(baseline, decoded=("?", *baseline.decoded[1:]))
    assert "decode otherwise" in failed(check(engine, decoding))["tokenizer"]


def test_an_artifact_in_which_nothing_was_changed_fails(toy: Make) -> None:
    engine = toy(scripted=SENTENCES)
    nothing = Check("changed", passed=False, detail="nothing was optimized: the weights are still 16-bit")
    assert failed(check(engine, reference(engine), changed=nothing)) == {"changed": nothing.detail}


def test_a_second_start_must_give_the_same_tokens(toy: Make) -> None:
    engine = toy(scripted=SENTENCES)
    baseline = reference(engine)
    again = smoke.answer(engine, smoke.limits(baseline), complete=engine.complete)
    assert check(engine, baseline, reloaded=again).passed
    other = [SmokeAnswer("?", (1,), "stop") for _ in again]
    assert "0 of 6 answers have the same tokens" in failed(check(engine, baseline, reloaded=other))["reloads"]


def test_without_a_second_start_the_reason_is_kept(toy: Make) -> None:
    engine = toy(scripted=SENTENCES)
    found = check(engine, reference(engine))
    assert [(one.passed, one.detail) for one in found.checks if one.name == "reloads"] == [(None, "not started twice")]


@pytest.mark.parametrize(
    ("ids", "period"),
    [
        ([7] * 16, 1),
        ([7] * 15, 0),
        ([9, 8, *[1, 2, 3] * 6], 3),
        ([1, 2, 3] * 6 + [9], 0),
        (list(range(50)), 0),
        ([*range(16)] * 4, 16),
        ([*range(8)] * 3, 0),
        ([], 0),
    ],
)
def test_a_loop_is_a_block_that_ends_the_text_four_times_over(ids: list[int], period: int) -> None:
    assert smoke.loop_period(ids) == period
