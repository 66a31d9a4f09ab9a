"""The artifact's own tokenizer and chat template, from its files, without loading the model.

`tokenizer.json` is read with `tokenizers`; `byte_tokenizer.json` (bytes are tokens: scripted and tiny models) with
nothing; anything else with transformers' AutoTokenizer. What is loaded is decided by the files that are there.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from paredown.errors import UserError
from paredown.hosts.chat_template import Conversation, Render, compile_template, local_time
from paredown.hosts.incremental import ByteText, IncrementalText, StreamedText

SLOW_VOCABULARIES = ("tokenizer.model", "spiece.model", "vocab.json", "vocab.txt", "tokenizer_config.json")
SPECIAL_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class Tokenizer(Protocol):
    """Text to token ids and back. `incremental()` gives the text of tokens that come one by one."""

    def encode(self, text: str, *, special_tokens: bool) -> tuple[int, ...]: ...
    def decode(self, ids: Sequence[int]) -> str: ...
    def incremental(self) -> IncrementalText: ...


@dataclass(frozen=True)
class LoadedTokenizer:
    """Tokenizer, template and the limits that the artifact's configuration declares.

    context_length: positions of the model; None when no file says
    stop_ids:       tokens that end a generation
    """

    tokenizer: Tokenizer
    render: Render
    context_length: int | None
    stop_ids: tuple[int, ...]

    def encode_conversation(self, messages: Conversation, *, add_generation_prompt: bool = True) -> tuple[int, ...]:
        """Token ids of the rendered conversation. Raises UserError when the template refuses it."""
        return self.tokenizer.encode(
            self.render(messages, add_generation_prompt=add_generation_prompt), special_tokens=False
        )


def load(directory: Path) -> LoadedTokenizer:
    """Raises UserError when there is no tokenizer that can be read."""
    return LoadedTokenizer(
        tokenizer=_tokenizer(directory),
        render=render_of(directory),
        context_length=_context_length(directory),
        stop_ids=_stop_ids(directory),
    )


# ── tokenizers ───────────────────────────────────────────────────────────────────────────────────────────────────


def _tokenizer(directory: Path) -> Tokenizer:
    if (directory / "tokenizer.json").exists():
        return _FastTokenizer(directory / "tokenizer.json")
    if (directory / "byte_tokenizer.json").exists():
        return ByteTokenizer()
    return _AutoTokenizer(directory)


class _FastTokenizer:
    def __init__(self, path: Path) -> None:
        import tokenizers

        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for a file that it cannot read
            raise UserError(f"{path} is not a tokenizer that can be read: {error}") from error
        # The file may ask for what was last used in training; a prompt is neither cut nor padded.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, text: str, *, special_tokens: bool) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=special_tokens).ids)

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def incremental(self) -> IncrementalText:
        from tokenizers.decoders import DecodeStream

        stream = DecodeStream(skip_special_tokens=True)
        return StreamedText(lambda token: stream.step(self._tokenizer, token), self.decode)


class _AutoTokenizer:
    """For checkpoints that bring only a SentencePiece or other slow vocabulary."""

    def __init__(self, directory: Path) -> None:
        missing = f"{directory} has no tokenizer.json. Put the tokenizer's files of the original model there."
        if not any((directory / name).exists() for name in SLOW_VOCABULARIES):
            raise UserError(missing)
        try:
            import transformers
        except ImportError as error:
            raise UserError(missing) from error
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
                str(directory), trust_remote_code=False, local_files_only=True
            )
        except Exception as error:  # whatever its loaders raise, the user's files are the reason
            raise UserError(
                f"{directory} has no tokenizer that can be read (no tokenizer.json, and AutoTokenizer says: "
                f"{str(error).splitlines()[0]}). Put the tokenizer's files beside the model."
            ) from error

    def encode(self, text: str, *, special_tokens: bool) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=special_tokens))

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def incremental(self) -> IncrementalText:
        return StreamedText(None, self.decode)


class ByteTokenizer:
    """Token i < 256 is byte i of UTF-8; larger ids are special tokens and have no text."""

    def encode(self, text: str, *, special_tokens: bool) -> tuple[int, ...]:  # noqa: ARG002  it has none to add
        return tuple(text.encode())

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(i for i in ids if i < 256).decode(errors="replace")

    def incremental(self) -> IncrementalText:
        return ByteText()


# ── what the configuration declares ──────────────────────────────────────────────────────────────────────────────


def render_of(directory: Path, now: Callable[[], dt.datetime] = local_time) -> Render:
    """The chat template of a directory; one that has none refuses every conversation. `now`: its clock"""
    template = template_of(directory)
    if template is None:

        def refuse(messages: Conversation, *, add_generation_prompt: bool) -> str:  # noqa: ARG001  a Render
            raise UserError(
                f"{directory} has no chat template (chat_template.jinja or tokenizer_config.json), so conversations "
                "cannot be turned into prompts. Put the template of the original model there."
            )

        return refuse
    return compile_template(template, special_tokens(directory), now)


def template_of(directory: Path) -> str | None:
    """The text of the chat template, from whichever file has it; None = none has. Raises UserError."""
    path = directory / "chat_template.jinja"
    if path.exists():
        return path.read_text(encoding="utf-8")
    template = _read(directory / "tokenizer_config.json").get("chat_template")
    if isinstance(template, list):  # older checkpoints: several named ones
        template = {entry["name"]: entry["template"] for entry in template}.get("default")
    if template is None:
        template = _read(directory / "chat_template.json").get("chat_template")
    if template is None:
        template = _read(directory / "byte_tokenizer.json").get("chat_template")
    return template if isinstance(template, str) else None


def special_tokens(directory: Path) -> dict[str, str]:
    """Texts of the special tokens that the tokenizer's files name. Raises UserError for a file that is no JSON."""
    found: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        for key, value in _read(directory / name).items():
            text = value.get("content") if isinstance(value, dict) else value
            if key in SPECIAL_TOKENS and isinstance(text, str):
                found[key] = text
    return found


def _context_length(directory: Path) -> int | None:
    config = _read(directory / "config.json")
    for section in (config, config.get("text_config"), _read(directory / "genai_config.json").get("model")):
        for key in ("max_position_embeddings", "n_positions", "context_length"):
            if isinstance(section, dict) and isinstance(section.get(key), int):
                return int(section[key])
    return None


def _stop_ids(directory: Path) -> tuple[int, ...]:
    config = _read(directory / "config.json")
    sources = (
        _read(directory / "generation_config.json"),
        config,
        config.get("text_config") or {},
        _read(directory / "genai_config.json").get("model") or {},
    )
    for source in sources:
        ids = source.get("eos_token_id")
        if isinstance(ids, int):
            return (ids,)
        if isinstance(ids, list) and ids:
            return tuple(int(i) for i in ids)
    return ()


def _read(path: Path) -> dict[str, Any]:
    """The JSON object of a file, empty when there is no such file. Raises UserError when it is damaged."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not JSON: {error}") from error
    if not isinstance(plain, dict):
        raise UserError(f"{path} holds no JSON object.")
    return plain
