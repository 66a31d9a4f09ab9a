"""The KV cache that a model's configuration calls for: which layers keep keys and values, and how many positions.

A full attention layer keeps every position of a context, a layer with a sliding window (or attention in chunks) no
more than its window, a linear-attention or state-space layer none. What none of this describes is said to be unknown:
a wrong prediction would be taken for the engine's fault.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paredown.records.artifact import Artifact, LinearShape, ModelFacts
from paredown.records.figure import Options

FULL = frozenset({"full_attention", "attention", "global_attention", "hybrid"})
WINDOWED = frozenset({"sliding_attention", "chunked_attention", "local_attention", "hybrid_sliding"})
NO_CACHE = frozenset({"linear_attention", "conv", "mamba", "recurrent", "moe", "mlp"})

LATENT = "its attention keeps a compressed state (multi-head latent attention), and how is the engine's affair"
HYBRID = "it mixes attention with state-space layers, and its configuration does not list which is which"
UNEQUAL = "its layers keep keys and values of different sizes"
HYBRID_FIELDS = (
    "attn_layer_period", "attn_layer_indices", "block_types", "hybrid_override_pattern", "layers_block_type",
    "mamba_d_state", "state_size", "ssm_state_size",
)  # fmt: skip
UNEQUAL_FIELDS = ("global_head_dim", "num_global_key_value_heads", "block_configs", "swa_head_dim")

ALTERNATING = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "cohere2": 4, "gpt_oss": 2}
"""Families whose older files name no layer types: every layer has a window but each n-th."""

ELEMENT_BYTES = {
    "float32": 4.0, "f32": 4.0, "float16": 2.0, "f16": 2.0, "bfloat16": 2.0, "bf16": 2.0, "F32": 4.0, "F16": 2.0,
    "BF16": 2.0, "FLOAT": 4.0, "FLOAT16": 2.0, "BFLOAT16": 2.0, "fp8": 1.0, "fp8_e4m3": 1.0, "fp8_e5m2": 1.0,
}  # fmt: skip
OPTIONS_OF_THE_CACHE = ("kv_cache_precision", "kv_cache_dtype", "dtype")
SCALE_BYTES = 8
BLOCK_POSITIONS = 32
"""Stored in 8 bits, OpenVINO keeps a scale and a zero point in fp32: for keys by channel and block of positions, for
values by head and position.
"""


@dataclass(frozen=True)
class KvLayers:
    """How many layers keep every position, and how many no more than `window`. `unknown`: why it cannot be told."""

    full: int
    windowed: int = 0
    window: int | None = None
    unknown: str = ""


def layers_of(config: Mapping[str, Any], layers: int) -> KvLayers:
    """Read from the language model's part of config.json; `layers`: how many blocks the model has."""
    unknown = _why_unknown(config)
    kinds = config.get("layer_types")
    if not isinstance(kinds, list) or not kinds:
        kinds = _kinds_by_window(config, layers)
    shared = config.get("num_kv_shared_layers")
    if isinstance(shared, int) and shared > 0:
        kinds = kinds[:-shared]  # these use what an earlier layer keeps
    strange = sorted({str(kind) for kind in kinds} - FULL - WINDOWED - NO_CACHE)
    if strange:
        unknown = unknown or f"how much its layers of the kind {strange[0]} keep is not known here"
    windowed = sum(kind in WINDOWED for kind in kinds)
    window = _window(config)
    if windowed and window is None:
        unknown = unknown or "its configuration has layers with a window, but not how long it is"
    full = sum(kind in FULL or str(kind) in strange for kind in kinds)
    return KvLayers(full, windowed, window if windowed else None, unknown)


def why_it_does_not_fit(facts_heads: int, head_dim: int, layers: KvLayers, linears: Sequence[LinearShape]) -> str:
    """Why the projections in the weight files contradict the configuration; empty when they do not, or are packed."""
    keys = [one for one in linears if one.name.rpartition(".")[2] == "k_proj"]
    if not keys:
        return ""
    if any(one.rows != facts_heads * head_dim for one in keys):
        found = ", ".join(str(one.rows) for one in keys)
        return f"the configuration says {facts_heads} × {head_dim} values a key, the weights have {found}"
    if sum(one.count for one in keys) < layers.full + layers.windowed:
        return "some of its layers have no keys of their own"
    return ""


def kv_bytes(facts: ModelFacts, tokens: int, element_bytes: float, *, sequences: int = 1) -> int | None:
    """Bytes of keys and values for `sequences` contexts of `tokens` positions each; None = not predicted
    (`facts.kv_unknown` says why).

    A layer with a window holds at most its window: bytes grow slower from there on.
    """
    if facts.kv_unknown:
        return None
    positions = facts.kv_full_layers * tokens
    if facts.window is not None:
        positions += facts.windowed_layers * min(tokens, facts.window)
    return round(sequences * positions * 2 * facts.kv_heads * facts.head_dim * element_bytes)


def kv_bytes_without_window(facts: ModelFacts, tokens: int, element_bytes: float) -> int | None:
    """The same for an engine that keeps every position in every layer, windows or not."""
    if facts.kv_unknown:
        return None
    layers = facts.kv_full_layers + facts.windowed_layers
    return round(layers * tokens * 2 * facts.kv_heads * facts.head_dim * element_bytes)


def element_bytes(facts: ModelFacts, artifact: Artifact | None, options: Options) -> float | None:
    """Bytes of one stored key or value: by the engine's option for it, else the type of the artifact's plain weights
    (activations are of that type too), else of the model. None = a type that is not known here.
    """
    for name in OPTIONS_OF_THE_CACHE:
        chosen = options.get(name)
        if chosen == "u8":
            return 1.0 + (SCALE_BYTES / BLOCK_POSITIONS + SCALE_BYTES / facts.head_dim) / 2
        if chosen not in {None, "auto"}:
            return ELEMENT_BYTES.get(str(chosen))
    sizes: dict[str, int] = {}
    for group in artifact.groups if artifact else ():
        if group.dtype in ELEMENT_BYTES:
            sizes[group.dtype] = sizes.get(group.dtype, 0) + group.size_bytes
    return ELEMENT_BYTES.get(max(sizes, key=sizes.__getitem__) if sizes else facts.dtype)


def _kinds_by_window(config: Mapping[str, Any], layers: int) -> list[str]:
    """Kinds of layers where none are listed: by the fields that each family has for it."""
    windowed, full = "sliding_attention", "full_attention"
    if _window(config) is None:
        return [full] * layers
    pattern = config.get("sliding_window_pattern", ALTERNATING.get(str(config.get("model_type"))))
    if isinstance(pattern, int) and pattern > 0:
        return [full if (layer + 1) % pattern == 0 else windowed for layer in range(layers)]
    first = config.get("max_window_layers")
    if isinstance(first, int) and "use_sliding_window" in config:
        return [windowed if layer >= first else full for layer in range(layers)]
    return [windowed] * layers


def _window(config: Mapping[str, Any]) -> int | None:
    if config.get("use_sliding_window") is False:
        return None
    for name in ("sliding_window", "attention_chunk_size"):
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _why_unknown(config: Mapping[str, Any]) -> str:
    if config.get("kv_lora_rank"):
        return LATENT
    if "layer_types" not in config and any(config.get(name) for name in HYBRID_FIELDS):
        return HYBRID
    heads = config.get("num_key_value_heads", config.get("num_kv_heads"))
    if isinstance(heads, list) or any(config.get(name) for name in UNEQUAL_FIELDS):
        return UNEQUAL
    return ""
