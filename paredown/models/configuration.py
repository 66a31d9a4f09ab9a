"""config.json and the small files beside it, with the field's names in one place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paredown.errors import UserError

TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "tekken.json", "vocab.txt", "byte_tokenizer.json"
)  # fmt: skip
TEMPLATE_FILES = ("tokenizer_config.json", "chat_template.json", "byte_tokenizer.json")


def is_there(directory: Path) -> bool:
    return (directory / "config.json").is_file()


def read(directory: Path, name: str = "config.json") -> Mapping[str, Any]:
    """The JSON object in that file. Raises UserError when it is not there or not a JSON object."""
    path = directory / name
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError(f"{directory} has no {name}: it is not a Hugging Face model directory.") from error
    except (ValueError, OSError) as error:
        raise UserError(f"{path} cannot be read as JSON ({error}). Copy or download it again.") from error
    if not isinstance(plain, dict):
        raise UserError(f"{path} holds {type(plain).__name__}, not a JSON object. Copy or download it again.")
    return plain


def read_if_there(directory: Path, name: str) -> Mapping[str, Any]:
    """The same; empty when the file is not there."""
    return read(directory, name) if (directory / name).is_file() else {}


def quantization(directory: Path) -> str:
    """The quantization method that config.json names (`bitsandbytes`, `gptq` …), empty for none."""
    section = read(directory).get("quantization_config") or {}
    return str(section.get("quant_method", "unknown")) if isinstance(section, dict) and section else ""


def text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The language model's part of a configuration (multimodal models nest it)."""
    nested = config.get("text_config")
    return {**config, **nested} if isinstance(nested, dict) else config


def has_tokenizer(directory: Path) -> bool:
    return any((directory / name).is_file() for name in TOKENIZER_FILES)


def has_chat_template(directory: Path) -> bool:
    """Whether a chat template is there, in any of the places where transformers (or the fake engine) looks for one."""
    if (directory / "chat_template.jinja").is_file() or any((directory / "chat_templates").glob("*.jinja")):
        return True
    return any(read_if_there(directory, name).get("chat_template") for name in TEMPLATE_FILES)


def custom_code(directory: Path) -> tuple[str, ...]:
    """The files here that name code of their own (`auto_map`), which transformers would import and run."""
    names = ("config.json", "tokenizer_config.json", "generation_config.json", "processor_config.json")
    return tuple(name for name in names if read_if_there(directory, name).get("auto_map"))
