"""Slice `long_context`: questions on invented documents of about 512, 1,000 and 2,000 tokens."""

from __future__ import annotations

from tools.golden import documents
from tools.golden.books import BOOKS
from tools.golden.items import Item

SLICE = "long_context"


def items() -> list[Item]:
    return [item for book in BOOKS for item in documents.items(SLICE, book)]
