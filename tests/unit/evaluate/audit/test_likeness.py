"""Calibration data that are like the prompts pass; source code, another language, too little and too short do not."""

from __future__ import annotations

import inspect
import random

import pytest

from paredown.curate import strata
from paredown.evaluate.audit import likeness
from paredown.evaluate.audit.likeness import Production
from paredown.hosts.tokenizer import ByteTokenizer
from paredown.records.audit import Severity
from paredown.records.calibration import Calibration, CalibrationSample
from paredown.traffic import load, settling, synthetic

ASKED = [message.content for request in load.load("chat").requests for message in request.messages]
CODE = [part for module in (settling, synthetic, load) for part in inspect.getsource(module).split("\n\n") if part]


class Words(ByteTokenizer):
    """Tokens are words with the space before them, marks and line ends."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def encode(self, text: str, *, special_tokens: bool) -> tuple[int, ...]:
        import re

        parts = re.findall(r"\n\s*| ?[^\W\d_]+| ?\d+| ?[^\w\s]|_| +", text)
        return tuple(self.known.setdefault(part, len(self.known)) for part in parts)

    def decode(self, ids) -> str:
        texts = list(self.known)
        return "".join(texts[token] for token in ids)


def data(texts, *, continuous: bool = True) -> Calibration:
    samples = tuple(CalibrationSample(text, where=f"c:{n}") for n, text in enumerate(texts))
    return Calibration("c.txt", samples, "d", continuous=continuous)


def kinds(texts, asked=ASKED, *, lengths=(10,), widest: int = 1, continuous: bool = True) -> dict[str, str]:
    production = Production(tuple(asked), lengths, strata.language)
    found = likeness.find(production, data(texts, continuous=continuous), Words(), widest=widest)
    return {one.kind: one.sentence for one in found}


def english() -> list[str]:
    """Sentences of the traffic `long`: other words than those of `chat`."""
    return [message.content for request in load.load("long").requests for message in request.messages]


def test_text_like_the_prompts_passes() -> None:
    assert kinds(ASKED[::2], ASKED[1::2]) == {}
    assert kinds(english()) == {}


def test_source_code_is_unlike_chat_and_the_sentence_has_the_figures() -> None:
    said = kinds(CODE)["calibration unlike production"]
    for part in ("c.txt", "% of their tokens are", "two halves of the prompts by 0.0", "stays below 0.12"):
        assert part in said
    assert "calibration unlike production" not in kinds(CODE[::2], CODE[1::2])


def test_a_little_code_among_prose_passes_and_much_does_not() -> None:
    draw = random.Random(0)
    prose = " ".join(english()).split(". ")
    mixed = draw.sample(prose, 200) + draw.sample(CODE, 2)
    assert "calibration unlike production" not in kinds(mixed)
    assert "calibration unlike production" in kinds(draw.sample(prose, 20) + CODE)


def test_a_language_that_the_data_lack_is_named_with_its_share() -> None:
    german = ["Wie viele Züge fahren am Morgen von dem alten Bahnhof in die Stadt und wann ist das?"] * 40
    said = kinds(ASKED, [*ASKED, *german])["calibration language"]
    assert "de " in said
    assert "of the prompts and 0 % of the data" in said
    assert "calibration language" not in kinds([*ASKED, *german[:10]], [*ASKED, *german])
    assert "calibration language" not in kinds(ASKED, [*ASKED, "zzz yyy xxx www vvv"] * 3)


def test_fewer_tokens_than_the_widest_layer_has_inputs_are_too_few() -> None:
    said = kinds(ASKED, widest=10**6)["few calibration tokens"]
    assert "1,000,000 inputs" in said
    assert "few calibration tokens" not in kinds(ASKED, widest=100)


def test_samples_that_end_before_the_prompts_do_are_too_short() -> None:
    short = [text[:120] for text in ASKED]
    said = kinds(short, lengths=(20, 400), continuous=False)["calibration too short"]
    assert "the longest has 400 tokens" in said
    assert "calibration too short" not in kinds(short, lengths=(20, 25), continuous=False)
    assert "calibration too short" not in kinds(short, lengths=(20, 400), continuous=True)


@pytest.mark.parametrize(("texts", "asked"), [(["One."], ASKED), (ASKED, ["One?", "Two?"])])
def test_too_little_to_compare_is_said_and_is_no_pass(texts, asked) -> None:
    production = Production(tuple(asked), (5,), strata.language)
    found = likeness.find(production, data(texts), Words(), widest=1)
    assert [(one.kind, one.severity) for one in found] == [("calibration not compared", Severity.WARN)]


def test_only_so_much_text_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likeness, "MOST_TOKENS", 600)
    drawn = likeness._drawn(english(), Words())
    assert not drawn.whole
    assert 600 <= drawn.tokens < 4000
