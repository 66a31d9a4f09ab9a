"""The host's own tokenizer and template rendering give transformers' token ids, on the built-in model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paredown.hosts import tokenizer

pytestmark = [pytest.mark.real, pytest.mark.filterwarnings("ignore")]

CONVERSATIONS = [
    [{"role": "user", "content": "What is the capital of France?"}],
    [
        {"role": "system", "content": "You answer briefly."},
        {"role": "user", "content": "Naïve café 😀 日本語 Привет\n\n\tdone"},
    ],
    [
        {"role": "user", "content": "  spaces around  "},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "<|im_end|> is a special token, 12345.678 is not"},
    ],
    [{"role": "user", "content": ""}],
]


@pytest.fixture(scope="module")
def reference(demo: Path) -> Any:
    import transformers

    return transformers.AutoTokenizer.from_pretrained(demo)


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("prompt", [True, False])
def test_a_conversation_has_the_token_ids_of_transformers(
    demo: Path, reference: Any, conversation: list[dict[str, str]], prompt: bool
) -> None:
    ours = tokenizer.load(demo).encode_conversation(conversation, add_generation_prompt=prompt)
    theirs = reference.apply_chat_template(conversation, add_generation_prompt=prompt, tokenize=True, return_dict=False)
    assert list(ours) == list(theirs)


@pytest.mark.parametrize("text", ["hello", " hello", "a\u200bb\r\n", "😀" * 5, "x" * 1000])
def test_a_text_has_the_token_ids_and_the_decoding_of_transformers(demo: Path, reference: Any, text: str) -> None:
    loaded = tokenizer.load(demo).tokenizer
    ids = loaded.encode(text, special_tokens=True)
    assert list(ids) == reference(text)["input_ids"]
    assert loaded.decode(ids) == reference.decode(ids, skip_special_tokens=True) == text


def test_a_directory_without_tokenizer_json_is_read_by_transformers(demo: Path, reference: Any, tmp_path: Path) -> None:
    vocabulary = reference.backend_tokenizer.model
    vocabulary.save(str(tmp_path))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    loaded = tokenizer.load(tmp_path).tokenizer
    ids = loaded.encode("The cat sat – 日本", special_tokens=False)
    assert loaded.decode(ids) == "The cat sat – 日本"
    incremental = loaded.incremental()
    assert "".join([*(incremental.add((one,)) for one in ids), incremental.finish()]) == "The cat sat – 日本"


def test_the_models_own_limits_are_read(demo: Path) -> None:
    loaded = tokenizer.load(demo)
    assert (loaded.context_length, loaded.stop_ids) == (8192, (2,))
