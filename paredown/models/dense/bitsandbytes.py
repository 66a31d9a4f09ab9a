"""Checkpoints that bitsandbytes quantized, without bitsandbytes: 4 bits by a code book, 8 bits by a scale a row.

Layout (bitsandbytes 0.4x and 0.50, `QuantState.as_dict` and `Int8Params`): two 4-bit codes a byte, the first in the
upper half; `absmax` one scale a block, itself 8-bit codes with `nested_*` when double quantization was on; `SCB` is
the largest magnitude of a row, which 127 stands for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from paredown.errors import UserError
from paredown.models import safetensors_header, safetensors_values
from paredown.models.dense import Weights
from paredown.models.formats.bitsandbytes import FOUR_BIT_STATE, PARTS

Read = Callable[[str], Any]


def weights(directory: Path) -> Weights:
    places = {
        entry.name: (path, entry)
        for path in safetensors_header.files(directory)
        for entry in safetensors_header.read(path)
    }

    def read(name: str) -> Any:
        if name not in places:
            raise UserError(f"{directory} lacks the tensor {name!r} that its quantized weights need.")
        path, entry = places[name]
        return safetensors_values.read(path, entry)

    states = {match["weight"]: name for name in places if (match := FOUR_BIT_STATE.match(name))}
    found: dict[str, Callable[[], Any]] = {}
    for name, (path, entry) in places.items():
        if name in states:
            found[name] = partial(_four_bits(states[name]), name, read)
        elif name.removesuffix(".weight") + ".SCB" in places and entry.dtype == "I8":
            found[name] = partial(_eight_bits, name, read)
        elif entry.dtype in safetensors_values.FLOATS and not PARTS.search(name):
            found[name] = partial(safetensors_values.read_float32, path, entry)
    return found


def _eight_bits(name: str, read: Read) -> Any:
    import numpy as np

    scale = read(name.removesuffix(".weight") + ".SCB").astype(np.float32) / 127.0
    return read(name).astype(np.float32) * scale[:, None]


def _four_bits(state_name: str) -> Callable[[str, Read], Any]:
    def make(name: str, read: Read) -> Any:
        import numpy as np

        state = json.loads(read(state_name).tobytes())
        packed = read(name).reshape(-1)
        codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)
        values = read(f"{name}.quant_map").astype(np.float32)[codes]
        scales = _scales(name, read, state)
        values = values[: values.size].reshape(len(scales), -1) * scales[:, None]
        return values.reshape(state["shape"])

    return make


def _scales(name: str, read: Read, state: Mapping[str, Any]) -> Any:
    import numpy as np

    absmax = read(f"{name}.absmax")
    if absmax.dtype != np.uint8:
        return absmax.astype(np.float32)
    block = int(state["nested_blocksize"])
    outer = np.repeat(read(f"{name}.nested_absmax"), block)[: absmax.size]
    return read(f"{name}.nested_quant_map")[absmax] * outer + float(state["nested_offset"])
