"""A measurement with every section, and one with next to nothing, synthetic: what tests and screenshots show.

Raw events come from `example_measurement_events`; nothing here was measured, and the caution says so.
"""

from __future__ import annotations

from dataclasses import replace

from paredown.records.bottleneck import Bound, Placement
from paredown.records.candidate import Rung
from paredown.records.events import Trial
from paredown.records.figure import Figure, Options
from paredown.records.machine import Machine
from paredown.records.measurement import (
    Capacity,
    CapacityPoint,
    Curve,
    CurvePoint,
    MeasuredTraffic,
    Measurement,
    OperatorRow,
    OperatorTable,
    Profile,
)
from paredown.records.timing import failures
from paredown.testing import example_measurement_events as events

SUBJECT, ENGINE = "demo", "transformers"
BLOCKS = 5
LATE = "requests were sent late: 99 % of the delays are below 78 ms, 10 ms is allowed"
WEIGHT_BYTES, PARAMETERS, KV_BYTES_PER_TOKEN = 269_030_784, 134_515_008, 23_040
BANDWIDTH, MATRIX_RATE = 14.2e9, 96e9


def everything() -> Measurement:
    """All sections: three traffics (one with failures, one void), curves, both capacities, a profile."""
    return Measurement(
        SUBJECT,
        ENGINE,
        "2026-11-30T14:12:09+01:00",
        _machine(),
        {"paredown": "0.2.0", "python": "3.11.2", "torch": "2.13.0", "transformers": "5.17.0"},
        "paredown measure demo --traffic chat --traffic steady --traffic bursts --context-lengths --kv-pressure",
        (chat(), steady(), bursts()),
        (_load(), _context_length(), _kv_pressure(), _prefix_cache()),
        (_request_rate(), _concurrency()),
        profile(),
        ("This is a synthetic example: nothing in it was measured.",),
    )


def minimal() -> Measurement:
    """Somebody else's endpoint under one short traffic: no machine, no memory, few samples, no raw events kept."""
    measured = _traffic("chat", "8 prompts, one at a time", "single_stream", {}, _trial("chat", 1, 1, 8))
    hidden = ("peak_memory", "weights_memory", "kv_cache_memory", "activations_memory")
    why = "the server runs on another machine"
    figures = tuple(Figure(f.metric, f.unit, None, missing=why) if f.metric in hidden else f for f in measured.figures)
    return Measurement(
        "http://server.example:8000/v1", "endpoint", "2026-11-30T14:12:09+01:00", None, {"paredown": "0.2.0"},
        "paredown measure --endpoint http://server.example:8000/v1 --traffic chat",
        (replace(measured, figures=figures, trial=None, definitions={}),),
    )  # fmt: skip


def chat() -> MeasuredTraffic:
    return _traffic("chat", "60 short questions, one at a time", "single_stream", {}, _trial("chat", 1, BLOCKS, 12))


def steady() -> MeasuredTraffic:
    """An open loop near what the server can do: requests queue, two time out and three are refused."""
    broken = {9: "status_429", 10: "status_429", 11: "status_429", 23: "timeout", 24: "timeout"}
    trial = _poisson_trial("steady", 4.6, 60, broken=broken)
    options = {"rate": 4.6, "seed": 7}
    measured = _traffic("steady", "300 questions, arriving by chance", "poisson", options, trial)
    return replace(measured, notes=("12 prompts were clipped to the context window of 8,192 tokens",))


def bursts() -> MeasuredTraffic:
    trial = replace(_poisson_trial("bursts", 3.0, 30, late_s=0.05), void=LATE)
    options = {"rate": 3.0, "burstiness": 0.25, "seed": 7}
    return _traffic("bursts", "150 questions in bursts", "gamma", options, trial)


def _trial(name: str, concurrency: int, blocks: int, requests: int) -> Trial:
    due = events.one_after_another(requests)
    return Trial(ENGINE, name, concurrency, tuple(events.block(i, due) for i in range(blocks)))


def _poisson_trial(
    name: str, rate: float, requests: int, *, late_s: float = 0.0, broken: dict[int, str] | None = None
) -> Trial:
    """The failures are in the first block."""
    blocks = tuple(
        events.block(
            index, events.poisson(rate, requests, index), late_s=late_s, failures=broken if index == 0 else None
        )
        for index in range(BLOCKS)
    )
    return Trial(ENGINE, name, events.SLOTS, blocks)


def _traffic(name: str, summary: str, load_shape: str, options: Options, trial: Trial) -> MeasuredTraffic:
    return MeasuredTraffic(
        name, summary, load_shape, options, len(trial.requests()), events.figures(trial),
        events.other_definitions(trial), failures(trial), trial.void, trial=trial,
    )  # fmt: skip


