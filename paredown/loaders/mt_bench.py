"""Golden items from MT-Bench as it is published: `mt_bench:PATH` of a JSONL file with `question_id` and `turns`.

Answers are compared by a judge model, so there are no items without a scorer `judge`. The first turn is asked;
`arguments.turns` holds both, because the second one follows on the candidate's own answer to the first, and `answer`
is the published reference answer to the first turn, where there is one. Format: github.com/lm-sys/FastChat
(arXiv 2306.05685).
"""

from __future__ import annotations

from collections.abc import Iterator

from paredown.contracts import Loader, RawRow
from paredown.loaders import _published

SCORER = "judge"
MAX_TOKENS = 1024


def claims(source: str) -> bool:
    return source.startswith("mt_bench:")


def load(source: str) -> Iterator[RawRow]:
    """One row a line. Raises UserError while there is no scorer `judge`, and naming file, line and field."""
    path = _published.path_of(source)
    _published.need_scorer(SCORER, "MT-Bench", "its answers are compared by a judge model")
    for record in _published.read_json_lines(path):
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
            "scorer": SCORER,
            "prompt": turns[0],
            "answer": references[0] if references else "",
            "max_tokens": MAX_TOKENS,
            "tags": {"benchmark": "mt_bench", "category": _published.text_of(record, "category")},
            "arguments": {"turns": turns},
        }
        yield RawRow(fields, record.where)


LOADER = Loader(name="mt_bench", summary="MT-Bench as published (mt_bench:PATH)", claims=claims, load=load)
