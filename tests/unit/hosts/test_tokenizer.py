from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paredown.errors import UserError
from paredown.hosts import chat_template, tokenizer
from paredown.hosts.incremental import StreamedText
from paredown.hosts.tokenizer import ByteTokenizer
from paredown.testing import fake_models, tiny_models

MESSAGES = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def byte_level(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tokenizer")
    tiny_models.write_byte_tokenizer(directory)
    return directory


def rendered(template: str, **special: str) -> str:
    return chat_template.compile_template(template, special)(MESSAGES, add_generation_prompt=True)


@given(st.text())
def test_text_that_comes_token_by_token_is_the_text_of_all_tokens(text: str) -> None:
    ids = ByteTokenizer().encode(text, special_tokens=False)
    incremental = ByteTokenizer().incremental()
    parts = [incremental.add((token,)) for token in ids]
    assert "".join([*parts, incremental.finish()]) == text


@pytest.mark.parametrize("cut", range(1, 14))
def test_a_real_tokenizer_gives_split_characters_whole_and_the_rest_at_the_end(byte_level: Path, cut: int) -> None:
    loaded = tokenizer.load(byte_level).tokenizer
    ids = loaded.encode("é😀日本", special_tokens=False)[:cut]
    incremental = loaded.incremental()
    parts = [incremental.add((token,)) for token in ids]
    assert "\N{REPLACEMENT CHARACTER}" not in "".join(parts)
    assert "".join([*parts, incremental.finish()]) == loaded.decode(ids)


def test_without_a_step_function_the_new_end_of_the_text_is_given() -> None:
    text = StreamedText(None, lambda ids: bytes(ids).decode(errors="replace"))
    parts = [text.add((byte,)) for byte in "aé😀".encode()]
    assert parts == ["a", "", "é", "", "", "", "😀"]


def test_a_directory_without_a_tokenizer_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UserError, match="is not a tokenizer that can be read"):
        tokenizer.load(tmp_path)


def test_a_conversation_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    source = fake_models.make(tmp_path / "m")
    loaded = tokenizer.load(fake_models.without_chat_template(source, tmp_path / "lost"))
    with pytest.raises(UserError, match="has no chat template"):
        loaded.encode_conversation(MESSAGES)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"generation_config.json": {"eos_token_id": [7, 8]}, "config.json": {"eos_token_id": 1}}, (7, 8)),
        ({"config.json": {"eos_token_id": 1}}, (1,)),
        ({"config.json": {"text_config": {"eos_token_id": 3}}}, (3,)),
        ({"genai_config.json": {"model": {"eos_token_id": [4]}}}, (4,)),
        ({}, ()),
    ],
)
def test_tokens_that_end_a_generation_come_from_the_configuration(
    tmp_path: Path, files: dict[str, object], expected: tuple[int, ...]
) -> None:
    (tmp_path / "byte_tokenizer.json").write_text("{}")
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    assert tokenizer.load(tmp_path).stop_ids == expected


def test_a_damaged_configuration_is_named(tmp_path: Path) -> None:
    (tmp_path / "byte_tokenizer.json").write_text("{}")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UserError, match=r"config\.json is not JSON"):
        tokenizer.load(tmp_path)


def test_the_template_gets_special_tokens_and_drops_the_line_end_after_a_block() -> None:
    template = "{% for m in messages %}\n{{ bos_token }}{{ m['content'] }}\n{% endfor %}\n{{ messages | tojson }}"
    assert rendered(template, bos_token="<s>") == '<s>hello\n[{"role": "user", "content": "hello"}]'


def test_the_body_of_a_generation_block_is_kept() -> None:
    assert rendered("{% generation %}x{% endgeneration %}") == "x"


def test_a_template_that_refuses_says_why() -> None:
    with pytest.raises(UserError, match="roles must alternate"):
        rendered("{{ raise_exception('roles must alternate') }}")


def test_a_template_cannot_reach_into_python() -> None:
    with pytest.raises(UserError, match="cannot render"):
        rendered("{{ messages.__class__.__mro__[1].__subclasses__() }}")


def test_a_template_that_is_not_valid_names_its_line() -> None:
    with pytest.raises(UserError, match="line 2"):
        rendered("\n{% if %}")
