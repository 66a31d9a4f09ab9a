"""Built-in traffic flatters no cache, and a user's file is read or refused with file, line and field."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from paredown.errors import UnknownNameError, UserError
from paredown.records.traffic import Message
from paredown.traffic import load as traffic


def common_beginning(a: str, b: str) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@pytest.mark.parametrize(("name", "least"), [("chat", 64), ("long", 12), ("concurrent", 48)])
def test_built_in_prompts_share_no_long_beginning(name: str, least: int) -> None:
    texts = [request.messages[0].content for request in traffic.load(name).requests]
    shared = max(itertools.starmap(common_beginning, itertools.combinations(texts, 2)))

    assert len(set(texts)) == len(texts) >= least
    assert shared < 80


def test_built_in_shapes_are_what_their_names_say() -> None:
    chat, long, concurrent = (traffic.load(name) for name in ("chat", "long", "concurrent"))

    assert (chat.load_shape, {r.output_tokens for r in chat.requests}) == ("single_stream", {50})
    assert (long.load_shape, {r.output_tokens for r in long.requests}) == ("single_stream", {32})
    assert (concurrent.load_shape, concurrent.options, len(concurrent.requests)) == (
        "closed_loop",
        {"concurrency": 16},
        48,
    )


def test_composed_prompts_are_the_same_every_time_and_have_the_length_asked_for() -> None:
    texts = [request.messages[0].content for request in traffic.load("long").requests]

    assert texts == [request.messages[0].content for request in traffic.load("long").requests]
    assert all(735 <= len(text.split()) <= 920 for text in texts)
    assert "{" not in "".join(texts)


def test_no_two_built_in_traffics_share_a_prompt() -> None:
    texts = [r.messages[0].content for name in traffic.builtin_names() for r in traffic.load(name).requests]

    assert len(set(texts)) == len(texts)


def test_the_arguments_replace_what_the_file_says() -> None:
    loaded = traffic.load("chat", load_shape="closed_loop", options={"concurrency": 3}, output_tokens=7)

    assert (loaded.load_shape, loaded.options) == ("closed_loop", {"concurrency": 3})
    assert {request.output_tokens for request in loaded.requests} == {7}


def write(directory: Path, name: str, text: str) -> str:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_line_is_one_openai_request(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        "mine.jsonl",
        '{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}], '
        '"max_tokens": 9, "temperature": 0.7}\n'
        "\n"
        '{"custom_id": "b", "body": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Yo"}]}]}}\n'
        '{"prompt": "Once"}\n',
    )
    first, second, third = traffic.load(source).requests

    assert first.messages == (Message("system", "Be brief."), Message("user", "Hi"))
    assert (first.id, first.output_tokens) == ("mine-0", 9)
    assert (second.id, second.messages, second.output_tokens) == ("b", (Message("user", "Yo"),), 50)
    assert third.messages == (Message("user", "Once"),)


def test_yaml_may_give_texts_prompts_and_messages(tmp_path: Path) -> None:
    source = write(
        tmp_path,
        "mine.yaml",
        "load_shape: closed_loop\noptions: {concurrency: 2}\noutput_tokens: 4\n"
        "requests:\n  - Hello\n  - {prompt: Bye, output_tokens: 5, id: x}\n"
        "  - messages: [{role: user, content: Sure}]\n",
    )
    loaded = traffic.load(source)

    assert (loaded.name, loaded.load_shape, loaded.options) == ("mine", "closed_loop", {"concurrency": 2})
    assert [(r.id, r.messages[0].content, r.output_tokens) for r in loaded.requests] == [
        ("mine-0", "Hello", 4),
        ("x", "Bye", 5),
        ("mine-2", "Sure", 4),
    ]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.jsonl", '{"prompt": "x"}\n{oops\n', r"a\.jsonl:2 is not JSON"),
        ("a.jsonl", "[1]\n", r"a\.jsonl:1 is no mapping"),
        ("a.jsonl", '{"model": "m"}\n', r"a\.jsonl:1 needs either `prompt` or `messages`"),
        ("a.jsonl", '{"prompt": "x", "max_tokens": 0}\n', r"a\.jsonl:1, max_tokens is 0, but an answer has"),
        ("a.jsonl", '{"messages": [{"content": "x"}]}\n', r"messages\[0\]\.role is no text but missing"),
        ("a.jsonl", '{"messages": [{"role": "user", "content": [{"image": 1}]}]}\n', r"content is no text"),
        ("a.jsonl", "", "holds no request"),
        ("a.jsonl", '{"id": "x", "prompt": "1"}\n{"id": "x", "prompt": "2"}\n', "two requests have the id 'x'"),
        ("a.yaml", "requests: [x]\nload_shap: y\n", "'load_shap'. Did you mean 'load_shape'"),
        ("a.yaml", "summary: x\n", "needs either `requests` or `compose`"),
        ("a.yaml", "requests: [x]\nload_shape: single_strem\n", "Did you mean 'single_stream'"),
        ("a.yaml", "requests: [x]\noptions: {concurency: 3}\n", "Unknown option of the load shape single_stream"),
        ("a.yaml", "requests: [x]\nload_shape: closed_loop\noptions: {concurrency: 0}\n", "concurrency 0"),
        ("a.yaml", "a: [\n", "is not YAML"),
        ("a.yaml", "compose: {seed: 1}\n", "compose needs count, words, openings"),
        ("a.txt", "x", "neither"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        traffic.load(write(tmp_path, name, text))


def test_a_name_without_words_is_refused(tmp_path: Path) -> None:
    text = "compose: {seed: 1, count: 1, words: 2, openings: ['{who}'], sentences: [a], questions: [b], words_for: {}}"
    with pytest.raises(UserError, match=r"nothing for \{who\}"):
        traffic.load(write(tmp_path, "a.yaml", text))


def test_more_prompts_than_there_are_is_refused(tmp_path: Path) -> None:
    text = "compose: {seed: 1, count: 9, words: 2, openings: [a], sentences: [b], questions: [c], words_for: {}}"
    with pytest.raises(UserError, match="only 1 different"):
        traffic.load(write(tmp_path, "a.yaml", text))


def test_an_unknown_name_gets_the_nearest_known_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'chat'"):
        traffic.load("chatt")


def test_a_missing_file_is_said_to_be_missing() -> None:
    with pytest.raises(UserError, match="does not exist"):
        traffic.load("nowhere.jsonl")
