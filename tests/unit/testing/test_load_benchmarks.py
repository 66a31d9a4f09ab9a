"""The load benchmarks read the other tools' exports right and judge their own lines right."""

import importlib
import json
from pathlib import Path

import pytest

from paredown.testing.timed_server_errors import Errors, Seen

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def value(number, unit="ms"):
    return {"value": number, "unit": unit}


def test_aiperfs_export_is_read_in_seconds_and_failures_are_left_out(bench, tmp_path):
    good = {
        "metadata": {"x_request_id": "x-1"},
        "metrics": {
            "time_to_first_token": value(52.5),
            "inter_chunk_latency": value([19.0, 21.0]),
            "inter_token_latency": value(20.0),
        },
    }
    failed = {"metadata": {"x_request_id": "x-2"}, "metrics": {}, "error": {"code": 500}}
    (tmp_path / "profile_export.jsonl").write_text(f"{json.dumps(good)}\n{json.dumps(failed)}\n")
    assert bench("load_peers").read_aiperf(tmp_path) == [Seen("x-1", 0.0525, (0.019, 0.021), 0.02)]


def test_aiperfs_export_in_another_unit_is_refused(bench, tmp_path):
    row = {
        "metadata": {"x_request_id": "x"},
        "metrics": {"time_to_first_token": value(1), "inter_chunk_latency": value([1], "s")},
    }
    (tmp_path / "profile_export.jsonl").write_text(json.dumps(row))
    with pytest.raises(ValueError, match="in s, expected ms"):
        bench("load_peers").read_aiperf(tmp_path)


def guidellm_row(started, ttft_ms, status="completed"):
    return {
        "info": {"status": status, "timings": {"request_start": started}},
        "time_to_first_token_ms": ttft_ms,
        "inter_token_latency_ms": 20.0,
    }


def test_guidellms_requests_are_numbered_by_their_start_failed_ones_included(bench, tmp_path):
    groups = {
        "successful": [guidellm_row(3.0, 53.0), guidellm_row(1.0, 51.0)],
        "errored": [guidellm_row(2.0, None, "errored")],
        "incomplete": [guidellm_row(None, None, "cancelled")],
    }
    (tmp_path / "export.json").write_text(json.dumps({"benchmarks": [{"requests": groups}]}))
    assert bench("load_peers").read_guidellm(tmp_path) == [Seen("#0", 0.051, (), 0.02), Seen("#2", 0.053, (), 0.02)]


def figures(module, name, ttft_s, cpu_ms, itl_s=(0.001,)):
    errors = Errors((ttft_s,) * 2, itl_s, (0.0001,))
    return module.Figures(name, 10, 0, 200.0, cpu_ms, 0.1, 0.001, errors, errors)


def judged(module, *, ttft_s=0.002, cpu_ms=1.0, lost_tokens=0, peers=()):
    own = module.Own(
        figures(module, "paredown", ttft_s, cpu_ms), lost_tokens, (0.001,), (0.004,), (0.001,), Errors((), (), ())
    )
    return {line.what: line.met for line in module.lines(own, peers, 10)}


def test_an_error_may_be_two_milliseconds_above_the_loopbacks_jitter_and_no_more(bench):
    module = bench("bench_load")
    assert judged(module, ttft_s=0.00299)["error of TTFT p99"] is True
    assert judged(module, ttft_s=0.00301)["error of TTFT p99"] is False
    assert judged(module, ttft_s=-0.00301)["error of TTFT p99"] is False


def test_the_better_of_two_peers_is_the_one_to_be_no_worse_than(bench):
    module = bench("bench_load")
    peers = [figures(module, "good", 0.001, 4.0), figures(module, "bad", 0.009, 2.2, itl_s=())]
    met = judged(module, ttft_s=0.002, cpu_ms=1.0, peers=peers)
    assert met["error of TTFT p99, by delays"] is False
    assert met["error of each ITL p99, by delays"] is True
    assert met["CPU a request"] is True
    assert judged(module, cpu_ms=1.2, peers=peers)["CPU a request"] is False
    assert module._against("CPU", 0.001, {"a": 0.004, "b": 0.0022}, 0.5, "ms").wanted == "≤ 1.10 ms (half of b)"


def test_without_peers_a_comparison_is_not_measured_and_not_met(bench):
    assert judged(bench("bench_load"))["CPU a request"] is None


def test_one_lost_token_is_a_missed_line(bench, capsys):
    module = bench("bench_load")
    assert judged(module)["requests and tokens lost"] is True
    assert judged(module, lost_tokens=1)["requests and tokens lost"] is False
    line = bench("load_child").Line
    assert bench("load_child").print_lines([line("a", "1", "1", True), line("b", "1", "?", None)]) == 0
    assert bench("load_child").print_lines([line("a", "1", "1", True), line("b", "1", "2", False)]) == 1
    assert "MISSED" in capsys.readouterr().out


def test_a_child_that_does_not_end_is_ended_and_its_processor_time_counted(bench, tmp_path):
    counted = bench("load_child").counted
    log = tmp_path / "log"
    spun = counted(["sh", "-c", "while :; do :; done"], environment={}, log=log, timeout_s=0.4)
    assert spun.exit_status == -9
    assert spun.cpu_s > 0.01
    slept = counted(["sleep", "0.2"], environment={"PATH": "/usr/bin:/bin"}, log=log, timeout_s=20)
    assert slept.exit_status == 0
    assert slept.wall_s >= 0.2
    assert slept.cpu_s < spun.wall_s


@pytest.mark.slow
def test_no_token_is_lost_on_the_way_through_the_real_client(bench, capsys):
    assert bench("bench_streams").main(["--streams", "20", "--seconds", "0.5"]) == 0
    bench("bench_load").main(["--seconds", "1", "--rate", "20"])
    out = capsys.readouterr().out
    assert "got 0 of 300" in out
    assert "got 0 of 20 requests, 0 tokens  [met]" in out
    assert "AIPerf is left out" in out
