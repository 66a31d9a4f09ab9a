"""What an engine really reads and multiplies, from the candidate's artifact and resolved options.

A floor must hold whatever the engine does inside: where it may choose, the cheaper possibility is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from paredown.models import kv_cache
from paredown.profile.roofline import PLAIN_BITS
from paredown.records.artifact import Artifact, ModelFacts, TensorGroup
from paredown.records.candidate import Candidate
from paredown.records.figure import Options
from paredown.records.machine import Ceilings

ARITHMETIC = {
    "float32": "float32", "f32": "float32", "float16": "float16", "f16": "float16", "half": "float16",
    "bfloat16": "bfloat16", "bf16": "bfloat16", "int8": "int8", "i8": "int8",
}  # fmt: skip
ELEMENT_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}
PLAIN = frozenset({"F64", "F32", "F16", "BF16"})
INTEGER_BITS = 8


@dataclass(frozen=True)
class AsServed:
    """The artifact as it lies in memory, the KV cache's bytes for a position, the type of the arithmetic."""

    artifact: Artifact
    kv_bytes_per_token: int | None
    compute_dtype: str


def as_served(candidate: Candidate, facts: ModelFacts, ceilings: Ceilings) -> AsServed:
    """What `roofline.place` needs to know of a candidate."""
    options, artifact = candidate.engine_options, candidate.main
    return AsServed(
        artifact=_converted(artifact, options),
        kv_bytes_per_token=_kv_bytes(facts, artifact, options),
        compute_dtype=compute_dtype(artifact, options, ceilings),
    )


def compute_dtype(artifact: Artifact, options: Options, ceilings: Ceilings) -> str:
    """The fastest arithmetic that the engine can be using, by the measured rates: the type that its options name, or
    float32 (which any type may be converted to), or int8 where its weights are integers or its activations are
    rounded to some.
    """
    possible = {"float32", *_declared(options)}
    integers = any(g.kind in {"matrix", ""} and g.bits <= INTEGER_BITS for g in artifact.groups)
    rounded = any("activation" in name and value not in (None, 0, False, "") for name, value in options.items())
    if integers or rounded:
        possible.add("int8")
    rates = {rate.dtype: rate.operations_per_second for rate in ceilings.matrix if rate.dtype in possible}
    return max(rates, key=rates.__getitem__) if rates else "float32"


def _declared(options: Options) -> frozenset[str]:
    """Types of arithmetic that any option names, except those of the KV cache."""
    values = (str(value) for name, value in options.items() if not name.startswith("kv"))
    return frozenset(ARITHMETIC[value] for value in values if value in ARITHMETIC)


def _converted(artifact: Artifact, options: Options) -> Artifact:
    """Plain weights take no more than the type that the engine was told to work in."""
    widths = [ELEMENT_BYTES[dtype] for dtype in _declared(options) if dtype in ELEMENT_BYTES]
    if not widths:
        return artifact
    groups = tuple(_narrowed(group, min(widths)) for group in artifact.groups)
    saved = sum(group.size_bytes for group in artifact.groups) - sum(group.size_bytes for group in groups)
    return replace(artifact, groups=groups, weight_bytes=artifact.weight_bytes - saved)


def _narrowed(group: TensorGroup, element_bytes: int) -> TensorGroup:
    if group.dtype not in PLAIN or group.kind == "scale" or group.bits < PLAIN_BITS:
        return group
    return replace(group, size_bytes=min(group.size_bytes, group.elements * element_bytes))


def _kv_bytes(facts: ModelFacts, artifact: Artifact, options: Options) -> int | None:
    """None = as the model's own type has it."""
    width = kv_cache.element_bytes(facts, artifact, options)
    if width is None or facts.kv_unknown:
        return None
    # Scales of a quantized cache come to less than one byte an element, and are left out.
    layers = facts.kv_full_layers + facts.windowed_layers
    return layers * 2 * facts.kv_heads * facts.head_dim * max(1, math.floor(width))
