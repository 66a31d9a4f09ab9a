"""Artifacts as their own files describe them, and whether a technique really changed anything."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from paredown.models import content_digest, formats
from paredown.models.weights import MATRIX, grouped
from paredown.records.artifact import Artifact, LayerLeft, TensorGroup
from paredown.records.candidate import Rung
from paredown.records.figure import Options
from paredown.records.golden import Check

CLAIMED_BITS = {Rung.EIGHT_BIT: 8.0, Rung.FOUR_BIT: 4.0}
LEAST_CHANGED_SHARE = 0.5
NO_OPTIONS: Options = {}


def describe(
    path: Path,
    *,
    format: str,  # noqa: A002 - the record's own word
    parameters: int,
    technique: str = "",
    options: Options = NO_OPTIONS,
    layers_left: Sequence[LayerLeft] = (),
    notes: Sequence[str] = (),
    known_digests: Path | None = None,
) -> Artifact:
    """The artifact in `path`: weight bytes and tensor groups read from its files' headers, digest from every byte.

    parameters:    weights of the source model (a tied head once), so that bits per parameter compare
    known_digests: see `content_digest.digest_of`
    Raises UserError when the files are damaged, missing or not of that format.
    """
    tensors = formats.load(format).read(path)
    return Artifact(
        path=path,
        format=format,
        digest=content_digest.digest_of(path, known=known_digests),
        weight_bytes=sum(tensor.size_bytes for tensor in tensors),
        disk_bytes=sum(file.stat().st_size for file in content_digest.files(path)),
        parameters=parameters,
        groups=grouped(tensors),
        layers_left=tuple(layers_left),
        technique=technique,
        options=dict(options),
        notes=tuple(notes),
    )


def claimed_bits(rung: Rung) -> float | None:
    """Bits to which techniques of this rung bring the weight matrices; None = the rung claims none."""
    return CLAIMED_BITS.get(rung)


def was_optimized(source: Artifact, made: Artifact, claimed: float | None) -> Check:
    """Whether the files of `made` show what was claimed: its weight matrices hold at most `claimed` bits.

    Decided on the matrices of the blocks (at least half of their weights), not on the total, which a large embedding
    dominates. `claimed` None: only that the content differs from the source's.
    """
    name = "was optimized"
    if made.digest == source.digest:
        return Check(name, passed=False, detail="nothing was optimized: every file is the same as the source's")
    if claimed is None:
        return Check(name, passed=True, detail="the files differ from the source's")
    matrices = [group for group in made.groups if group.kind == MATRIX]
    total = sum(group.elements for group in matrices)
    if not total:
        return Check(name, passed=None, detail=f"no weight matrix can be told apart in a {made.format} artifact")
    changed = sum(group.elements for group in matrices if group.bits <= claimed)
    bits = 8 * sum(group.size_bytes for group in matrices) / total
    found = f"the weight matrices hold {bits:.1f} bits per parameter ({_types(matrices)})"
    if changed == 0:
        return Check(name, passed=False, detail=f"nothing was optimized: {found} where {claimed:g} were claimed")
    detail = f"{found}; {changed / total:.0%} of their weights have at most {claimed:g} bits"
    if changed / total < LEAST_CHANGED_SHARE:
        return Check(name, passed=False, detail=f"too little was optimized: {detail}")
    return Check(name, passed=True, detail=detail)


def higher_precision(path: Path, format: str, claimed: float) -> tuple[LayerLeft, ...]:  # noqa: A002
    """Matrices, heads and embeddings stored in more than `claimed` bits; equal layers of all blocks are one entry."""
    left = [t for t in formats.load(format).read(path) if t.kind not in ("scale", "other") and t.bits > claimed]
    counted = Counter((_family(tensor.name), tensor.dtype, tensor.bits, tensor.kind) for tensor in left)
    return tuple(
        LayerLeft(
            name=f"{name} ({count} layers)" if count > 1 else name,
            reason=f"the {'weight' if kind == MATRIX else kind} is stored as {dtype}",
            bits=bits,
        )
        for (name, dtype, bits, kind), count in sorted(counted.items())
    )


def merged_layers_left(declared: Iterable[LayerLeft], found: Iterable[LayerLeft]) -> tuple[LayerLeft, ...]:
    """What the technique says it left, then what only its files show."""
    declared = tuple(declared)
    return (*declared, *(layer for layer in found if not any(_same(layer, known) for known in declared)))


def _same(found: LayerLeft, declared: LayerLeft) -> bool:
    """By name; techniques may also name the embedding in words (`embedding and head`)."""
    name = re.sub(r" \(\d+ layers\)$", "", found.name).removesuffix(".weight")
    if name == _family(declared.name).removesuffix(".weight"):
        return True
    return found.bits == declared.bits and all("embed" in layer.name.lower() for layer in (found, declared))


def _family(name: str) -> str:
    return re.sub(r"(?<=[./])\d+(?=[./])", "*", name)


def _types(groups: Iterable[TensorGroup]) -> str:
    return ", ".join(f"{group.count} × {group.dtype}" for group in groups)
