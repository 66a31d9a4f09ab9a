"""NVTX ranges around phases and steps, which Nsight Systems and Nsight Compute show. Standard library at import."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from paredown.profile.driving import Around, quiet


def nvtx(device: str) -> Around:
    """Ranges on an NVIDIA device; nothing elsewhere, or where the engine's environment has no torch that knows one."""
    if not device.startswith("cuda"):
        return quiet
    try:
        import torch
    except ImportError:
        return quiet
    if not torch.cuda.is_available():
        return quiet

    @contextlib.contextmanager
    def around(name: str) -> Iterator[None]:
        torch.cuda.nvtx.range_push(name)
        try:
            yield
        finally:
            torch.cuda.nvtx.range_pop()

    return around
