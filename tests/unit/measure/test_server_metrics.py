"""What is read off a server's Prometheus page, and what is said when there is none."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from paredown.measure.server_metrics import (
    CACHE_USE,
    PREEMPTIONS,
    PREFIX_HITS,
    Growth,
    MetricSample,
    Scrape,
    context_window,
    kv_capacity_tokens,
    parse,
    scrape,
)
from paredown.testing.elsewhere import Elsewhere
from paredown.testing.scripted_server import Part, Received, serving_in_thread

VLLM = """\
# HELP vllm:num_preemptions_total Cumulative number of preemption from the engine.
# TYPE vllm:num_preemptions_total counter
vllm:num_preemptions_total{engine="0",model_name="a \\"b\\" \\\\ c"} 3.0
vllm:num_preemptions_total{engine="1",model_name="x"} 4
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.75
vllm:prefix_cache_queries_total{engine="0"} 1000.0
vllm:prefix_cache_hits_total{engine="0"} 1e2
vllm:cache_config_info{block_size="16",cache_dtype="auto",engine="0",num_gpu_blocks="661"} 1.0
vllm:request_latency_bucket{le="+Inf"} 7 # {trace_id="a"} 0.5
process_start_time_seconds 1.7e9 1700000000000
some_gauge NaN
"""


def page(body: str | Mapping[str, object], status: str = "200 OK") -> list[Part]:
    content = (body if isinstance(body, str) else json.dumps(body)).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    return [head.encode() + content]


def test_a_line_has_a_name_labels_and_a_value() -> None:
    found = parse(VLLM)

    assert found[0] == MetricSample("vllm:num_preemptions_total", {"engine": "0", "model_name": 'a "b" \\ c'}, 3.0)
    assert [sample.value for sample in found if sample.name.startswith("process")] == [1.7e9]
    assert [sample.value for sample in found if sample.name == "vllm:request_latency_bucket"] == [7.0]


@pytest.mark.parametrize("line", ["<html>", "name", 'name{a="b} 1', "name 1 2 3", "name one", "{} 5"])
def test_what_is_no_prometheus_page_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        parse(f"good 1\n{line}\n")


def test_engines_add_up_and_shares_do_not() -> None:
    found = Scrape(parse(VLLM))

    assert found.total(PREEMPTIONS) == 7
    assert found.largest(CACHE_USE) == 0.75
    assert found.total(("not_there",)) is None
    assert found.total(("some_gauge",)) is None


@pytest.mark.parametrize(
    ("labels", "tokens"),
    [
        ('block_size="16",num_gpu_blocks="661"', 661 * 16),
        ('block_size="16",num_gpu_blocks="661",kv_cache_size_tokens="9999"', 9999),
        ('block_size="16",num_gpu_blocks="None"', None),
    ],
)
def test_the_capacity_is_blocks_times_their_size(labels: str, tokens: int | None) -> None:
    assert kv_capacity_tokens(Scrape(parse(f"vllm:cache_config_info{{{labels}}} 1"))) == tokens


def test_the_caches_of_several_engines_add_up_unless_one_does_not_tell() -> None:
    line = 'vllm:cache_config_info{engine="0",block_size="16",num_gpu_blocks="10"} 1\n'
    other = line.replace('"0"', '"1"')

    assert kv_capacity_tokens(Scrape(parse(line + other))) == 320
    assert kv_capacity_tokens(Scrape(parse(line + other.replace('"10"', '"None"')))) is None
    assert kv_capacity_tokens(Scrape(parse("sglang:max_total_num_tokens 471258.0"))) == 471_258
    assert kv_capacity_tokens(Scrape()) is None


def at(preemptions: int, queries: int = 0, hits: int = 0) -> Scrape:
    return Scrape(
        parse(
            f"vllm:num_preemptions_total {preemptions}\nvllm:prefix_cache_queries_total {queries}\n"
            f"vllm:prefix_cache_hits_total {hits}\n"
        )
    )


def test_a_counter_is_compared_with_what_it_was_before() -> None:
    growth = Growth(at(3, 1000, 100), at(8, 3000, 1600))

    assert growth.of(PREEMPTIONS) == 5
    assert growth.prefix_hit_rate == 0.75


def test_a_counter_that_is_not_there_or_was_reset_is_not_told() -> None:
    assert Growth(Scrape(), at(3)).of(PREEMPTIONS) is None
    assert Growth(at(8), at(3)).of(PREEMPTIONS) is None
    assert Growth(at(0, 5, 1), at(0, 5, 1)).prefix_hit_rate is None
    assert Growth(at(0), at(0)).of(PREFIX_HITS) == 0


def test_the_page_is_asked_for_with_the_key() -> None:
    with serving_in_thread(lambda _: page(VLLM)) as server:
        found = scrape(Elsewhere(server.url))
        (asked,) = server.received

    assert found.total(PREEMPTIONS) == 7
    assert (asked.path, asked.headers["authorization"]) == ("/metrics", "Bearer secret")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (page("no", "404 Not Found"), "status 404"),
        (page("<html>"), "no Prometheus page"),
        ([], "no readable"),
    ],
)
def test_a_server_without_the_page_is_said_to_have_none(answer: list[Part], words: str) -> None:
    with serving_in_thread(lambda _: answer) as server:
        found = scrape(Elsewhere(server.url))

    assert words in found.missing
    assert found.samples == ()


def test_nobody_there_is_said_too() -> None:
    assert "no readable" in scrape(Elsewhere("http://127.0.0.1:9")).missing


def answers(pages: Mapping[str, Mapping[str, object]]) -> object:
    def script(asked: Received) -> list[Part]:
        return page(pages[asked.path]) if asked.path in pages else page("no", "404 Not Found")

    return script


@pytest.mark.parametrize(
    ("pages", "window"),
    [
        ({"/v1/models": {"data": [{"id": "other", "max_model_len": 5}, {"id": "m", "max_model_len": 4096}]}}, 4096),
        ({"/v1/models": {"data": [{"id": "alias", "max_model_len": 8192}]}}, 8192),
        ({"/props": {"default_generation_settings": {"n_ctx": 2048}}, "/v1/models": {"data": [{"id": "m"}]}}, 2048),
        ({"/v1/models": {"data": [{"id": "m", "max_model_len": None}]}}, None),
        ({}, None),
    ],
)
def test_the_window_is_the_servers_own_word(pages: Mapping[str, Mapping[str, object]], window: int | None) -> None:
    with serving_in_thread(answers(pages)) as server:  # type: ignore[arg-type]
        assert context_window(Elsewhere(server.url)) == window
