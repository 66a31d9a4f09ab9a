"""Copies of a checkpoint that hold the same model in another way: none of them may be called broken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paredown.testing import planted_faults
from paredown.testing.planted_faults import Tensors

TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


def identical(source: Path, folder: Path) -> Path:
    return planted_faults.copy(source, folder)


def saved_again(source: Path, folder: Path) -> Path:
    """Weights and configuration as transformers writes them; the rest copied."""
    return _saved(source, folder, shard="10GB")


def sharded(source: Path, folder: Path) -> Path:
    """Weights in several files with an index."""
    return _saved(source, folder, shard="100MB")


def _saved(source: Path, folder: Path, shard: str) -> Path:
    import transformers

    model: Any = transformers.AutoModelForCausalLM.from_pretrained(str(source), dtype="auto")
    model.save_pretrained(str(folder), max_shard_size=shard)
    for name in TOKENIZER:
        (folder / name).write_bytes((source / name).read_bytes())
    return folder


def tokenizer_saved_again(source: Path, folder: Path) -> Path:
    """The tokenizer's files as transformers writes them."""
    import transformers

    planted_faults.copy(source, folder, without=TOKENIZER)
    transformers.AutoTokenizer.from_pretrained(str(source)).save_pretrained(str(folder))
    return folder


def stored_in_float32(source: Path, folder: Path) -> Path:
    """The same numbers in 32 bits each; computed in 32 bits then, too."""

    def change(tensors: Tensors) -> None:
        tensors.update({name: tensor.float() for name, tensor in tensors.items()})

    planted_faults.edit_weights(source, folder, change)
    planted_faults.edit_json(folder, "config.json", dtype="float32")
    return folder


def untied(source: Path, folder: Path) -> Path:
    """A head of its own with the embedding's very numbers, as some exports write it."""

    def change(tensors: Tensors) -> None:
        tensors[planted_faults.HEAD] = tensors[planted_faults.EMBEDDING].clone()

    planted_faults.edit_weights(source, folder, change)
    planted_faults.edit_json(folder, "config.json", tie_word_embeddings=False)
    return folder
