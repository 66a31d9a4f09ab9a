"""Where prefill and decode stand between what the machine can do and what was measured (measurement.md, section 2).

Floors after the roofline model (Williams, Waterman and Patterson, CACM 2009, 52(4):65-76): a step takes at least
bytes/bandwidth and at least operations/rate. Decode at batch b reads the active weights once and b KV caches; prefill
of p tokens does 2·N·p operations with N the matrix weights of the blocks, the head once, and attention.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from paredown.records.artifact import Artifact, ModelFacts, TensorGroup
from paredown.records.bottleneck import Bound, Placement
from paredown.records.events import Trial
from paredown.records.machine import Ceilings
from paredown.records.timing import succeeded, tpot_s, ttft_s

EXPLAINS = 0.60
PLAIN_BITS = 16


@dataclass(frozen=True)
class Step:
    """One measured step: a decoded token of each of `batch` requests, or the whole prefill of a prompt.

    tokens: positions in the context (decode), or of the prompt (prefill)
    measured_s: the median of `samples` steps; low_s, high_s: their quartiles
    """

    phase: str
    tokens: int
    batch: int
    measured_s: float
    samples: int = 0
    low_s: float | None = None
    high_s: float | None = None


@dataclass(frozen=True)
class Work:
    """What a step must move and compute at least."""

    bytes_moved: int
    operations: int


def place(
    candidate: str,
    facts: ModelFacts,
    artifact: Artifact,
    ceilings: Ceilings,
    step: Step,
    *,
    compute_dtype: str = "float32",
    kv_bytes_per_token: int | None = None,
) -> Placement | None:
    """The step on the roofline; None when its ceilings or its own time could not be measured (all tokens at once).

    compute_dtype:      in which the engine multiplies: `float32`, `bfloat16` or `int8`
    kv_bytes_per_token: within every window; default: the model's own data type
    Raises ValueError for a phase other than `prefill` and `decode`.
    """
    work = work_of(facts, artifact, step, kv_bytes_per_token=kv_bytes_per_token)
    bandwidth = bandwidth_for(ceilings, work.bytes_moved)
    rate = next((m.operations_per_second for m in ceilings.matrix if m.dtype == compute_dtype), None)
    if bandwidth is None or rate is None or step.measured_s <= 0.0:
        return None
    memory_s, compute_s = work.bytes_moved / bandwidth, work.operations / rate
    fraction = max(memory_s, compute_s) / step.measured_s
    bound = _bound(memory_s, compute_s, fraction)
    return Placement(
        candidate=candidate,
        phase=step.phase,
        batch=step.batch,
        tokens=step.tokens,
        measured_s=step.measured_s,
        bytes_moved=work.bytes_moved,
        operations=work.operations,
        memory_floor_s=memory_s,
        compute_floor_s=compute_s,
        fraction=fraction,
        bound=bound,
        sentence=_sentence(step, bound, fraction, bandwidth, rate, compute_dtype),
        samples=step.samples,
        low_s=step.low_s,
        high_s=step.high_s,
        compute_dtype=compute_dtype,
    )


def steps_of(trial: Trial) -> tuple[Step, ...]:
    """The steps that a trial shows: decode at its concurrency, and prefill where one request runs by itself.

    Medians over requests. With several in flight a first token waits for others, so that is no prefill time.
    """
    done = [request for request in succeeded(trial.requests()) if request.prompt_tokens]
    per_token = [seconds for request in done if (seconds := tpot_s(request)) is not None]
    if not per_token:
        return ()
    prompt = round(statistics.median(request.prompt_tokens or 0 for request in done))
    output = round(statistics.median(request.output_tokens for request in done))
    decode = Step("decode", prompt + output // 2, max(1, trial.concurrency), statistics.median(per_token))
    if trial.concurrency != 1:
        return (decode,)
    return Step("prefill", prompt, 1, statistics.median(map(ttft_s, done))), decode


def placements(
    candidate: str,
    facts: ModelFacts,
    artifact: Artifact,
    ceilings: Ceilings,
    trials: Sequence[Trial],
    *,
    compute_dtype: str = "float32",
    kv_bytes_per_token: int | None = None,
) -> tuple[Placement, ...]:
    """Every step of every trial that is not void, placed."""
    found = [
        place(
            candidate,
            facts,
            artifact,
            ceilings,
            step,
            compute_dtype=compute_dtype,
            kv_bytes_per_token=kv_bytes_per_token,
        )
        for trial in trials
        if not trial.void
        for step in steps_of(trial)
    ]
    return tuple(placement for placement in found if placement is not None)


def work_of(facts: ModelFacts, artifact: Artifact, step: Step, *, kv_bytes_per_token: int | None = None) -> Work:
    """Bytes and operations of one step. A layer with a window looks back no further than that; how much a cache takes
    that the configuration does not describe is left out unless it is given: the floor is then lower, never wrong.
    """
    if step.phase not in {"prefill", "decode"}:
        raise ValueError(f"A phase is prefill or decode, not {step.phase!r}.")
    kv = facts.kv_bytes_per_token if kv_bytes_per_token is None else kv_bytes_per_token
    layers = _attention_layers(facts)
    kept = layers.full * step.tokens + layers.windowed * min(step.tokens, layers.window)
    known = layers.full + layers.windowed
    positions = kept / known if known else 0 if kv_bytes_per_token is None else step.tokens
    kv_bytes = round(step.batch * kv * positions)
    weights = active_weight_bytes(facts, artifact)
    head = facts.vocabulary * facts.hidden_size
    attention_per_pair = 4 * facts.heads * facts.head_dim
    if step.phase == "decode":
        operations = step.batch * (2 * facts.active_parameters + attention_per_pair * kept)
    else:
        pairs = layers.full * _pairs(step.tokens, step.tokens) + layers.windowed * _pairs(step.tokens, layers.window)
        blocks = 2 * (facts.active_parameters - head) * step.tokens
        operations = step.batch * (blocks + 2 * head + attention_per_pair * pairs)
    return Work(weights + kv_bytes, operations)


@dataclass(frozen=True)
class _AttentionLayers:
    full: int
    windowed: int
    window: int


def _attention_layers(facts: ModelFacts) -> _AttentionLayers:
    """As the configuration says; every layer at full length where it was not read for that, none where it was and
    does not tell.
    """
    if facts.kv_full_layers + facts.windowed_layers == 0:
        return _AttentionLayers(facts.layers, 0, 0)
    if facts.kv_unknown:
        return _AttentionLayers(0, 0, 0)
    return _AttentionLayers(facts.kv_full_layers, facts.windowed_layers, facts.window or 0)


def _pairs(tokens: int, window: int) -> int:
    """Pairs of positions that a causal layer compares: position i with the last min(i, window), itself included."""
    within = min(tokens, window)
    return within * (within + 1) // 2 + (tokens - within) * within


def active_weight_bytes(facts: ModelFacts, artifact: Artifact) -> int:
    """Bytes of the weights that one decoded token reads: no embedding table, unless it is the head as well.

    From the artifact's own count by kind; where kinds are not told apart, its bytes in the proportion of the active
    parameters to all of them (a mixture of experts reads only those it routes to).
    """
    told = bool(artifact.groups) and all(group.kind for group in artifact.groups)
    matrices = facts.active_parameters / max(1, facts.parameters)
    if not told:
        return round(artifact.weight_bytes * min(1.0, matrices))
    has_head = any(group.kind == "head" for group in artifact.groups)
    embedding_is_head = facts.tied_head and not has_head
    unread = () if embedding_is_head else tuple(g for g in artifact.groups if g.kind == "embedding")
    read = sum(g.size_bytes for g in artifact.groups if g not in unread) - _scale_bytes_of(unread, artifact)
    stored = sum(g.elements for g in artifact.groups if g.kind in {"matrix", "head"})
    if embedding_is_head:
        stored += facts.vocabulary * facts.hidden_size
    return round(read * min(1.0, facts.active_parameters / stored)) if stored else round(read)


def _scale_bytes_of(tables: Sequence[TensorGroup], artifact: Artifact) -> float:
    """The scales that belong to quantized tables: their share of all quantized weights."""
    quantized = sum(g.elements for g in artifact.groups if g.kind != "scale" and g.bits < PLAIN_BITS)
    own = sum(g.elements for g in tables if g.bits < PLAIN_BITS)
    scales = sum(g.size_bytes for g in artifact.groups if g.kind == "scale")
    return scales * own / quantized if quantized else 0.0


def bandwidth_for(ceilings: Ceilings, bytes_moved: int) -> float | None:
    """Bandwidth of the largest measured working set that is no larger than the bytes moved (a small model partly
    sits in the last-level cache), or of the smallest one measured. None = none was measured.
    """
    if not ceilings.bandwidth:
        return None
    by_size = sorted(ceilings.bandwidth, key=lambda point: point.working_set_bytes)
    fitting = [point for point in by_size if point.working_set_bytes <= bytes_moved]
    return (fitting[-1] if fitting else by_size[0]).bytes_per_second


def _bound(memory_s: float, compute_s: float, fraction: float) -> Bound:
    if fraction < EXPLAINS:
        return Bound.OVERHEAD
    return Bound.MEMORY if memory_s >= compute_s else Bound.COMPUTE


def _sentence(step: Step, bound: Bound, fraction: float, bandwidth: float, rate: float, compute_dtype: str) -> str:
    what = {
        "decode": f"Decode ({step.batch} at a time, {step.tokens} positions)",
        "prefill": f"Prefill of {'' if step.batch == 1 else f'{step.batch} × '}{step.tokens} tokens",
    }[step.phase]
    ceiling = {
        Bound.MEMORY: f"reading memory at {bandwidth / 1e9:.0f} GB/s explains {fraction:.0%} of its time; "
        "fewer bytes help: 8-bit, then 4-bit weights",
        Bound.COMPUTE: f"{compute_dtype} arithmetic at {rate / 1e9:.0f} GFLOP/s explains {fraction:.0%} of its time; "
        "narrower arithmetic or a smaller structure helps: 8-bit activations, then pruning",
        Bound.OVERHEAD: f"memory and arithmetic explain only {fraction:.0%} of its time, the rest is the framework; "
        "better execution helps first: another engine (the lossless rung), before smaller weights",
    }[bound]
    beyond = (
        " (More than 100%: the ceiling was measured on a busier machine, or part of it stays in cache.)"
        if fraction > 1.0
        else ""
    )
    return f"{what} is {bound.value}: {ceiling}.{beyond}"
