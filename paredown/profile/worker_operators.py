"""Runs prefill and decode steps of an engine on PyTorch under its profiler, in a process of its own.

At import the standard library, contracts, records and registry only. For each phase: a table of operators (the answer)
and a Chrome trace (a file, for Perfetto), both of the same steps.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paredown.contracts import GenerationSession
from paredown.environments import child
from paredown.profile import driving, marks
from paredown.profile.driving import Around, Prompts
from paredown.profile.worker_steps import open_engine
from paredown.records.codec import from_plain, to_plain
from paredown.records.figure import Options
from paredown.records.measurement import OperatorRow, OperatorTable

RANGES = ("prefill", "decode step ", "ProfilerStep", "Activity Buffer Request")
WARM_UP_STEPS = 2


@dataclass(frozen=True)
class OperatorsWork:
    """What the worker is to do: one prompt, and `steps` decode steps after it.

    traces: directory for `prefill.trace.json` and `decode.trace.json`
    """

    engine: str
    artifacts: Mapping[str, str]
    options: Options
    device: str
    vocabulary: int
    prompt_tokens: int
    steps: int
    traces: str
    seed: int = 0


@dataclass(frozen=True)
class OperatorsFound:
    """One table for each phase that was profiled."""

    tables: tuple[OperatorTable, ...]


def act(work: Mapping[str, Any], report: child.Report) -> Mapping[str, Any]:
    """Profile what `work` (a plain OperatorsWork) asks for; the plain form of OperatorsFound."""
    asked = from_plain(OperatorsWork, work)
    report(0.0, "loading the model for the operator table")
    opened = open_engine(asked.engine, asked.artifacts, asked.options, asked.device)
    try:
        session = opened.generation()
        prompts = Prompts(asked.vocabulary, asked.seed)
        driving.time_prefill(session, prompts, asked.prompt_tokens, 1)
        report(0.3, "operators of prefill")
        prefill = _profiled(asked, "prefill", 1, lambda around: _prefill(session, prompts, asked, around))
        report(0.6, "operators of decode")
        _begin(session, prompts, asked)
        decode = _profiled(asked, "decode", asked.steps, lambda around: _decode(session, asked, around))
        session.close()
    finally:
        opened.close()
    plain: Mapping[str, Any] = to_plain(OperatorsFound((prefill, decode)))
    return plain


def _prefill(session: GenerationSession, prompts: Prompts, asked: OperatorsWork, around: Around) -> None:
    driving.time_prefill(session, prompts, asked.prompt_tokens, 1, warm_up_rounds=0, around=around)


def _begin(session: GenerationSession, prompts: Prompts, asked: OperatorsWork) -> None:
    """A request that is in the middle of its answer."""
    session.add(prompts.request(asked.prompt_tokens, 1 + WARM_UP_STEPS + asked.steps))
    while not any(output.token_ids for output in session.step()):
        pass
    for _ in range(WARM_UP_STEPS):
        session.step()


def _decode(session: GenerationSession, asked: OperatorsWork, around: Around) -> None:
    for step in range(asked.steps):
        with around(f"decode step {step}"):
            session.step()


def _profiled(asked: OperatorsWork, phase: str, steps: int, run: Callable[[Around], None]) -> OperatorTable:
    """`run` under the profiler: its table; its trace is written."""
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    on_device = asked.device.startswith("cuda")
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_device else [])]
    around = driving.joined(record_function, marks.nvtx(asked.device))
    with profile(activities=activities, record_shapes=True, with_flops=True) as profiler:
        begun = time.perf_counter()
        run(around)
        if on_device:
            torch.cuda.synchronize()
        wall_s = time.perf_counter() - begun
    profiler.export_chrome_trace(str(Path(asked.traces) / trace_name(phase)))
    averages = [Average.of(event, on_device=on_device) for event in profiler.key_averages() if _is_on_cpu(event)]
    positions = asked.prompt_tokens + (0 if phase == "prefill" else 1 + WARM_UP_STEPS + steps // 2)
    return table(phase, positions, steps, wall_s, averages)


def trace_name(phase: str) -> str:
    """File name of the trace of a phase."""
    return f"{phase}.trace.json"


def _is_on_cpu(event: Any) -> bool:
    # Kernels are events of their own as well; their time is with the operator that launched them.
    return str(event.device_type).endswith("CPU")


@dataclass(frozen=True)
class Average:
    """All calls of one operator in all steps, as the profiler adds them up."""

    name: str
    calls: int
    self_us: float
    operations: int

    @staticmethod
    def of(event: Any, *, on_device: bool) -> Average:
        self_us = event.self_device_time_total if on_device else event.self_cpu_time_total
        return Average(str(event.key), int(event.count), float(self_us), int(event.flops or 0))


def table(phase: str, tokens: int, steps: int, wall_s: float, averages: Iterable[Average]) -> OperatorTable:
    """Everything for one step. Our own ranges are no operators: the time that is theirs alone is the framework's."""
    operators = [a for a in averages if not a.name.startswith(RANGES) and a.self_us > 0]
    total_us = sum(a.self_us for a in operators)
    rows = tuple(
        OperatorRow(
            name=a.name,
            calls=max(1, round(a.calls / steps)),
            self_s=a.self_us / 1e6 / steps,
            share=a.self_us / total_us,
            operations=round(a.operations / steps) or None,
        )
        for a in sorted(operators, key=lambda a: -a.self_us)
    )
    framework_s = max(0.0, wall_s - total_us / 1e6)
    return OperatorTable(phase, 1, tokens, steps, wall_s / steps, framework_s / steps, rows)


if __name__ == "__main__":
    sys.exit(child.run(act))
