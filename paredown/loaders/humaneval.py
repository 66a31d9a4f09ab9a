"""Golden items from HumanEval as it is published: `humaneval:PATH` of a JSONL file, packed (.gz) or not.

The answer is code and is judged by running the published tests: nothing is run, and nothing scored, before
`--scorer code:allow=yes`. Its data: `arguments.test` defines `check(candidate)`, `arguments.entry_point` names the
function, `arguments.prompt` is the head of the function, `answer` is the published solution.
Format: github.com/openai/human-eval (arXiv 2107.03374).
"""

from __future__ import annotations

from collections.abc import Iterator

from paredown.contracts import Loader, RawRow
from paredown.loaders import _published

MAX_TOKENS = 512
ASKED = "Complete this Python function. Answer with the whole function.\n\n"


def claims(source: str) -> bool:
    return source.startswith("humaneval:")


def load(source: str) -> Iterator[RawRow]:
    """One row a line. Raises UserError naming file, line and field."""
    for record in _published.read_json_lines(_published.path_of(source)):
        head = _published.text_of(record, "prompt")
        fields = {
            "id": f"humaneval/{_published.text_of(record, 'task_id').rpartition('/')[2]}",
            "slice": "code",
            "scorer": "code",
            "prompt": f"{ASKED}{head}",
            "answer": _published.text_of(record, "canonical_solution"),
            "max_tokens": MAX_TOKENS,
            "tags": {"benchmark": "humaneval"},
            "arguments": {
                "prompt": head,
                "test": _published.text_of(record, "test"),
                "entry_point": _published.text_of(record, "entry_point"),
            },
        }
        yield RawRow(fields, record.where)


LOADER = Loader(name="humaneval", summary="HumanEval as published (humaneval:PATH)", claims=claims, load=load)
