"""Single tensors of safetensors files as numpy arrays. bfloat16, which numpy lacks, is widened by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from paredown.models.safetensors_header import HeaderEntry

FLOATS = ("F64", "F32", "F16", "BF16")
NUMPY = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1", "U8": "u1", "I32": "<i4", "I64": "<i8"}


def read(path: Path, entry: HeaderEntry) -> Any:
    """The tensor as it is stored; bfloat16 as its 16-bit patterns."""
    import numpy as np

    with path.open("rb") as stream:
        stream.seek(entry.offset)
        data = stream.read(entry.size_bytes)
    return np.frombuffer(data, NUMPY[entry.dtype]).reshape(entry.shape)


def widened(values: Any, dtype: str) -> Any:
    """float32 from a tensor of one of FLOATS, as `read` gives it. A bfloat16 is the upper half of a float32."""
    import numpy as np

    if dtype == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float32)


def read_float32(path: Path, entry: HeaderEntry) -> Any:
    """A tensor of one of FLOATS as float32."""
    return widened(read(path, entry), entry.dtype)
