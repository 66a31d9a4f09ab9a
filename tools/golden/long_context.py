"""Slice `long_context`: questions on invented documents of about 512, 1,000 and 2,000 tokens."""

from __future__ import annotations

from tools.golden import documents
from tools.golden.items import Item

SLICE = "long_context"
DOCUMENTS = (
    *(("village", 20, "512"), ("hotel", 20, "512"), ("market", 20, "512"), ("school", 20, "512")),
    *(("harbor", 53, "1k"), ("farm", 53, "1k")),
    *(("island", 115, "2k"), ("valley", 115, "2k")),
)
"""Name (decides what is in it), sentences beside the point, tag `length` in tokens."""


def items() -> list[Item]:
    prose = documents.read_prose()
    return [
        item
        for name, sentences, length in DOCUMENTS
        for item in documents.items(SLICE, documents.write(prose, name, sentences), length)
    ]
