"""What two model directories declare about themselves, side by side: read from their files, before anything runs.

A lost line of a configuration breaks a model only where nobody looks (long texts, another engine's defaults), so every
difference is named. What no technique may lose fails the gate; what one may change on purpose passes with a warning,
and stands beside the verdict as the first thing to look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paredown.hosts.tokenizer import SPECIAL_TOKENS, special_tokens, template_of
from paredown.models import configuration, kv_cache
from paredown.records.golden import Check

Values = Mapping[str, Any]

NEVER_LOST = ("bos_token", "eos_token")
GENERATION_DEFAULTS: Values = {
    "do_sample": False, "temperature": 1.0, "top_p": 1.0, "top_k": 50, "min_p": None, "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0, "max_length": 20, "max_new_tokens": None, "min_new_tokens": None,
    "suppress_tokens": None,
}  # fmt: skip
"""What transformers does where generation_config.json is silent, so that an explicit default is no difference."""

GENERATION = "generation_config.json"


@dataclass(frozen=True)
class Declared:
    """One directory's statements; None or empty = it makes none.

    rope:       settings of the rotary embedding in one layout; empty = config.json has none
    window:     positions that layers with a window keep; windowed: how many layers have one
    stop_files: ids that end an answer, by file
    """

    special_tokens: Mapping[str, str]
    template: str | None
    generation: Values
    stop_files: Mapping[str, frozenset[int]]
    rope: Values
    windowed: int
    window: int | None
    context_length: int | None
    vocabulary: int | None
    tied_head: bool | None


def read(directory: Path) -> Declared:
    """Raises UserError for a file that is not JSON."""
    config = configuration.text_part(configuration.read_if_there(directory, "config.json"))
    generation = configuration.read_if_there(directory, GENERATION)
    layers = _whole(config, "num_hidden_layers") or 0
    kept = kv_cache.layers_of(config, layers)
    template = template_of(directory)
    return Declared(
        special_tokens=special_tokens(directory),
        template=template.strip() if template is not None else None,
        generation={key: generation.get(key, usual) for key, usual in GENERATION_DEFAULTS.items()},
        stop_files={
            name: ids for name, plain in (("config.json", config), (GENERATION, generation)) if (ids := _ids(plain))
        },
        rope=_rope(config),
        windowed=kept.windowed,
        window=kept.window,
        context_length=_whole(config, "max_position_embeddings"),
        vocabulary=_whole(config, "vocab_size"),
        tied_head=config["tie_word_embeddings"] if isinstance(config.get("tie_word_embeddings"), bool) else None,
    )


def check(baseline: Path, candidate: Path) -> tuple[Check, ...]:
    """Every statement of the candidate's directory beside the baseline's. Raises UserError for a damaged file."""
    before, after = read(baseline), read(candidate)
    return (
        _special(before, after),
        _stop_files(before, after),
        _template(before, after),
        _generation(before, after),
        _rotary(before, after),
        _windows(before, after),
        _context(before, after),
        _vocabulary(before, after),
        _head(before, after),
    )


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _ids(plain: Values) -> frozenset[int]:
    value = plain.get("eos_token_id")
    given = value if isinstance(value, list) else [value]
    return frozenset(one for one in given if isinstance(one, int))


def _whole(config: Values, name: str) -> int | None:
    value = config.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _rope(config: Values) -> dict[str, Any]:
    """Old files have `rope_theta` and `rope_scaling`, new `rope_parameters` (for each kind of layer, if unlike)."""
    found: dict[str, Any] = {}
    if "rope_theta" in config:
        found["rope_theta"] = float(config["rope_theta"])
    for section in ("rope_scaling", "rope_parameters"):
        plain = config.get(section)
        if isinstance(plain, dict):
            found.update(_flat(plain))
    return {key: value for key, value in found.items() if value not in (None, "default")}


def _flat(plain: Values, prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in plain.items():
        name = prefix + {"type": "rope_type"}.get(key, key)
        if isinstance(value, dict):
            found.update(_flat(value, f"{name}."))
        else:
            found[name] = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
    return found


# ── one check each ───────────────────────────────────────────────────────────────────────────────────────────────


def _warning(name: str, detail: str) -> Check:
    return Check(name, passed=True, detail=detail, warns=True)


def _special(before: Declared, after: Declared) -> Check:
    name = "special tokens"
    if not before.special_tokens or not after.special_tokens:
        silent = "baseline's" if not before.special_tokens else "candidate's"
        return Check(name, None, f"the {silent} files name none")
    other = [
        (key, before.special_tokens[key], after.special_tokens.get(key))
        for key in SPECIAL_TOKENS
        if key in before.special_tokens and after.special_tokens.get(key) != before.special_tokens[key]
    ]
    if not other:
        return Check(name, passed=True, detail=f"{len(before.special_tokens)} have the baseline's texts")
    said = "; ".join(f"{key} is {_said(now)}, in the baseline {old!r}" for key, old, now in other)
    if any(key in NEVER_LOST for key, _, _ in other):
        return Check(name, passed=False, detail=f"Special tokens of the tokenizer were lost or changed: {said}.")
    return _warning(name, f"Other special tokens in the tokenizer's files: {said}.")


def _stop_files(before: Declared, after: Declared) -> Check:
    name = "stop ids in files"
    lost = {
        file: sorted(ids - after.stop_files[file])
        for file, ids in before.stop_files.items()
        if file in after.stop_files and ids - after.stop_files[file]
    }
    if lost:
        said = "; ".join(f"{file} no longer names {', '.join(map(str, ids))}" for file, ids in lost.items())
        return _warning(name, f"{said}, as the baseline's does: an engine that reads this file would not end there.")
    return Check(name, passed=True, detail=f"{' and '.join(before.stop_files) or 'no file'} as in the baseline")


def _template(before: Declared, after: Declared) -> Check:
    name = "template text"
    if before.template == after.template:
        return Check(name, passed=True, detail="is the baseline's, or neither has one")
    if after.template is None:
        return _warning(name, "The chat template was lost: no file of the candidate has one.")
    return _warning(
        name,
        f"The chat template has another text ({len(after.template)} characters, the baseline's "
        f"{len(before.template or '')}): what it does with tools or other roles may differ where nothing was tried.",
    )


def _generation(before: Declared, after: Declared) -> Check:
    name = "generation defaults"
    said = _differences(before.generation, after.generation)
    if not said:
        return Check(name, passed=True, detail=f"{GENERATION} samples and stops as the baseline's")
    return _warning(
        name,
        f"Other defaults in {GENERATION}: {said}. Engines that follow that file will answer otherwise than measured "
        "here (greedily, without penalties).",
    )


def _rotary(before: Declared, after: Declared) -> Check:
    name = "rotary embedding"
    said = _differences(before.rope, after.rope)
    if not said:
        return Check(name, passed=True, detail="has the baseline's base and scaling")
    return _warning(name, f"Other rotary positions in config.json: {said}. A wrong one shows in long texts first.")


def _windows(before: Declared, after: Declared) -> Check:
    name = "attention window"
    if (before.windowed, before.window) == (after.windowed, after.window):
        return Check(name, passed=True, detail="layers keep as many positions as the baseline's")
    return _warning(
        name,
        f"Attention sees fewer or other positions: {_window(after)}; in the baseline {_window(before)}. "
        "Whatever lies farther back is forgotten.",
    )


def _window(one: Declared) -> str:
    return f"{one.windowed} layers keep the last {one.window or 0:,} positions" if one.windowed else "none has a window"


def _context(before: Declared, after: Declared) -> Check:
    name = "context length"
    if before.context_length is None or after.context_length is None:
        return Check(name, None, "not declared on both sides")
    if after.context_length < before.context_length:
        return _warning(
            name,
            f"Takes {after.context_length:,} positions, the baseline {before.context_length:,}: longer prompts are "
            "refused.",
        )
    return Check(name, passed=True, detail=f"{after.context_length:,} positions, baseline {before.context_length:,}")


def _vocabulary(before: Declared, after: Declared) -> Check:
    name = "vocabulary"
    if before.vocabulary is None or after.vocabulary is None:
        return Check(name, None, "not declared on both sides")
    said = f"{after.vocabulary:,} tokens, baseline {before.vocabulary:,}"
    if after.vocabulary < before.vocabulary:
        return Check(name, passed=False, detail=f"The vocabulary lost tokens: {said}.")
    return Check(name, passed=True, detail=said)


def _head(before: Declared, after: Declared) -> Check:
    name = "head"
    if before.tied_head is None or after.tied_head is None:
        return Check(name, None, "config.json does not say on both sides whether it is tied")
    if before.tied_head == after.tied_head:
        return Check(name, passed=True, detail=f"{'tied to' if after.tied_head else 'apart from'} the embedding")
    how = (
        "Head and embedding share their weights in the baseline and are stored apart here"
        if before.tied_head
        else "Head and embedding are apart in the baseline and share one table here"
    )
    return _warning(name, f"{how}: the head may have been damaged or rounded by itself.")


def _differences(before: Values, after: Values) -> str:
    keys = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return "; ".join(f"{key} is {_said(after.get(key))}, in the baseline {_said(before.get(key))}" for key in keys)


def _said(value: object) -> str:
    if value is None:
        return "not set"
    return f"{value:,.10g}" if isinstance(value, float) else repr(value)
