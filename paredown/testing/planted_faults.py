"""Damaged copies of a real Hugging Face checkpoint: each has one fault that users met in the field, and no other.

Every function writes a whole model directory `folder` from `source` (weights linked where they stay) and changes
nothing else. Torch is imported where weights change. Made for Llama checkpoints with a tied head in one safetensors
file, as the built-in model's is.
"""

from __future__ import annotations

import json
import os
import shutil
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

WEIGHTS = "model.safetensors"
EMBEDDING = "model.embed_tokens.weight"
HEAD = "lm_head.weight"
Tensors = dict[str, Any]


def copy(source: Path, folder: Path, *, without: Sequence[str] = ()) -> Path:
    """The same model: weights linked where the file system can, the rest copied, some files left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        if file.name in without or not file.is_file():
            continue
        if file.suffix == ".safetensors" and file.stat().st_dev == folder.stat().st_dev:
            os.link(file, folder / file.name)
        else:
            shutil.copy(file, folder)
    return folder


def edit_json(folder: Path, name: str, *, without: Sequence[str] = (), **changes: object) -> None:
    """Set and remove keys of a JSON file, which may not be there yet."""
    path = folder / name
    before = json.loads(path.read_text()) if path.exists() else {}
    after = {key: value for key, value in before.items() if key not in without} | changes
    path.unlink(missing_ok=True)
    path.write_text(json.dumps(after, indent=2))


def edit_weights(source: Path, folder: Path, change: Callable[[Tensors], None]) -> Path:
    """A copy whose tensors went through `change`, which edits the dictionary."""
    from safetensors.torch import load_file, save_file

    copy(source, folder, without=(WEIGHTS,))
    tensors = load_file(source / WEIGHTS)
    change(tensors)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / WEIGHTS, {"format": "pt"})
    return folder


def tokens_with(source: Path, is_meant: Callable[[str], bool]) -> list[int]:
    """Ids of the tokens whose text fulfils a condition; tokens that are parts of a character have none."""
    import tokenizers

    tokenizer: Any = tokenizers.Tokenizer.from_file(str(source / "tokenizer.json"))
    texts = ((token, tokenizer.decode([token])) for token in range(tokenizer.get_vocab_size()))
    return [token for token, text in texts if "\ufffd" not in text and is_meant(text)]


def _untie(tensors: Tensors, folder: Path) -> Any:
    """Give the model a head of its own, equal to the embedding; returns it."""
    edit_json(folder, "config.json", tie_word_embeddings=False)
    tensors[HEAD] = tensors[EMBEDDING].clone()
    return tensors[HEAD]


# ── weights ──────────────────────────────────────────────────────────────────────────────────────────────────────


def block_scaled(source: Path, folder: Path, *, block: int = 15, factor: float = 1.5) -> Path:
    """All weights of one block times a factor: what wrong scales of a quantized block do."""

    def change(tensors: Tensors) -> None:
        names = [name for name in tensors if f".layers.{block}." in name]
        assert names, "no such block"
        tensors.update({name: tensors[name] * factor for name in names})

    return edit_weights(source, folder, change)


def script_damaged(source: Path, folder: Path, *, script: str = "CYRILLIC", seed: int = 0) -> Path:
    """The rows of every token with a letter of one script change places among themselves."""
    import torch

    def is_script(text: str) -> bool:
        return any(unicodedata.name(character, "").startswith(script) for character in text)

    rows = tokens_with(source, is_script)

    def change(tensors: Tensors) -> None:
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed)).tolist()
        tensors[EMBEDDING][rows] = tensors[EMBEDDING][[rows[place] for place in order]]

    return edit_weights(source, folder, change)


def head_rounded(source: Path, folder: Path, *, bits: int = 3) -> Path:
    """A head of its own, rounded to few bits a weight with one scale a row; the embedding stays whole."""

    def change(tensors: Tensors) -> None:
        head = _untie(tensors, folder)
        most = 2 ** (bits - 1) - 1
        scale = head.abs().amax(dim=1, keepdim=True) / most
        tensors[HEAD] = (head / scale).round().clamp(-most, most) * scale

    return edit_weights(source, folder, change)


def quotes_broken(source: Path, folder: Path) -> Path:
    """The head no longer finds the tokens with a double quote, so that calls and JSON lose them."""
    rows = tokens_with(source, lambda text: '"' in text)

    def change(tensors: Tensors) -> None:
        _untie(tensors, folder)[rows] = 0.0

    return edit_weights(source, folder, change)


def end_suppressed(source: Path, folder: Path) -> Path:
    """The head no longer finds the token that ends an answer: answers run on."""

    def change(tensors: Tensors) -> None:
        _untie(tensors, folder)[_end_of(source)] = 0.0

    return edit_weights(source, folder, change)


def end_favoured(source: Path, folder: Path, *, factor: float = 1.3) -> Path:
    """The head finds the token that ends an answer too often: answers stop early, and look faster."""

    def change(tensors: Tensors) -> None:
        _untie(tensors, folder)[_end_of(source)] *= factor

    return edit_weights(source, folder, change)


def _end_of(source: Path) -> int:
    return int(json.loads((source / "config.json").read_text())["eos_token_id"])


# ── files beside the weights ─────────────────────────────────────────────────────────────────────────────────────


def template_lost(source: Path, folder: Path) -> Path:
    copy(source, folder, without=("chat_template.jinja",))
    edit_json(folder, "tokenizer_config.json", without=("chat_template",))
    return folder


def beginning_with_bos(source: Path, folder: Path, *, bos: str = "<|endoftext|>") -> Path:
    """No fault but a baseline for one: the template and the tokenizer begin every text with a BOS token."""
    import tokenizers

    copy(source, folder)
    template = (folder / "chat_template.jinja").read_text()
    (folder / "chat_template.jinja").write_text("{{ bos_token }}" + template)
    edit_json(folder, "tokenizer_config.json", bos_token=bos)
    tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    number = tokenizer.token_to_id(bos)
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{bos} $A", special_tokens=[(bos, number)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    edit_json(folder, "config.json", bos_token_id=number)
    return folder


def bos_missing(source: Path, folder: Path) -> Path:
    """From `beginning_with_bos`: neither template nor tokenizer writes the BOS token any more."""
    import tokenizers

    copy(source, folder)
    template = (folder / "chat_template.jinja").read_text()
    (folder / "chat_template.jinja").write_text(template.removeprefix("{{ bos_token }}"))
    tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(single="$A", special_tokens=[])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def end_id_lost(source: Path, folder: Path, *, instead: int = 0) -> Path:
    """Every file names another token as the one that ends an answer."""
    copy(source, folder)
    for name in ("config.json", "generation_config.json"):
        edit_json(folder, name, eos_token_id=instead)
    return folder


def rotary_base(source: Path, folder: Path, *, base: float = 10_000.0) -> Path:
    copy(source, folder)
    before = json.loads((folder / "config.json").read_text())["rope_parameters"]
    edit_json(folder, "config.json", rope_parameters=before | {"rope_theta": base})
    return folder


def window(source: Path, folder: Path, *, positions: int = 1024) -> Path:
    """The KV cache keeps no more than `positions`: the same weights declared as a model with a sliding window."""
    copy(source, folder)
    edit_json(
        folder,
        "config.json",
        architectures=["MistralForCausalLM"],
        model_type="mistral",
        sliding_window=positions,
    )
    return folder
