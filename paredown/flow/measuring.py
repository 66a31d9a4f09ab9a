"""`measure`: one model or server under its traffic, and along the axes that were asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from paredown import __version__, registry
from paredown.contracts import Evidence
from paredown.errors import UserError
from paredown.flow import prepare
from paredown.flow.progress import Progress, Stage
from paredown.flow.subject import Subject
from paredown.measure import context_axis, definitions, figures, kv_pressure, prefix_cache, trial
from paredown.measure.trial import TrialSettings
from paredown.records.events import Trial
from paredown.records.measurement import Curve, MeasuredTraffic, Measurement
from paredown.records.timing import failures
from paredown.records.traffic import Traffic
from paredown.records.verdict import Target
from paredown.spec import limits, measurable
from paredown.spec import targets as target_texts
from paredown.store.run_store import RunStore

BLOCKS = 3
KV_PROBE_TOKENS = 192
CURVES = ("context_length", "kv_pressure", "prefix_cache")
OTHER_TOOLS = ("vllm", "aiperf")


@dataclass(frozen=True)
class LoadAsked:
    """What is sent and how.

    traffic: names or files, perhaps with options (`trace.csv:limit=200`); load: a load shape in place of their own
    targets: absolute ones on latency are what each request has to keep (goodput), all of them what capacity keeps
    blocks:  fresh processes of our own engines, or slices of somebody else's
    curves:  any of CURVES
    kv_capacity_tokens: positions that the server's KV cache holds, where it does not say itself
    """

    traffic: tuple[str, ...] = ("chat",)
    load: str | None = None
    targets: tuple[str, ...] = ()
    blocks: int = BLOCKS
    requests_per_block: int | None = None
    forced_lengths: bool = True
    timeout_s: float = 300.0
    retries: int = 0
    seed: int = 0
    price_usd_per_hour: float | None = None
    curves: tuple[str, ...] = ()
    kv_capacity_tokens: int | None = None


def measure(subject: Subject, asked: LoadAsked, store: RunStore, progress: Progress, command: str) -> Measurement:
    """Figures under each traffic by every definition, and the curves. Raises UserError, EngineError."""
    targets = targets_of(subject, asked)
    workloads = read_traffics(subject, asked)
    settings = trial_settings(subject, asked, targets)
    title = f"Measuring {subject.name}, {settings.blocks} {'fresh processes' if subject.fresh else 'slices'}"
    with progress.stage(title) as stage:
        trials = trial.run(
            subject.start, subject.candidate.name, workloads, settings, on_block=_counting(stage, settings)
        )
    for one in trials:
        store.put("trial", one.traffic, one, bulk=True)
    measured = tuple(
        _measured(subject, asked, targets, traffic, one) for traffic, one in zip(workloads, trials, strict=True)
    )
    curves = tuple(_curve(name, subject, asked, progress) for name in asked.curves)
    found = begun(subject, command, traffics=measured, curves=curves)
    store.put("measurement", "measure", found, bulk=True)
    return found


def begun(
    subject: Subject, command: str, *, traffics: tuple[MeasuredTraffic, ...] = (), curves: tuple[Curve, ...] = ()
) -> Measurement:
    """What every verb says of its subject, with what it measured."""
    return Measurement(
        subject=subject.name,
        engine=subject.engine.name,
        started=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        machine=subject.machine,
        versions={"paredown": __version__, **subject.candidate.versions},
        command=command,
        traffics=traffics,
        curves=curves,
        cautions=subject.cautions,
    )


def targets_of(subject: Subject, asked: LoadAsked) -> tuple[Target, ...]:
    """Absolute targets on figures. Raises UserError for relative ones and for what cannot be measured here."""
    metrics = {metric.name: metric for metric in registry.metrics()}
    found = target_texts.parse_all(asked.targets, metrics)
    for target in found:
        if target.relative or target.metric == target_texts.QUALITY_DROP:
            raise UserError(
                f"The target {target.text!r} compares with a baseline, and here one model or server is measured by "
                "itself. Give an absolute value such as 'ttft_p95<=200ms', or use `paredown run`."
            )
    measurable.check(found, metrics, subject.machine, asked.price_usd_per_hour)
    return found


def read_traffics(subject: Subject, asked: LoadAsked) -> tuple[Traffic, ...]:
    """Every traffic; a load of several steps gives one for each. Raises UserError."""
    workloads = prepare.read_workloads(asked.traffic, subject.tokens, load=asked.load, seed=asked.seed)
    return tuple(one for workload in workloads for one in workload.traffics)


def trial_settings(subject: Subject, asked: LoadAsked, targets: Sequence[Target]) -> TrialSettings:
    return TrialSettings(
        blocks=asked.blocks,
        fresh=subject.fresh,
        requests_per_block=asked.requests_per_block,
        request_timeout_s=asked.timeout_s,
        retries=asked.retries,
        forced_lengths=asked.forced_lengths,
        kv_probe_tokens=KV_PROBE_TOKENS if subject.fresh else 0,
        ttft_target_s=limits.ttft_s(targets),
    )


def _counting(stage: Stage, settings: TrialSettings) -> Callable[[str, int, object], None]:
    return lambda _name, index, _blocks: stage.update((index + 1) / settings.blocks)


def _measured(
    subject: Subject, asked: LoadAsked, targets: Sequence[Target], traffic: Traffic, found: Trial
) -> MeasuredTraffic:
    kept = limits.per_request(targets)
    evidence = Evidence(found, subject.artifact, asked.price_usd_per_hour, kept)
    return MeasuredTraffic(
        traffic=traffic.name,
        summary=traffic.summary,
        load_shape=traffic.load_shape,
        options=traffic.options,
        requests=len(found.requests()),
        figures=figures.compute(evidence),
        definitions={name: definitions.compute(name, found, kept) for name in OTHER_TOOLS},
        failures=failures(found),
        void=found.void,
        notes=tuple(dict.fromkeys((*traffic.notes, *found.notes))),
        trial=found,
    )


def _curve(name: str, subject: Subject, asked: LoadAsked, progress: Progress) -> Curve:
    with progress.stage(f"Curve: {name.replace('_', ' ')}") as stage:
        if name == "context_length":
            return context_axis.run(subject.start, subject.tokens, on_point=stage.update)
        if name == "kv_pressure":
            pressure = kv_pressure.PressureSettings(capacity_tokens=asked.kv_capacity_tokens)
            return kv_pressure.run(subject.start, subject.tokens, pressure, on_point=stage.update)
        return prefix_cache.run(subject.start, subject.tokens, on_point=stage.update)
