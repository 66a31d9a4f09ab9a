"""Facts of a model from config.json and the headers of its weight files: no torch, no weights loaded."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from paredown.errors import UserError
from paredown.models import configuration, formats, kv_cache
from paredown.models.weights import EMBEDDING, HEAD, MATRIX, StoredTensor
from paredown.records.artifact import LinearShape, ModelFacts

SOURCE_NOTE = "paredown_source.json"
DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "float8_e4m3fn": 1}
DTYPES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64", "F8_E4M3": "float8_e4m3fn"}
BLOCK = re.compile(r"(^|\.)(layers|h|blocks|block|layer)\.\d+\.")
EXPERT = re.compile(r"(^|\.)experts(\.\d+)?(\.|$)")
SHARED_EXPERT = re.compile(r"shared_expert")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
EXPERTS_PER_TOKEN = ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", "top_k_experts")


def facts(path: Path) -> ModelFacts:
    """What config.json and the weight files in `path` say of the model.

    Families with the usual names (Llama, Mistral, Qwen, Gemma, Mixtral, Qwen-MoE …) come out whole; for others the
    tensors' names and shapes decide. Raises UserError for unreadable files, or
    when the heads cannot be told.
    """
    config = configuration.text_part(configuration.read(path))
    note = configuration.read_if_there(path, SOURCE_NOTE)
    tensors = formats.load(formats.detect(path)).read(path)
    tied = _is_tied(config, tensors)
    counted = [t for t in tensors if not (tied and t.kind == HEAD)]
    dtype = _dtype(config, tensors)
    layers = _layers(config, tensors)
    heads = _first(config, ("num_attention_heads", "n_head", "num_heads"))
    hidden = _first(config, ("hidden_size", "n_embd", "d_model"))
    if not layers or not heads or not hidden:
        raise UserError(
            f"{path / 'config.json'} does not say how many layers and attention heads the model has "
            "(num_hidden_layers, num_attention_heads, hidden_size): paredown reads decoder language models."
        )
    kv_heads = _kv_heads(config, heads)
    head_dim = _first(config, ("head_dim",)) or hidden // heads
    linears = _linears(tensors)
    kept = kv_cache.layers_of(config, layers)
    return ModelFacts(
        name=str(note.get("name") or _name(path)),
        path=path,
        architecture=_architecture(config),
        dtype=dtype,
        parameters=sum(tensor.elements for tensor in counted if tensor.kind != "scale"),
        active_parameters=_active(config, tensors, tied=tied),
        layers=layers,
        hidden_size=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=_first(config, ("vocab_size",)) or 0,
        context_length=_first(config, ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")) or 0,
        tied_head=tied,
        kv_bytes_per_token=(kept.full + kept.windowed) * 2 * kv_heads * head_dim * DTYPE_BYTES.get(dtype, 2),
        linears=linears,
        has_chat_template=configuration.has_chat_template(path),
        caution=str(note.get("caution", "")),
        kv_full_layers=kept.full,
        windowed_layers=kept.windowed,
        window=kept.window,
        kv_unknown=kept.unknown or kv_cache.why_it_does_not_fit(kv_heads, head_dim, kept, linears),
    )


def _first(config: Mapping[str, Any], names: Sequence[str]) -> int | None:
    for name in names:
        value = config.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def _architecture(config: Mapping[str, Any]) -> str:
    named = config.get("architectures")
    return str(named[0]) if isinstance(named, list) and named else str(config.get("model_type", "unknown"))


def _name(path: Path) -> str:
    """`owner/name` for a directory of the hub's cache, else the directory's own name."""
    resolved = path.resolve()
    for part in reversed(path.absolute().parts):
        if part.startswith("models--"):
            return part.removeprefix("models--").replace("--", "/")
    return resolved.name


def _is_tied(config: Mapping[str, Any], tensors: Sequence[StoredTensor]) -> bool:
    """As config.json says; where it does not, whether no head is stored beside the embedding."""
    said = config.get("tie_word_embeddings")
    if isinstance(said, bool):
        return said
    return not any(tensor.kind == HEAD for tensor in tensors)


def _dtype(config: Mapping[str, Any], tensors: Sequence[StoredTensor]) -> str:
    """The data type of most plain matrices and tables; config.json decides where none is stored plain."""
    sizes: Counter[str] = Counter()
    for tensor in tensors:
        if tensor.dtype in DTYPES and tensor.kind in (MATRIX, HEAD, EMBEDDING):
            sizes[DTYPES[tensor.dtype]] += tensor.size_bytes
    return sizes.most_common(1)[0][0] if sizes else str(config.get("dtype") or config.get("torch_dtype") or "unknown")


def _layers(config: Mapping[str, Any], tensors: Sequence[StoredTensor]) -> int:
    said = _first(config, ("num_hidden_layers", "n_layer", "num_layers", "n_layers"))
    return said or len({found[0] for found in (BLOCK.search(t.name) for t in tensors) if found})


def _kv_heads(config: Mapping[str, Any], heads: int) -> int:
    """Heads of keys and values; where nothing is said, as many as there are queries, or one (multi-query)."""
    said = _first(config, ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"))
    is_multi_query = config.get("multi_query") is True and not config.get("new_decoder_architecture")
    return said or (1 if is_multi_query else heads)


def _active(config: Mapping[str, Any], tensors: Sequence[StoredTensor], *, tied: bool) -> int:
    """Matrix weights read for one token: blocks, the head once, and of the routed experts those used."""
    experts, used = _first(config, EXPERTS), _first(config, EXPERTS_PER_TOKEN)
    routed_share = used / experts if experts and used else 1.0
    head = EMBEDDING if tied else HEAD
    total = 0.0
    for tensor in tensors:
        if tensor.kind == MATRIX:
            is_routed = EXPERT.search(tensor.name) and not SHARED_EXPERT.search(tensor.name)
            total += tensor.elements * (routed_share if is_routed else 1.0)
        elif tensor.kind == head:
            total += tensor.elements
    return round(total)


def _linears(tensors: Sequence[StoredTensor]) -> tuple[LinearShape, ...]:
    """Families of equal matrices, in the order of the first; an untied head is one of them."""
    families: Counter[tuple[str, int, int]] = Counter()
    for tensor in tensors:
        # A packed matrix no longer shows its shape.
        packed = math.prod(tensor.shape) != tensor.elements
        if tensor.kind not in (MATRIX, HEAD) or len(tensor.shape) < 2 or packed:
            continue
        rows, columns = tensor.shape[-2:]
        family = EXPERT.sub(r"\1experts\3", _within_block(tensor.name).removesuffix(".weight"))
        families[(family, rows, columns)] += math.prod(tensor.shape[:-2])
    return tuple(LinearShape(name, rows, columns, count) for (name, rows, columns), count in families.items())


def _within_block(name: str) -> str:
    found = BLOCK.search(name)
    return name[found.end() :] if found else name
