"""The small files beside the weights that a made artifact needs as well: tokenizer, chat template, generation."""

from __future__ import annotations

import shutil
from pathlib import Path

PATTERNS = (
    "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "*.spm",
    "spiece.model", "*.tiktoken", "chat_template*", "generation_config.json",
)  # fmt: skip


def copy_companions(source: Path, out: Path) -> tuple[str, ...]:
    """Copy them from `source` into `out`, unchanged and over what is there; the names of those copied."""
    names = sorted({path.name for pattern in PATTERNS for path in source.glob(pattern) if path.is_file()})
    for name in names:
        shutil.copyfile(source / name, out / name)
    return tuple(names)
