"""What two model directories declare: every difference is named, and two ways to write the same are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from paredown.errors import UserError
from paredown.evaluate import smoke_declared
from paredown.records.golden import Check

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "eos_token_id": 2,
    "vocab_size": 100,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
    "rope_parameters": {"rope_theta": 100000.0, "rope_type": "default"},
}
TOKENIZER = {"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": "<pad>", "chat_template": "{{ x }}"}
GENERATION = {"eos_token_id": [2, 7]}


def directory(
    path: Path, config: dict[str, Any] | None = None, tokenizer: Any = None, generation: Any = None, **files: str
) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG | (config or {})))
    (path / "tokenizer_config.json").write_text(json.dumps(TOKENIZER if tokenizer is None else tokenizer))
    (path / "generation_config.json").write_text(json.dumps(GENERATION if generation is None else generation))
    for name, text in files.items():
        (path / name.replace("_json", ".json").replace("_jinja", ".jinja")).write_text(text)
    return path


@pytest.fixture
def differing(tmp_path: Path) -> Any:
    baseline = directory(tmp_path / "baseline")

    def differing(**changes: Any) -> dict[str, Check]:
        found = smoke_declared.check(baseline, directory(tmp_path / "candidate", **changes))
        return {one.name: one for one in found if one.warns or one.passed is not True}

    return differing


def test_the_same_files_differ_in_nothing(differing: Any) -> None:
    assert differing() == {}


def test_the_same_statements_in_an_older_layout_are_no_difference(differing: Any) -> None:
    tokenizer = {"chat_template": [{"name": "default", "template": "{{ x }}\n"}], "bos_token": "<s>"}
    texts = json.dumps({"eos_token": "</s>", "pad_token": "<pad>", "cls_token": "<cls>"})
    old = {"rope_parameters": None, "rope_theta": 100000, "rope_scaling": None}
    generation = GENERATION | {"do_sample": False, "temperature": 1.0, "max_length": 20}
    assert differing(config=old, tokenizer=tokenizer, generation=generation, special_tokens_map_json=texts) == {}


def test_a_lost_or_changed_bos_or_eos_fails_and_another_padding_warns(differing: Any) -> None:
    found = differing(tokenizer={key: value for key, value in TOKENIZER.items() if key != "bos_token"})
    assert found["special tokens"].passed is False
    assert "bos_token is not set, in the baseline '<s>'" in found["special tokens"].detail


def test_another_padding_token_is_a_warning(differing: Any) -> None:
    found = differing(tokenizer=TOKENIZER | {"pad_token": "</s>"})
    assert found["special tokens"].warns
    assert "pad_token is '</s>', in the baseline '<pad>'" in found["special tokens"].detail


def test_a_stop_token_that_one_file_lost_is_named_and_a_further_one_is_no_loss(differing: Any) -> None:
    found = differing(generation={"eos_token_id": 7}, config={"eos_token_id": [2, 9]})
    assert found["stop ids in files"].detail.startswith("generation_config.json no longer names 2, as the baseline's")


def test_a_lost_template_and_another_text_are_warnings(differing: Any, tmp_path: Path) -> None:
    found = differing(tokenizer=TOKENIZER | {"chat_template": "{{ x }}{{ tools }}"})
    assert "has another text (18 characters, the baseline's 7)" in found["template text"].detail
    bare = directory(tmp_path / "bare", tokenizer={"bos_token": "<s>"})
    lost = {one.name: one for one in smoke_declared.check(tmp_path / "baseline", bare)}["template text"]
    assert (lost.warns, lost.detail) == (True, "The chat template was lost: no file of the candidate has one.")


def test_other_generation_defaults_are_named(differing: Any) -> None:
    found = differing(generation=GENERATION | {"do_sample": True, "repetition_penalty": 1.2, "max_length": 64})
    detail = found["generation defaults"].detail
    assert found["generation defaults"].warns
    for said in ("do_sample is True, in the baseline False", "repetition_penalty is 1.2", "max_length is 64"):
        assert said in detail


def test_another_rotary_base_and_a_lost_one_are_named(differing: Any, tmp_path: Path) -> None:
    found = differing(config={"rope_parameters": {"rope_theta": 10000.0, "rope_type": "yarn", "factor": 4}})
    assert "rope_theta is 10,000, in the baseline 100,000" in found["rotary embedding"].detail
    assert "factor is 4, in the baseline not set" in found["rotary embedding"].detail
    silent = directory(tmp_path / "silent", config={"rope_parameters": None})
    lost = {one.name: one.detail for one in smoke_declared.check(tmp_path / "baseline", silent)}
    assert "rope_theta is not set, in the baseline 100,000" in lost["rotary embedding"]


def test_a_window_and_a_shorter_context_are_named(differing: Any) -> None:
    found = differing(config={"sliding_window": 1024, "model_type": "mistral", "max_position_embeddings": 4096})
    assert "4 layers keep the last 1,024 positions; in the baseline none" in found["attention window"].detail
    assert found["context length"].detail.startswith("Takes 4,096 positions, the baseline 8,192")


def test_a_smaller_vocabulary_fails_and_padding_rows_do_not(differing: Any) -> None:
    assert differing(config={"vocab_size": 90})["vocabulary"].passed is False


def test_rows_that_pad_the_vocabulary_are_no_difference(differing: Any) -> None:
    assert differing(config={"vocab_size": 128}) == {}


def test_a_head_stored_apart_is_a_warning(differing: Any) -> None:
    assert "are stored apart here" in differing(config={"tie_word_embeddings": False})["head"].detail


def test_silent_files_are_said_and_no_failure(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    found = smoke_declared.check(directory(tmp_path / "one"), empty)
    assert not [one for one in found if one.passed is False]
    unknown = {one.name for one in found if one.passed is None}
    assert unknown == {"special tokens", "context length", "vocabulary", "head"}


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    broken = directory(tmp_path / "broken", generation_config_json="{")
    with pytest.raises(UserError, match=r"generation_config.json cannot be read as JSON"):
        smoke_declared.check(broken, broken)