def _load() -> Curve:
    """A sweep over request rates; one step is void, and at the last one the server falls behind."""
    points = []
    for rate in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0):
        broken = dict.fromkeys(range(30, 37), "timeout") if rate == 6.0 else None
        trial = _poisson_trial("sweep", rate, 40, late_s=0.06 if rate == 3.0 else 0.0, broken=broken)
        trial = replace(trial, void=LATE) if rate == 3.0 else trial
        outcome = "falls behind: the queue grows to the end" if rate >= 5.5 else ""
        figures = events.figures(trial, with_gaps=False)
        points.append(CurvePoint(rate, f"{rate:g}/s", figures, failures(trial), trial.void, outcome))
    return Curve("load", "request rate", "req/s", tuple(points))


def _context_length() -> Curve:
    points = []
    for tokens in (128, 256, 512, 1024, 2048, 4096, 8192):
        if tokens == 8192:
            why = "no request succeeded (5 out_of_memory)"
            missing = [("ttft", "s", "p50"), ("ttft", "s", "p95"), ("decode_speed", "tok/s", "")]
            figures = tuple(Figure(m, u, None, statistic=s, missing=why) for m, u, s in missing)
            points.append(
                CurvePoint(tokens, "8,192", figures, {"out_of_memory": 5}, "", "the engine ran out of memory")
            )
            continue
        first = 2 * PARAMETERS * tokens / MATRIX_RATE * 1.4 + tokens**2 * 4e-8 + 0.03
        speed = 1 / (GAP + tokens * KV_BYTES_PER_TOKEN / BANDWIDTH * 2.0)
        few = tokens >= 2048
        points.append(
            CurvePoint(
                tokens,
                f"{tokens:,}",
                (
                    Figure("ttft", "s", first, 60, "p50", first * 0.97, first * 1.04, 0.9),
                    Figure(
                        "ttft", "s", first * 1.18, 12 if few else 60, "p95", first * 1.1,
                        None if few else first * 1.32, 0.9,
                    ),
                    Figure("decode_speed", "tok/s", speed, 60, "", speed * 0.96, speed * 1.03, 0.9),
                ),
            )
        )  # fmt: skip
    return Curve("context_length", "prompt length", "tokens", tuple(points), ("answers of 32 tokens, one at a time",))


GAP = events.GAP_S


def _kv_pressure() -> Curve:
    rows: tuple[tuple[float, float, float, float, dict[str, int], str], ...] = (
        (0.50, 0.11, 0.13, 46.0, {}, "all were admitted"),
        (0.90, 0.14, 0.31, 41.0, {}, "all were admitted"),
        (1.10, 0.52, 2.40, 39.0, {}, "3 of 22 waited until another had finished"),
        (2.00, 1.90, 6.10, 37.0, {"timeout": 4}, "20 of 40 waited; 6 were preempted and computed again"),
    )
    points = tuple(
        CurvePoint(
            share, f"{100 * share:.0f} %",
            (
                Figure("ttft", "s", median, 40, "p50", median * 0.9, median * 1.15, 0.9),
                Figure("ttft", "s", late, 40, "p95", late * 0.8, None, 0.9),
                Figure("decode_speed", "tok/s", speed, 40, "", speed * 0.95, speed * 1.04, 0.9),
            ),
            failed, "", outcome,
        )
        for share, median, late, speed, failed, outcome in rows
    )  # fmt: skip
    notes = ("the cache holds 16,384 positions, as the engine says",)
    return Curve("kv_pressure", "positions asked for, of those that the KV cache holds", "fraction", points, notes)


def _prefix_cache() -> Curve:
    rows = (
        (0.0, "cold", 0.212, 0.0, "no prompt began like one before"),
        (1.0, "warm", 0.034, 0.97, "every prompt was sent before"),
    )
    points = tuple(
        CurvePoint(
            place, label,
            (
                Figure("ttft", "s", first, 60, "p50", first * 0.96, first * 1.05, 0.9),
                Figure("ttft", "s", first * 1.2, 60, "p95", first * 1.1, first * 1.5, 0.9),
                Figure("prefix_cache_hit_rate", "fraction", rate, 60),
            ),
            outcome=outcome,
        )
        for place, label, first, rate, outcome in rows
    )  # fmt: skip
    return Curve("prefix_cache", "prefix cache", "", points)


