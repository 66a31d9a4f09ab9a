"""Logs as servers, proxies and people write them: texts are kept where they are, else lengths, and arrival times."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from paredown.errors import UserError
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.records.traffic import Message, Traffic
from paredown.traffic import load as traffics
from paredown.traffic import times

Write = Callable[[str, str], str]
TURNS = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
KEPT = (Message("system", "Be brief."), Message("user", "Hi"))


def read(tokens: LoadedTokenizer | None, write: Write, *lines: object, options: str = "") -> Traffic:
    name = write("log.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    (traffic,) = traffics.read(name + options, tokenizer=tokens)
    return traffic


@pytest.mark.parametrize(
    "line",
    [
        {
            "timestamp": 5,
            "request": {"messages": TURNS, "max_tokens": 90},
            "response": {"usage": {"completion_tokens": 7}},
        },
        {"time": "1970-01-01T00:00:05Z", "body": {"messages": TURNS}, "usage": {"completion_tokens": 7}},
        {"startTime": 5.0, "messages": TURNS, "prompt_tokens": 30, "completion_tokens": 7, "response": {"id": "x"}},
        {
            "ts": 5,
            "request": "POST /v1/chat/completions HTTP/1.1",
            "request_body": json.dumps({"messages": TURNS, "max_tokens": 7}),
        },
        {"created_at": "1970-01-01 00:00:05", "messages": json.dumps(TURNS), "output_tokens": 7},
        {"request": {"messages": TURNS}, "response": json.dumps({"created": 5, "usage": {"completion_tokens": 7}})},
        {
            "@timestamp": "5",
            "body": {"messages": TURNS},
            "response": [{"choices": []}, {"usage": {"completion_tokens": 7}}],
        },
        {
            "time": 5,
            "custom_id": "a",
            "body": {"messages": TURNS},
            "response": {"status_code": 200, "body": {"usage": {"completion_tokens": 7}}},
        },
    ],
    ids=["own", "usage beside", "litellm", "nginx", "flat", "created in the response", "chunks", "batch"],
)
def test_texts_answer_length_and_time_are_found(line: dict[str, object], write: Write) -> None:
    later = {"timestamp": 8.5, "prompt": "Later", "max_tokens": 2}
    first, second = (traffic := read(None, write, line, later)).requests

    assert (first.messages, first.output_tokens, first.at_s) == (KEPT, 7, 0)
    assert (second.messages, second.output_tokens, second.at_s) == ((Message("user", "Later"),), 2, 3.5)
    assert (traffic.load_shape, traffic.cache) == ("replay", "cold")


@pytest.mark.parametrize(
    "line",
    [
        {"timestamp": 5, "usage": {"prompt_tokens": 44, "completion_tokens": 6}},
        {"time": 5, "request": {"model": "m"}, "response": {"usage": {"input_tokens": 44, "output_tokens": 6}}},
        {"startTime": 5, "messages": None, "prompt_tokens": 44, "completion_tokens": 6},
        {"ts": 5, "prompt": list(range(44)), "max_tokens": 6},
    ],
    ids=["usage", "responses api", "litellm without messages", "token ids"],
)
def test_where_no_text_was_kept_a_prompt_of_its_length_is_made(
    line: dict[str, object], write: Write, byte_tokens: LoadedTokenizer
) -> None:
    (request,) = read(byte_tokens, write, line).requests
    plain = [{"role": m.role, "content": m.content} for m in request.messages]

    assert request.prompt_tokens == len(byte_tokens.encode_conversation(plain)) == 44
    assert (request.output_tokens, request.at_s) == (6, 0)


def test_texts_and_lengths_may_be_mixed(write: Write, byte_tokens: LoadedTokenizer) -> None:
    usage = {"prompt_tokens": 50, "completion_tokens": 3}
    traffic = read(
        byte_tokens, write, {"time": 1, "prompt": "Hi"}, {"time": 2, "usage": usage}, {"time": 3, "prompt": "Yo"}
    )

    assert [r.prompt_tokens for r in traffic.requests] == [None, 50, None]
    assert [r.messages[0].content for r in traffic.requests][::2] == ["Hi", "Yo"]
    assert [r.output_tokens for r in traffic.requests] == [50, 3, 50]


def test_a_log_written_when_requests_ended_is_sorted_by_arrival(write: Write) -> None:
    traffic = read(None, write, {"time": 30, "prompt": "c"}, {"time": 12, "prompt": "a"}, {"time": 13, "prompt": "b"})

    assert [(r.messages[0].content, r.at_s) for r in traffic.requests] == [("a", 0), ("b", 1), ("c", 18)]


def test_prompts_of_a_log_that_begin_alike_are_not_taken_for_a_cold_cache(write: Write) -> None:
    system = {"role": "system", "content": "You help people who have questions about their tickets. " * 4}
    lines = [{"time": n, "messages": [system, {"role": "user", "content": f"Question {n}"}]} for n in range(2)]
    others = [{"time": n, "prompt": f"{n} is another beginning. " * 20} for n in range(2)]

    assert read(None, write, *lines).cache == "shared"
    assert read(None, write, *lines, options=":cache=warm").cache == "warm"
    assert read(None, write, *others).cache == "cold"


def test_lines_without_times_are_sent_one_after_the_other(write: Write) -> None:
    traffic = read(None, write, {"prompt": "a"}, {"prompt": "b"})

    assert (traffic.load_shape, [r.at_s for r in traffic.requests]) == ("single_stream", [None, None])


@pytest.mark.parametrize(
    ("plain", "seconds"),
    [
        (3.25, 3.25),
        ("3.25", 3.25),
        (1_700_000_000, 1_700_000_000),
        (1_700_000_000_250, 1_700_000_000.25),
        ("1700000000250", 1_700_000_000.25),
        (1_700_000_000_250_000, 1_700_000_000.25),
        (1_700_000_000_250_000_000, 1_700_000_000.25),
        ("2023-11-14T22:13:20.25Z", 1_700_000_000.25),
        ("2023-11-14T23:13:20.25+01:00", 1_700_000_000.25),
        ("2023-11-14 22:13:20.2500000", 1_700_000_000.25),
        ("14/Nov/2023:22:13:20 +0000", 1_700_000_000),
    ],
)
def test_times_are_read_in_every_usual_form(plain: object, seconds: float) -> None:
    assert times.seconds(plain, "x") == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize("plain", ["", "noon", "nan", float("inf"), None, True, [], 10**400])
def test_what_is_no_time_is_refused(plain: object) -> None:
    with pytest.raises(UserError, match="x is no time"):
        times.seconds(plain, "x")


def test_line_separators_within_a_text_do_not_end_a_line(write: Write) -> None:
    name = write("log.jsonl", '{"prompt": "one\u2028two\u0085three"}\r\n{"prompt": "b"}\r\n')
    (traffic,) = traffics.read(name)

    assert [r.messages[0].content for r in traffic.requests] == ["one\u2028two\u0085three", "b"]


def test_ids_that_come_twice_are_numbered_or_left_out_as_asked(write: Write) -> None:
    lines = [{"id": "x", "prompt": "1"}, {"id": "x", "prompt": "2"}, {"id": "x-2", "prompt": "3"}]

    assert [r.id for r in read(None, write, *lines, options=":invalid=clip").requests] == ["x", "x-2", "x-2-2"]
    skipped = read(None, write, *lines, options=":invalid=skip")
    assert [(r.id, r.messages[0].content) for r in skipped.requests] == [("x", "1"), ("x-2", "3")]
    with pytest.raises(UserError, match="two requests have the id 'x'"):
        read(None, write, *lines)


# ── texts and the context window (2,000 tokens; a byte is a token) ───────────────────────────────────────────────

LONG = {
    "messages": [{"role": "system", "content": "Short."}, {"role": "user", "content": "é" * 1_500}],
    "max_tokens": 10,
}


def test_a_text_beyond_the_context_window_is_refused_cut_or_left_out(
    write: Write, byte_tokens: LoadedTokenizer
) -> None:
    lines = [LONG, {"prompt": "Hi", "max_tokens": 3}]
    with pytest.raises(UserError, match=r"log\.jsonl:1: a prompt of 3,0\d\d tokens and an answer of 10 are beyond"):
        read(byte_tokens, write, *lines)

    cut = read(byte_tokens, write, *lines, options=":invalid=clip")
    plain = [{"role": m.role, "content": m.content} for m in cut.requests[0].messages]
    assert 1_988 < len(byte_tokens.encode_conversation(plain)) <= 1_990
    assert cut.requests[0].messages[0].content == "Short."
    assert cut.notes == ("1 prompt beyond the context window of 2,000 tokens (answer included) was cut",)

    skipped = read(byte_tokens, write, *lines, options=":invalid=skip")
    assert [r.messages[0].content for r in skipped.requests] == ["Hi"]


def test_a_text_that_cannot_be_cut_to_fit_is_refused(write: Write, byte_tokens: LoadedTokenizer) -> None:
    with pytest.raises(
        UserError, match="no prompt fits into the context window of 2,000 tokens with an answer of 3,000"
    ):
        read(byte_tokens, write, {**LONG, "max_tokens": 3_000}, options=":invalid=clip")


def test_without_a_tokenizer_texts_are_left_as_they_are(write: Write) -> None:
    assert len(read(None, write, LONG).requests[0].messages[1].content) == 1_500


class Unreachable:
    @property
    def context_length(self) -> int | None:
        raise UserError("The tokenizer of http://x cannot be used.")

    def encode_conversation(self, messages: object) -> tuple[int, ...]:
        raise AssertionError("texts need no tokenizer")


def test_a_server_without_a_tokenizer_can_be_sent_texts_and_the_notes_say_what_was_not_checked(write: Write) -> None:
    (traffic,) = traffics.read("chat", tokenizer=Unreachable())

    assert len(traffic.requests) > 60
    assert traffic.notes == ("lengths of texts were not checked: The tokenizer of http://x cannot be used.",)
