"""Tiny Hugging Face checkpoints for tests: right in every file, with weights that mean nothing."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paredown.models.safetensors_header import BITS

Shapes = Mapping[str, tuple[str, tuple[int, ...]]]

LLAMA: Mapping[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "dtype": "bfloat16",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 256,
    "max_position_embeddings": 512,
    "tie_word_embeddings": True,
    "eos_token_id": 2,
}


def llama_shapes(config: Mapping[str, Any] = LLAMA, dtype: str = "BF16") -> dict[str, tuple[str, tuple[int, ...]]]:
    """Names, data types and shapes of a Llama model of that configuration."""
    hidden, inner, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        block = f"model.layers.{layer}"
        shapes |= {
            f"{block}.self_attn.q_proj.weight": (queries, hidden),
            f"{block}.self_attn.k_proj.weight": (keys, hidden),
            f"{block}.self_attn.v_proj.weight": (keys, hidden),
            f"{block}.self_attn.o_proj.weight": (hidden, queries),
            f"{block}.mlp.gate_proj.weight": (inner, hidden),
            f"{block}.mlp.up_proj.weight": (inner, hidden),
            f"{block}.mlp.down_proj.weight": (hidden, inner),
            f"{block}.input_layernorm.weight": (hidden,),
            f"{block}.post_attention_layernorm.weight": (hidden,),
        }
    shapes["model.norm.weight"] = (hidden,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (config["vocab_size"], hidden)
    return {name: (dtype, shape) for name, shape in shapes.items()}


def write_checkpoint(
    directory: Path,
    *,
    config: Mapping[str, Any] = LLAMA,
    shapes: Shapes | None = None,
    fill: int = 1,
) -> Path:
    """A checkpoint with config.json, weights, tokenizer and chat template; every data byte is `fill`."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (directory / "tokenizer.json").write_text("{}", encoding="utf-8")
    (directory / "tokenizer_config.json").write_text("{}", encoding="utf-8")
    (directory / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    write_safetensors(directory / "model.safetensors", llama_shapes(config) if shapes is None else shapes, fill=fill)
    return directory


def write_safetensors(path: Path, shapes: Shapes, *, fill: int = 1) -> Path:
    """One safetensors file, written by the format's own rules (header length, header, data)."""
    header: dict[str, Any] = {}
    offset = 0
    for name, (dtype, shape) in shapes.items():
        size = math.prod(shape) * BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes([fill]) * offset)
    return path
