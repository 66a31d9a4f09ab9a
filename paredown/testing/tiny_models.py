"""Makes tiny Hugging Face checkpoints with random weights, for tests of code that loads and runs real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from paredown.testing.fake_language import CHAT_TEMPLATE

END_OF_TEXT = "<end>"
LLAMA: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
    "initializer_range": 0.5,
}


def make_llama(directory: Path, *, seed: int = 0, dtype: str = "float32", **config: Any) -> Path:
    """A random Llama with a byte-level tokenizer and a chat template; weights wide enough that no two logits tie.

    config: overrides of `LLAMA`, in the words of LlamaConfig
    """
    return _make(directory, "Llama", LLAMA | config, seed, dtype)


def make_mistral(directory: Path, *, window: int, seed: int = 0, dtype: str = "float32", **config: Any) -> Path:
    """The same as a Mistral: every layer attends to the last `window` positions only."""
    return _make(directory, "Mistral", LLAMA | config | {"sliding_window": window}, seed, dtype)


def make_gemma2(directory: Path, *, window: int, seed: int = 0, dtype: str = "float32", **config: Any) -> Path:
    """The same as a Gemma 2: every second layer attends to the last `window` positions only."""
    return _make(directory, "Gemma2", LLAMA | {"head_dim": 16} | config | {"sliding_window": window}, seed, dtype)


def _make(directory: Path, family: str, settings: dict[str, Any], seed: int, dtype: str) -> Path:
    import torch
    import transformers

    size = write_byte_tokenizer(directory)
    tokens = {"vocab_size": size, "bos_token_id": None, "eos_token_id": size - 1, "pad_token_id": size - 1}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = getattr(transformers, f"{family}Config")(**(tokens | settings))
        model = getattr(transformers, f"{family}ForCausalLM")(config)
    model.to(getattr(torch, dtype)).save_pretrained(directory)
    return directory


def write_byte_tokenizer(directory: Path) -> int:
    """tokenizer.json, tokenizer_config.json and chat_template.jinja of a byte-level vocabulary; gives its size."""
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    directory.mkdir(parents=True, exist_ok=True)
    vocabulary = {letter: place for place, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([tokenizers.AddedToken(END_OF_TEXT, special=True)])
    tokenizer.save(str(directory / "tokenizer.json"))
    configuration = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END_OF_TEXT}
    (directory / "tokenizer_config.json").write_text(json.dumps(configuration), encoding="utf-8")
    (directory / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
    return tokenizer.get_vocab_size()
