"""What cannot be sent as it is: refused with its place and what to type, clipped, or skipped, and counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from paredown.errors import UserError
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.records.traffic import Traffic
from paredown.traffic import load as traffics

Write = Callable[[str, str], str]
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def mooncake(*rows: tuple[object, object, object]) -> str:
    return "".join(
        json.dumps(dict(zip(("timestamp", "input_length", "output_length"), row, strict=True))) + "\n" for row in rows
    )


@dataclass(frozen=True)
class Bad:
    """A file, what refusing it says, and what is left with its note: (arrival, prompt, answer), clipped and skipped."""

    name: str
    text: str
    says: str
    clipped: list[tuple[float, int, int]]
    clip_note: str
    skipped: list[tuple[float, int, int]]
    skip_note: str
    options: str = ""


CSV_LINES = [
    ("not a number", "2,many,3", r"a\.csv:3, ContextTokens is no whole number but 'many'"),
    ("half a token", "2,40.5,3", r"a\.csv:3, ContextTokens is no whole number but '40\.5'"),
    ("not finite", "2,40,inf", r"a\.csv:3, GeneratedTokens is no whole number but 'inf'"),
    ("no length", "2,,3", r"a\.csv:3, ContextTokens is no whole number but ''"),
    ("no time", ",40,3", r"a\.csv:3, TIMESTAMP is no time but ''"),
    ("no such day", "2023-11-36 10:00:00,40,3", r"a\.csv:3, TIMESTAMP is no time but '2023-11-36"),
    ("cut line", "2,40", r"a\.csv:3 has 2 columns; the first line has 3"),
    ("long line", "2,40,3,9", r"a\.csv:3 has 4 columns"),
]
UNREADABLE = [
    Bad(
        name,
        HEADER + f"1,30,2\n{line}\n4,50,4\n",
        says,
        [(0, 30, 2), (3, 50, 4)],
        "1 line could not be read and was left out",
        [(0, 30, 2), (3, 50, 4)],
        "1 line could not be read and was left out",
    )
    for name, line, says in CSV_LINES
]
JSON_LINES = [
    ("no JSON", "{oops", r"a\.jsonl:2 is not JSON"),
    ("no object", "[1]", r"a\.jsonl:2 is no mapping"),
    ("ms as text", '{"timestamp": "soon", "input_length": 40, "output_length": 2}', "timestamp is no number of milli"),
    (
        "no answer length",
        '{"timestamp": 2000, "input_length": 40}',
        r"a\.jsonl:2, output_length is no whole number but missing",
    ),
    (
        "true",
        '{"timestamp": 2000, "input_length": true, "output_length": 2}',
        "input_length is no whole number but True",
    ),
    (
        "ids",
        '{"timestamp": 2000, "input_length": 40, "output_length": 2, "hash_ids": ["x"]}',
        "hash_ids is no list of whole",
    ),
    ("other", '{"model": "m"}', "needs either `prompt` or `messages`"),
    ("no time", '{"input_length": 40, "output_length": 2}', r"a\.jsonl:2 has no time, while other lines"),
]
UNREADABLE += [
    Bad(
        f"json: {name}",
        mooncake((1000, 30, 2)) + line + "\n" + mooncake((4000, 50, 4)),
        says,
        [(0, 30, 2), (3, 50, 4)],
        "was left out" if name != "no time" else "1 request without a time was left out",
        [(0, 30, 2), (3, 50, 4)],
        "was left out",
    )
    for name, line, says in JSON_LINES
]
LENGTHS = [
    Bad(
        "zero prompt",
        HEADER + "1,30,2\n2,0,3\n",
        r"a\.csv:3, ContextTokens is 0, but the chat template and one word take 20 tokens\."
        r" Type 'a\.csv:invalid=clip' to make it 20, or 'a\.csv:invalid=skip'",
        [(0, 30, 2), (1, 20, 3)],
        "1 prompt shorter than 20 tokens, which the chat template and one word take, was made that long",
        [(0, 30, 2)],
        "1 prompt shorter than 20 tokens, which the chat template and one word take, was left out",
    ),
    Bad(
        "negative prompt",
        HEADER + "1,30,2\n2,-7,3\n3,-8,3\n",
        "ContextTokens is -7",
        [(0, 30, 2), (1, 20, 3), (2, 20, 3)],
        "2 prompts shorter than 20 tokens, which the chat template and one word take, were made that long",
        [(0, 30, 2)],
        "2 prompts shorter",
    ),
    Bad(
        "scaled too small",
        HEADER + "1,300,2\n2,100,3\n",
        r"ContextTokens is 100 times length_scale=0\.1, but the chat template",
        [(0, 30, 1), (1, 20, 1)],
        "1 prompt shorter",
        [(0, 30, 1)],
        "1 prompt shorter",
        "length_scale=0.1",
    ),
    Bad(
        "zero answer",
        HEADER + "1,30,2\n2,40,0\n",
        r"a\.csv:3, GeneratedTokens is 0, but an answer has at least 1 token",
        [(0, 30, 2), (1, 40, 1)],
        "1 answer without a token was made 1 token long",
        [(0, 30, 2)],
        "1 request without an answer was left out",
    ),
    Bad(
        "beyond the window",
        HEADER + "1,1998,2\n2,1999,2\n3,5000,7\n",
        r"a\.csv:3: a prompt of 1,999 tokens and an answer of 2 are beyond the context window of 2,000",
        [(0, 1998, 2), (1, 1998, 2), (2, 1993, 7)],
        "2 prompts beyond the context window of 2,000 tokens (answer included) were cut",
        [(0, 1998, 2)],
        "2 prompts beyond the context window of 2,000 tokens (answer included) were left out",
    ),
    Bad(
        "answer beyond the window",
        HEADER + "1,30,5000\n2,40,2\n",
        r"a\.csv:2: a prompt of 30 tokens and an answer of 5,000",
        [(0, 20, 1980), (1, 40, 2)],
        "1 prompt beyond",
        [(0, 40, 2)],
        "1 prompt beyond",
    ),
]
TIMES = [
    Bad(
        "negative time",
        mooncake((-2000, 30, 2), (3000, 40, 3)),
        r"a\.jsonl:1, timestamp is -2 s, before the beginning",
        [(0, 30, 2), (3, 40, 3)],
        "1 time before the beginning was set to 0",
        [(0, 40, 3)],
        "1 request with a negative time was left out",
    ),
    Bad(
        "time that goes back",
        HEADER + "100,30,2\n200,40,3\n101,50,4\n250,60,5\n",
        r"a\.csv:4, TIMESTAMP goes back by 99 s",
        [(0, 30, 2), (100, 40, 3), (100, 50, 4), (150, 60, 5)],
        "1 time that went back was set to that of the request before",
        [(0, 30, 2), (100, 40, 3), (150, 60, 5)],
        "1 request whose time went back was left out",
    ),
    Bad(
        "gap",
        HEADER + "1,30,2\n2,40,3\n1002,50,4\n1003,60,5\n",
        r"a\.csv:4, TIMESTAMP: nothing arrives for 1,000 s before it, longer than longest_gap_s=300\."
        r" Type 'a\.csv:longest_gap_s=1001' to wait, or 'a\.csv:invalid=clip'",
        [(0, 30, 2), (1, 40, 3), (301, 50, 4), (302, 60, 5)],
        "1 gap longer than 300 s was shortened to that",
        [(0, 30, 2), (1, 40, 3), (301, 50, 4), (302, 60, 5)],
        "1 gap longer than 300 s was shortened to that",
    ),
    Bad(
        "gap that the scale makes long",
        HEADER + "1,30,2\n101,40,3\n",
        "nothing arrives for 400 s",
        [(0, 30, 2), (75, 40, 3)],
        "1 gap",
        [(0, 30, 2), (75, 40, 3)],
        "1 gap",
        "time_scale=4",
    ),
]
ALL = [*UNREADABLE, *LENGTHS, *TIMES]


def read(tokens: LoadedTokenizer, write: Write, bad: Bad, invalid: str = "") -> Traffic:
    name = write("a.csv" if bad.text.startswith(HEADER) else "a.jsonl", bad.text)
    options = ",".join(part for part in (bad.options, f"invalid={invalid}" if invalid else "") if part)
    (traffic,) = traffics.read(f"{name}:{options}" if options else name, tokenizer=tokens)
    return traffic


def found(traffic: Traffic) -> list[tuple[float, int, int]]:
    return [(round(r.at_s or 0, 6), r.prompt_tokens or 0, r.output_tokens) for r in traffic.requests]


@pytest.mark.parametrize("bad", ALL, ids=lambda bad: bad.name)
def test_it_is_refused_with_its_place(bad: Bad, write: Write, byte_tokens: LoadedTokenizer) -> None:
    with pytest.raises(UserError, match=bad.says) as refused:
        read(byte_tokens, write, bad)
    assert "invalid=" in str(refused.value)


@pytest.mark.parametrize("bad", ALL, ids=lambda bad: bad.name)
def test_it_is_clipped_and_counted(bad: Bad, write: Write, byte_tokens: LoadedTokenizer) -> None:
    traffic = read(byte_tokens, write, bad, "clip")

    assert found(traffic) == bad.clipped
    assert len(traffic.notes) == 1
    assert bad.clip_note in traffic.notes[0]


@pytest.mark.parametrize("bad", ALL, ids=lambda bad: bad.name)
def test_it_is_skipped_and_counted(bad: Bad, write: Write, byte_tokens: LoadedTokenizer) -> None:
    traffic = read(byte_tokens, write, bad, "skip")

    assert found(traffic) == bad.skipped
    assert len(traffic.notes) == 1
    assert bad.skip_note in traffic.notes[0]


def test_prompts_that_were_made_longer_or_shorter_have_that_length(write: Write, byte_tokens: LoadedTokenizer) -> None:
    for bad in LENGTHS:
        for request in read(byte_tokens, write, bad, "clip").requests:
            plain = [{"role": m.role, "content": m.content} for m in request.messages]
            assert len(byte_tokens.encode_conversation(plain)) == request.prompt_tokens


def test_requests_a_little_out_of_order_are_sorted_with_a_note(write: Write, byte_tokens: LoadedTokenizer) -> None:
    name = write("a.csv", HEADER + "10,30,2\n12,40,3\n11.5,50,4\n9,60,5\n13,70,6\n")
    (traffic,) = traffics.read(name, tokenizer=byte_tokens)

    assert found(traffic) == [(0, 60, 5), (1, 30, 2), (2.5, 50, 4), (3, 40, 3), (4, 70, 6)]
    assert traffic.notes == (
        "2 requests were out of order and were sorted",
        "the request that was most out of order came 3 s late in the file",
    )


def test_a_gap_that_nobody_replays_does_not_matter(write: Write, byte_tokens: LoadedTokenizer) -> None:
    name = write("a.csv", HEADER + "1,30,2\n9000,40,3\n")
    (traffic,) = traffics.read(name, tokenizer=byte_tokens, load="single_stream")

    assert len(traffic.requests) == 2


def test_a_file_in_which_nothing_is_left_says_what_was_left_out(write: Write, byte_tokens: LoadedTokenizer) -> None:
    name = write("a.csv", HEADER + "1,x,2\n2,y,2\n")
    with pytest.raises(UserError, match=r"no request that was asked for \(2 lines could not be read and were left out"):
        traffics.read(f"{name}:invalid=skip", tokenizer=byte_tokens)
    with pytest.raises(UserError, match="no request that was asked for"):
        traffics.read(f"{write('b.csv', HEADER + '1,30,2')}:from_s=5", tokenizer=byte_tokens)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "", r"a\.csv holds no request"),
        ("a.csv", HEADER, r"a\.csv holds no request"),
        ("a.csv", "TIMESTAMP,ContextTokens\n1,2\n", r"a\.csv has no column GeneratedTokens; its first line is"),
        ("a.csv", "1,40,2\n", "begins with TIMESTAMP,ContextTokens,GeneratedTokens"),
        ("a.jsonl", "\n\n", r"a\.jsonl holds no request"),
        ("a.log", "GET /v1/models 200\n", "neither, it begins with 'GET /v1/models 200'"),
        ("a.yaml", "trace: nowhere.csv\n", r"The trace nowhere\.csv does not exist"),
        ("a.yaml", "trace: 3\n", "trace is no text but 3"),
        ("a.yaml", "trace: x\nrequests: [y]\n", "either `requests` or `compose` or `trace`"),
        ("a.yaml", "requests: [x]\ninvalid: maybe\n", "invalid=maybe; give refuse, clip or skip"),
        ("a.yaml", "requests: [{prompt: x, at_s: soon}]\n", "at_s is no number of seconds but 'soon'"),
    ],
)
def test_a_file_that_is_no_traffic_is_refused(
    name: str, text: str, says: str, write: Write, byte_tokens: LoadedTokenizer
) -> None:
    with pytest.raises(UserError, match=says):
        traffics.read(write(name, text), tokenizer=byte_tokens)


def test_a_file_that_is_not_utf_8_is_refused_with_how_to_convert_it(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes('{"prompt": "Grüße"}'.encode("latin-1"))
    with pytest.raises(UserError, match=r"is not UTF-8 text: .*iconv -f"):
        traffics.read(str(tmp_path / "a.jsonl"))
