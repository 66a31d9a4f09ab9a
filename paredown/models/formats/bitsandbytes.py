"""Hugging Face directories that bitsandbytes quantized (LLM.int8, NF4, FP4).

Decided by the tensors, not by what config.json claims: a 4-bit matrix is bytes with a `quant_state` beside it, an
8-bit one is int8 with its scales (`SCB`) beside it; anything else is counted as it lies there.
"""

from __future__ import annotations

import re
from pathlib import Path

from paredown.errors import UserError
from paredown.models import configuration, safetensors_header
from paredown.models.safetensors_header import HeaderEntry
from paredown.models.weights import MATRIX, SCALE, StoredTensor, WeightFormat, kind_by_name

FOUR_BIT_STATE = re.compile(r"^(?P<weight>.+\.weight)\.quant_state\.bitsandbytes__(?P<type>nf4|fp4)$")
PARTS = re.compile(
    r"\.weight\.(absmax|quant_map|nested_absmax|nested_quant_map|quant_state\..+)$|\.(SCB|weight_format)$"
)


def _recognises(directory: Path) -> bool:
    return configuration.is_there(directory) and configuration.quantization(directory) == "bitsandbytes"


def _read(directory: Path) -> tuple[StoredTensor, ...]:
    files = safetensors_header.files(directory)
    if not files:
        raise UserError(f"{directory} has no *.safetensors files: its weights cannot be read.")
    entries = [entry for file in files for entry in safetensors_header.read(file)]
    states = [FOUR_BIT_STATE.match(entry.name) for entry in entries]
    four_bit = {state["weight"]: state["type"] for state in states if state}
    eight_bit = {entry.name.removesuffix(".SCB") + ".weight" for entry in entries if entry.name.endswith(".SCB")}
    return tuple(_stored(entry, four_bit, eight_bit) for entry in entries)


def _stored(entry: HeaderEntry, four_bit: dict[str, str], eight_bit: set[str]) -> StoredTensor:
    kind, dtype, elements = kind_by_name(entry.name, len(entry.shape)), entry.dtype, entry.elements
    if entry.name in four_bit:
        kind, dtype, elements = kind_by_name(entry.name, 2), four_bit[entry.name].upper(), 2 * entry.size_bytes
    elif entry.name in eight_bit and entry.dtype == "I8":
        kind = MATRIX if kind not in ("head", "embedding") else kind
    elif PARTS.search(entry.name):
        kind = SCALE
    return StoredTensor(entry.name, dtype, entry.shape, elements, entry.size_bytes, kind)


FORMAT = WeightFormat("bitsandbytes", _recognises, _read)