def _request_rate() -> Capacity:
    points = (
        CapacityPoint(1.0, 3, 3), CapacityPoint(2.0, 3, 3), CapacityPoint(4.0, 3, 3),
        CapacityPoint(8.0, 3, 0, missed="ttft_p95 was 6.2 s, 500 ms is allowed"),
        CapacityPoint(6.0, 3, 0, missed="ttft_p95 was 1.9 s, 500 ms is allowed"),
        CapacityPoint(5.0, 3, 1, missed="ttft_p95 was 560 ms, 500 ms is allowed"),
        CapacityPoint(4.5, 3, 3, void=1),
        CapacityPoint(5.5, 0, 0, void=2),
    )  # fmt: skip
    return Capacity(
        "request_rate", "req/s", 4.5, 6.0, ("ttft_p95<=500ms", "tpot_p95<=40ms"), points,
        "It carries at least 4.5 requests/s within the targets, and no more than 6.",
    )  # fmt: skip


def _concurrency() -> Capacity:
    points = tuple(CapacityPoint(float(load), 3, 3) for load in (1, 2, 4, 8, 16))
    return Capacity(
        "concurrency", "in flight", 16.0, None, ("ttft_p95<=500ms",), points,
        "It carries at least 16 requests in flight within the targets.",
        "the search ended at its limit of 16",
    )  # fmt: skip


def profile() -> Profile:
    placements = tuple(_placement(phase, batch) for phase in ("prefill", "decode") for batch in (1, 4, 16))
    return Profile(
        placements, (_decode_operators(), _prefill_operators()),
        ("profiles/demo-decode-1.json.gz", "profiles/demo-prefill-1.json.gz"),
        {
            "nsys": "this machine has no NVIDIA GPU",
            "ncu": "this machine has no NVIDIA GPU",
        },
        "Decode at batch 1 is memory-bound: it reads 269 MB of weights for each token. Fewer bits a weight address "
        "that, so look at the 8-bit candidates first.",
        Rung.EIGHT_BIT,
    )  # fmt: skip


def _placement(phase: str, batch: int) -> Placement:
    tokens = 256 if phase == "prefill" else 1
    moved = WEIGHT_BYTES + batch * 256 * KV_BYTES_PER_TOKEN * (1 if phase == "decode" else 2)
    operations = 2 * PARAMETERS * tokens * batch
    floors = moved / BANDWIDTH, operations / MATRIX_RATE
    measured = max(floors) * (1.28 if phase == "decode" else 1.5) + 0.0006
    bound = Bound.MEMORY if floors[0] >= floors[1] else Bound.COMPUTE
    fraction = max(floors) / measured
    sentence = f"The floor explains {100 * fraction:.0f} % of the time."
    return Placement(
        ENGINE,
        phase,
        batch,
        tokens,
        measured,
        moved,
        operations,
        *floors,
        fraction,
        bound,
        sentence,
        20,
        measured * 0.97,
        measured * 1.05,
        "float32",
    )


def _decode_operators() -> OperatorTable:
    shares = {
        "aten::mm": 0.71, "aten::_scaled_dot_product_flash_attention_for_cpu": 0.09, "aten::mul": 0.05,
        "aten::cat": 0.035, "aten::copy_": 0.03, "aten::add": 0.02, "aten::rsqrt": 0.012, "aten::mean": 0.01,
        "aten::silu": 0.009, "aten::pow": 0.008, "aten::neg": 0.007, "aten::index_select": 0.006, "aten::slice": 0.005,
        "aten::embedding": 0.004, "aten::view": 0.004,
    }  # fmt: skip
    return _operators("decode", 1, 1, 0.0242, 0.0031, shares)


def _prefill_operators() -> OperatorTable:
    shares = {
        "aten::mm": 0.82,
        "aten::_scaled_dot_product_flash_attention_for_cpu": 0.11,
        "aten::mul": 0.04,
        "aten::add": 0.03,
    }
    return _operators("prefill", 1, 256, 1.08, 0.004, shares)


def _operators(
    phase: str, batch: int, tokens: int, wall_s: float, framework_s: float, shares: dict[str, float]
) -> OperatorTable:
    rows = tuple(
        OperatorRow(
            name, 30 * (index + 7), share * (wall_s - framework_s), share, 2 * PARAMETERS if "mm" in name else None
        )
        for index, (name, share) in enumerate(shares.items())
    )
    return OperatorTable(phase, batch, tokens, 16, wall_s, framework_s, rows)


def _machine() -> Machine:
    return Machine(
        "4f2a9c1d0b7e6a35", "Linux 6.1 x86_64", "Example processor, 2 cores at 2.6 GHz", 2, 2,
        ("avx2", "avx512f", "avx512_vnni"), 16 * 2**30, (), {"python": "3.11.2"}, "", 32 * 2**20,
    )  # fmt: skip
