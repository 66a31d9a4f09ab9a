"""Tokenizers of several kinds, and files in a directory of their own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from paredown.hosts import tokenizer
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.testing import fake_models
from paredown.traffic.vocabulary import words

CONTEXT = 2_000
TEMPLATE = (
    "{% for m in messages %}<s>{{ m['role'] }}\n{{ m['content'] | trim }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)


@pytest.fixture(scope="session")
def byte_tokens(tmp_path_factory: pytest.TempPathFactory) -> LoadedTokenizer:
    """Every byte is a token; the shortest prompt has 20."""
    directory = tmp_path_factory.mktemp("bytes") / "model"
    return tokenizer.load(fake_models.make(directory, context_length=CONTEXT))


@pytest.fixture(scope="session")
def word_tokens(tmp_path_factory: pytest.TempPathFactory) -> LoadedTokenizer:
    """A byte-level BPE that knows the common words, as the tokenizers of real models do."""
    directory = tmp_path_factory.mktemp("bpe")
    bpe = tokenizers.Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=7_000, initial_alphabet=alphabet, special_tokens=["<s>", "</s>"], show_progress=False
    )
    spoken = " ".join(words())
    bpe.train_from_iterator([f"{spoken} {spoken}", *words()[:400]] * 2, trainer)
    bpe.save(str(directory / "tokenizer.json"))
    (directory / "chat_template.jinja").write_text(TEMPLATE)
    (directory / "config.json").write_text(json.dumps({"max_position_embeddings": CONTEXT}))
    return tokenizer.load(directory)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Write a file into the working directory of the test; gives its name."""
    monkeypatch.chdir(tmp_path)

    def to_file(name: str, text: str) -> str:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return to_file
