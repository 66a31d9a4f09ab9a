"""Golden items from MT-Bench as it is published: `mt_bench:PATH` of a JSONL file with `question_id` and `turns`.

A judge model grades the answer to the first turn from 1 to 10 (`--scorer judge:url=…`), as the benchmark itself does.
What is published as `reference`, for the first turn of 38 of its 80 questions, is the bare result or a note on what to
look for, no answer that another one could be compared with: the judge sees it as notes, in `arguments.reference`.
The second turn follows on a candidate's own answer to the first and is not asked.
Format: github.com/lm-sys/FastChat (arXiv 2306.05685).
"""

from __future__ import annotations

from collections.abc import Iterator

from paredown.contracts import Loader, RawRow
from paredown.loaders import _published

MAX_TOKENS = 1024


def claims(source: str) -> bool:
    return source.startswith("mt_bench:")


def load(source: str) -> Iterator[RawRow]:
    """One row a line. Raises UserError naming file, line and field."""
    for record in _published.read_json_lines(_published.path_of(source)):
        number, turns = record.fields.get("question_id"), record.fields.get("turns")
        references = record.fields.get("reference", [])
        if not isinstance(number, int) or isinstance(number, bool):
            _published.wrong(record, "question_id", "a whole number")
        if not isinstance(turns, list) or not turns or not all(isinstance(turn, str) and turn for turn in turns):
            _published.wrong(record, "turns", "a list of texts")
        if not isinstance(references, list) or not all(isinstance(text, str) for text in references):
            _published.wrong(record, "reference", "a list of texts")
        fields = {
            "id": f"mt_bench/{number}",
            "slice": "chat",
            "scorer": "judge",
            "prompt": turns[0],
            "answer": "",
            "max_tokens": MAX_TOKENS,
            "tags": {"benchmark": "mt_bench", "category": _published.text_of(record, "category")},
            "arguments": {"reference": references[0]} if references and references[0].strip() else {},
        }
        yield RawRow(fields, record.where)


LOADER = Loader(name="mt_bench", summary="MT-Bench as published (mt_bench:PATH)", claims=claims, load=load)
