"""Golden items from GSM8K as it is published: `gsm8k:PATH` of a JSONL file with `question` and `answer`.

The right number stands after `####` in the answer. MGSM is a translation of the first MGSM_PROBLEMS lines of the test
file: those lines share a cluster with the same line of every MGSM file, so that one problem never chooses in one
language and confirms in another. Format: github.com/openai/grade-school-math (arXiv 2110.14168).
"""

from __future__ import annotations

from collections.abc import Iterator

from paredown.contracts import Loader, RawRow
from paredown.loaders import _published
from paredown.loaders._published import MGSM_PROBLEMS

MARK = "####"
MAX_TOKENS = 512


def claims(source: str) -> bool:
    return source.startswith("gsm8k:")


def load(source: str) -> Iterator[RawRow]:
    """One row a line, scored by its last number. Raises UserError naming file, line and field."""
    for record in _published.read_json_lines(_published.path_of(source)):
        line = int(record.where.rpartition(":")[2])
        question = _published.text_of(record, "question")
        _, mark, written = _published.text_of(record, "answer").rpartition(MARK)
        number = _published.whole_number(written) if mark else None
        if number is None:
            _published.wrong(record, "answer", f"a text that ends in {MARK!r} and a whole number")
        fields = {
            "id": _published.content_id("gsm8k", question),
            "slice": "reasoning",
            "scorer": "number",
            "prompt": question,
            "answer": number,
            "max_tokens": MAX_TOKENS,
            "tags": {"benchmark": "gsm8k"},
            "cluster": f"mgsm/{line}" if line <= MGSM_PROBLEMS else "",
        }
        yield RawRow(fields, record.where)


LOADER = Loader(name="gsm8k", summary="GSM8K as published (gsm8k:PATH)", claims=claims, load=load)
