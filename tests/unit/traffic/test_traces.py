"""Traces as they are found in the wild: read, scaled, cut to a span, and made into prompts of exactly their lengths."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from paredown.errors import UnknownNameError, UserError
from paredown.hosts import tokenizer
from paredown.hosts.tokenizer import LoadedTokenizer
from paredown.records.traffic import Traffic
from paredown.testing import fake_models
from paredown.traffic import load as traffics

Write = Callable[[str, str], str]
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
AZURE = HEADER + "".join(
    f"2023-11-16 18:15:{second:09.6f}0,{prompt},{output}\n"
    for second, prompt, output in [(46.5, 374, 44), (47.25, 96, 9), (49.0, 79, 5), (56.5, 100, 6)]
)
MOONCAKE = "".join(
    json.dumps({"timestamp": ms, "input_length": length, "output_length": output, "hash_ids": ids}) + "\n"
    for ms, length, output, ids in [
        (0, 130, 4, [0, 1, 2]),
        (0, 120, 5, [0, 1, 3]),
        (3052, 75, 6, [0, 4]),
        (4100, 40, 7, [5]),
    ]
)


def read(tokens: LoadedTokenizer | None, source: str, load: str | None = None, seed: int = 0) -> Traffic:
    (traffic,) = traffics.read(source, tokenizer=tokens, load=load, seed=seed)
    return traffic


def lengths(tokens: LoadedTokenizer, traffic: Traffic) -> list[int]:
    return [
        len(tokens.encode_conversation([{"role": m.role, "content": m.content} for m in request.messages]))
        for request in traffic.requests
    ]


@pytest.mark.parametrize("kind", ["byte_tokens", "word_tokens"])
def test_an_azure_trace_becomes_prompts_of_its_lengths_at_its_times(
    kind: str, write: Write, request: pytest.FixtureRequest
) -> None:
    tokens = request.getfixturevalue(kind)
    traffic = read(tokens, write("conv.csv", AZURE))

    assert lengths(tokens, traffic) == [r.prompt_tokens for r in traffic.requests] == [374, 96, 79, 100]
    assert [r.output_tokens for r in traffic.requests] == [44, 9, 5, 6]
    assert [r.at_s for r in traffic.requests] == pytest.approx([0, 0.75, 2.5, 10], abs=1e-5)
    assert (traffic.name, traffic.load_shape, traffic.cache, traffic.notes) == ("conv", "replay", "cold", ())
    assert [r.id for r in traffic.requests] == ["conv-0", "conv-1", "conv-2", "conv-3"]


@pytest.mark.parametrize("name", ["trace.csv", "trace.txt", "trace"])
def test_a_trace_is_known_by_its_first_line(name: str, write: Write, byte_tokens: LoadedTokenizer) -> None:
    text = "\ufeffTIMESTAMP,Model,ContextTokens,GeneratedTokens\r\n3.5,m,50,2\r\n4,m,60,3\r\n"
    traffic = read(byte_tokens, "./" + write(name, text))

    assert [(r.at_s, r.prompt_tokens, r.output_tokens) for r in traffic.requests] == [(0, 50, 2), (0.5, 60, 3)]


def test_a_mooncake_trace_shares_exactly_the_blocks_that_its_ids_share(
    write: Write, word_tokens: LoadedTokenizer
) -> None:
    traffic = read(word_tokens, write("toolagent.jsonl", MOONCAKE) + ":block_tokens=50")
    ids = [
        word_tokens.encode_conversation([{"role": "user", "content": r.messages[0].content}]) for r in traffic.requests
    ]

    assert [len(one) for one in ids] == [130, 120, 75, 40]
    assert ids[0][:100] == ids[1][:100]
    assert ids[0][100] != ids[1][100]
    assert ids[0][:50] == ids[2][:50]
    assert ids[0][50] != ids[2][50]
    assert [r.at_s for r in traffic.requests] == [0, 0, 3.052, 4.1]
    assert (traffic.load_shape, traffic.cache) == ("replay", "shared")


def test_lengths_and_blocks_are_scaled_together(write: Write, word_tokens: LoadedTokenizer) -> None:
    traffic = read(word_tokens, write("a.jsonl", MOONCAKE) + ":block_tokens=50,length_scale=2")
    first, second = (
        word_tokens.encode_conversation([{"role": "user", "content": r.messages[0].content}])
        for r in traffic.requests[:2]
    )

    assert [(r.prompt_tokens, r.output_tokens) for r in traffic.requests] == [(260, 8), (240, 10), (150, 12), (80, 14)]
    assert first[:200] == second[:200]
    assert first[200] != second[200]


def test_a_span_is_counted_from_the_first_request_and_starts_anew(write: Write, byte_tokens: LoadedTokenizer) -> None:
    traffic = read(byte_tokens, write("a.csv", AZURE) + ":from_s=0.5,until_s=10")

    assert [(r.prompt_tokens, round(r.at_s or 0, 3)) for r in traffic.requests] == [(96, 0), (79, 1.75)]


def test_the_first_ones_and_another_answer_length_may_be_asked_for(write: Write, byte_tokens: LoadedTokenizer) -> None:
    traffic = read(byte_tokens, write("a.csv", AZURE) + ":limit=2,output_tokens=3,cache=warm")

    assert [(r.prompt_tokens, r.output_tokens) for r in traffic.requests] == [(374, 3), (96, 3)]
    assert traffic.cache == "warm"


def test_time_scale_goes_to_the_load_shape_and_needs_one_that_has_it(
    write: Write, byte_tokens: LoadedTokenizer
) -> None:
    name = write("a.csv", AZURE)

    assert read(byte_tokens, f"{name}:time_scale=2").options == {"time_scale": 2.0}
    with pytest.raises(UserError, match="the load shape is poisson"):
        read(byte_tokens, f"{name}:time_scale=2", load="poisson:rate=3")
    with pytest.raises(UserError, match="given twice"):
        read(byte_tokens, f"{name}:time_scale=2", load="replay:time_scale=2")


def test_another_load_shape_takes_the_place_of_the_replay(write: Write, byte_tokens: LoadedTokenizer) -> None:
    traffic = read(byte_tokens, write("a.csv", AZURE), load="gamma:rate=3,burstiness=0.5", seed=8)

    assert (traffic.load_shape, traffic.options) == ("gamma", {"rate": 3, "burstiness": 0.5, "seed": 8})


def test_another_seed_gives_other_prompts(write: Write, byte_tokens: LoadedTokenizer) -> None:
    name = write("a.csv", AZURE)

    assert read(byte_tokens, name, seed=1).requests == read(byte_tokens, name, seed=1).requests
    assert read(byte_tokens, name, seed=1).requests != read(byte_tokens, name, seed=2).requests


def test_a_yaml_file_may_name_a_trace_beside_it_and_how_to_read_it(write: Write, byte_tokens: LoadedTokenizer) -> None:
    write("sub/a.csv", AZURE)
    name = write(
        "sub/mine.yaml", "trace: a.csv\nload_shape: replay\noptions: {time_scale: 3}\nlimit: 3\noutput_tokens: 2\n"
    )
    traffic = read(byte_tokens, name)

    assert (traffic.name, traffic.load_shape, traffic.options) == ("mine", "replay", {"time_scale": 3})
    assert [(r.prompt_tokens, r.output_tokens) for r in traffic.requests] == [(374, 2), (96, 2), (79, 2)]
    assert len(read(byte_tokens, f"{name}:limit=1").requests) == 1


def test_lengths_without_a_tokenizer_are_refused_with_what_to_give(write: Write) -> None:
    with pytest.raises(UserError, match=r"a\.csv:2 holds the length .* Give the model's .* --tokenizer"):
        read(None, write("a.csv", AZURE))


def test_a_sweep_is_one_traffic_a_step_with_requests_of_its_own(write: Write, byte_tokens: LoadedTokenizer) -> None:
    rows = "".join(f"{index},{40 + index},3\n" for index in range(7))
    steps = traffics.read(write("a.csv", HEADER + rows), tokenizer=byte_tokens, load="sweep:rates=1,4,16")

    assert [(s.name, s.load_shape, s.options["rate"]) for s in steps] == [
        ("a, 1 requests/s", "poisson", 1),
        ("a, 4 requests/s", "poisson", 4),
        ("a, 16 requests/s", "poisson", 16),
    ]
    assert [[r.id for r in step.requests] for step in steps] == [["a-0", "a-3"], ["a-1", "a-4"], ["a-2", "a-5"]]
    assert all(step.notes == ("1 request was left out so that all 3 steps have as many",) for step in steps)


def test_a_sweep_of_more_steps_than_requests_is_refused(write: Write, byte_tokens: LoadedTokenizer) -> None:
    with pytest.raises(UserError, match="has 4 steps, and a fewer requests \\(1\\)"):
        traffics.read(write("a.csv", HEADER + "1,40,3\n"), tokenizer=byte_tokens, load="sweep")


def test_where_one_load_is_wanted_a_sweep_is_refused() -> None:
    with pytest.raises(UserError, match="several steps"):
        traffics.load("chat", load_shape="sweep")


def test_requests_without_times_cannot_be_replayed() -> None:
    with pytest.raises(UserError, match="chat-0 has no arrival time"):
        read(None, "chat", load="replay")
    with pytest.raises(UserError, match=r"have no times\. Type 'chat:limit=100'"):
        read(None, "chat:from_s=3")


def test_names_and_options_are_checked_before_a_model_is_loaded(write: Write) -> None:
    name = write("a.csv", AZURE)
    traffics.check(name)
    for source, load in [("chatt", None), (f"{name}:limt=3", None), (name, "replai"), (name, "poisson:rat=3")]:
        with pytest.raises(UnknownNameError):
            traffics.check(source, load=load)
    with pytest.raises(UserError, match="no column ContextTokens"):
        traffics.check(write("b.csv", "TIMESTAMP,Tokens\n1,2\n"))


def test_more_prompts_than_can_be_made_in_minutes_are_refused(write: Write, tmp_path: Path) -> None:
    roomy = tokenizer.load(fake_models.make(tmp_path / "model", context_length=1_000_000))
    rows = "".join(f"{index},190000,3\n" for index in range(600))
    with pytest.raises(UserError, match=r"600 prompts with 114,000,000 tokens .* limit=263"):
        read(roomy, write("a.csv", HEADER + rows))
