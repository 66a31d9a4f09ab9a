"""Golden items from MGSM as it is published: a TSV file without header, question TAB answer, one file a language.

`mgsm:PATH` where the file is named for its language (`mgsm_de.tsv`, `mgsm-de.tsv`), or `mgsm:LANGUAGE:PATH`.
The same line of two languages is the same problem, and so is that line of GSM8K's test file: such items form one
cluster, so that a split does not part them.
Format: github.com/google-research/url-nlp (arXiv 2210.03057).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from paredown.contracts import Loader, RawRow
from paredown.errors import UserError
from paredown.loaders import _published

IN_FILE_NAME = re.compile(r"(?:.*[_-])?([a-z]{2,3})")
GIVEN = re.compile(r"([a-z]{2,3}):(.+)", re.DOTALL)
# Languages of MGSM that write 1.234 for one thousand two hundred and thirty-four.
DECIMAL_COMMA = ("de", "es", "fr", "ru")
MAX_TOKENS = 512


class _Source(NamedTuple):
    language: str
    path: str


def claims(source: str) -> bool:
    return source.startswith("mgsm:")


def load(source: str) -> Iterator[RawRow]:
    """One row a line, scored by its last number. Raises UserError naming file and line."""
    language, path = _language_and_path(source)
    arguments = {"decimal": ","} if language in DECIMAL_COMMA else {}
    for line, text in _published.read_text_lines(path):
        if not text.strip():
            continue
        where = f"{path}:{line}"
        question, tab, written = text.rpartition("\t")
        if not tab or "\t" in question or not question.strip():
            raise UserError(f"{where}: {text.count(chr(9)) + 1} cells; expected a question, one tab and the answer.")
        number = _published.whole_number(written)
        if number is None:
            raise UserError(f"{where}: the answer, after the tab, is {written[:40]!r}; expected a whole number.")
        fields = {
            "id": f"mgsm/{language}/{line}",
            "slice": "multilingual",
            "scorer": "number",
            "prompt": question,
            "answer": number,
            "max_tokens": MAX_TOKENS,
            "tags": {"benchmark": "mgsm", "language": language},
            "arguments": arguments,
            "cluster": f"mgsm/{line}",
        }
        yield RawRow(fields, where)


def _language_and_path(source: str) -> _Source:
    rest = _published.path_of(source)
    if given := GIVEN.fullmatch(rest):
        return _Source(given[1], given[2])
    named = IN_FILE_NAME.fullmatch(Path(rest).stem.lower())
    if named is None:
        raise UserError(f"The name of {rest} tells no language. Write mgsm:LANGUAGE:{rest}, as in mgsm:de:{rest}.")
    return _Source(named[1], rest)


LOADER = Loader(name="mgsm", summary="MGSM as published (mgsm:PATH, mgsm:LANGUAGE:PATH)", claims=claims, load=load)
