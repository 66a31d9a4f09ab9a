"""Makes artifacts of the fake engine: a baseline that knows golden items, and variants of it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from paredown.hosts import chat_template
from paredown.records.codec import dumps
from paredown.records.golden import GoldenItem
from paredown.records.traffic import Message
from paredown.testing.fake_language import (
    CHAT_TEMPLATE,
    END,
    VOCABULARY,
    FakeScript,
    Faults,
    Knowledge,
    ScriptedItem,
    Speeds,
    read_script,
)

KNOWLEDGE = (
    Knowledge("capital of France", "The capital of France is Paris."),
    Knowledge("ripe banana", "Yellow."),
    Knowledge("days are in a week", "There are 7 days in a week."),
    Knowledge("sentence about the sea", "The sea is wide and blue today."),
    Knowledge("'good morning' into Spanish", "Buenos días."),
    Knowledge("tips for sleeping", "Go to bed at the same hour, and keep the room dark."),
)
CONTEXT_LENGTH = 65_536
SENSIBLE = FakeScript(knowledge=KNOWLEDGE)


def make(
    directory: Path,
    script: FakeScript = SENSIBLE,
    *,
    items: Iterable[GoldenItem] = (),
    context_length: int = CONTEXT_LENGTH,
) -> Path:
    """Write an artifact of the format `fake` into a new directory: fake.json, tokenizer, template, config.json.

    items: golden items that it is to know, beside those of the script; what is right comes from the items themselves
    """
    directory.mkdir(parents=True)
    known = tuple(scripted(item) for item in items)
    _write(directory / "fake.json", dataclasses.replace(script, items=(*script.items, *known)))
    _write(directory / "byte_tokenizer.json", {"chat_template": CHAT_TEMPLATE})
    _write(directory / "config.json", _config(context_length))
    return directory


def variant(source: Path, directory: Path, **changes: Any) -> Path:
    """A copy of an artifact with other fields of its script: `speeds`, `faults`, `right_fraction`, `weight_bytes` …"""
    make(directory, dataclasses.replace(read_script(source), **changes))
    for name in ("byte_tokenizer.json", "config.json"):
        (directory / name).write_bytes((source / name).read_bytes())
    return directory


def without_chat_template(source: Path, directory: Path) -> Path:
    """A copy that has lost its chat template."""
    variant(source, directory)
    _write(directory / "byte_tokenizer.json", {})
    return directory


def prompt_of(messages: Sequence[Message]) -> str:
    """The rendered conversation, as the fake's template gives it."""
    render = chat_template.compile_template(CHAT_TEMPLATE, {})
    return render([message.plain for message in messages], add_generation_prompt=True)


def scripted(item: GoldenItem) -> ScriptedItem:
    """What the fake has to know of a golden item to answer it right or wrong."""
    digest = hashlib.sha256(prompt_of(item.messages).encode()).hexdigest()
    if item.choices:
        right = item.choices[int(item.answer)]
        wrong = tuple(choice for choice in item.choices if choice != right)
    else:
        right, wrong = item.answer, ("I do not know.",)
    return ScriptedItem(digest, right, wrong, item.slice)


def fast(decode_us: int, prefill_us_per_token: int = 0) -> Speeds:
    """Speeds in microseconds per step and per prompt token."""
    return Speeds(prefill_ns_per_token=1000 * prefill_us_per_token, decode_ns_per_step=1000 * decode_us)


def faulty(**faults: Any) -> FakeScript:
    """A script that knows the usual and has these faults."""
    return FakeScript(knowledge=KNOWLEDGE, faults=Faults(**faults))


def _config(context_length: int) -> dict[str, Any]:
    return {
        "architectures": ["ScriptedModel"],
        "model_type": "fake",
        "dtype": "bfloat16",
        "vocab_size": VOCABULARY,
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "num_hidden_layers": 2,
        "max_position_embeddings": context_length,
        "eos_token_id": END,
        "tie_word_embeddings": True,
    }


def _write(path: Path, value: Any) -> None:
    text = json.dumps(value) if isinstance(value, dict) else dumps(value)
    path.write_text(text, encoding="utf-8")
