"""What a checkpoint is, told from its own files: for `paredown inspect`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from paredown.errors import UserError
from paredown.models import configuration, content_digest, describe, formats, safetensors_header
from paredown.models.weights import grouped
from paredown.records.artifact import ModelFacts, TensorGroup

ZERO_MASKS = {"F32": ("<u4", 0x7FFFFFFF), "F16": ("<u2", 0x7FFF), "BF16": ("<u2", 0x7FFF), "F64": ("<u8", 2**63 - 1)}


@dataclass(frozen=True)
class Inspection:
    """`facts` is None where no config.json tells them; `zero_share` is None when not measured (`missing` says why).

    parameters: weights of the model; without `facts` the weights as stored (a head beside its table counts twice)
    cautions:   what stands in the way of using it as a source model, one sentence each
    """

    path: Path
    format: str
    quantization: str
    parameters: int
    weight_bytes: int
    disk_bytes: int
    groups: tuple[TensorGroup, ...]
    has_tokenizer: bool
    has_chat_template: bool
    facts: ModelFacts | None
    zero_share: float | None
    missing: tuple[str, ...]
    cautions: tuple[str, ...]

    @property
    def bits_per_parameter(self) -> float:
        return 8.0 * self.weight_bytes / self.parameters


def inspect(path: Path, *, count_zeros: bool = False) -> Inspection:
    """Headers and configuration only; with `count_zeros` every weight is read once (about 1 s per GB).

    Raises UserError for a directory that holds no model, or damaged files.
    """
    name = formats.detect(path)
    tensors = formats.load(name).read(path)
    facts, missing = _facts(path)
    zero_share = None
    if not count_zeros:
        missing.append("sparsity: not measured (--sparsity reads every weight)")
    elif name == "hf":
        zero_share = share_of_zeros(path)
    else:
        missing.append(f"sparsity: not measured, weights of the format {name} are packed")
    return Inspection(
        path=path,
        format=name,
        quantization=configuration.quantization(path) if configuration.is_there(path) else "",
        parameters=facts.parameters if facts else sum(t.elements for t in tensors if t.kind != "scale"),
        weight_bytes=sum(tensor.size_bytes for tensor in tensors),
        disk_bytes=sum(file.stat().st_size for file in content_digest.files(path)),
        groups=grouped(tensors),
        has_tokenizer=configuration.has_tokenizer(path),
        has_chat_template=configuration.has_chat_template(path),
        facts=facts,
        zero_share=zero_share,
        missing=tuple(missing),
        cautions=_cautions(path, facts),
    )


def share_of_zeros(directory: Path) -> float:
    """Fraction of the stored floating-point weights that are exactly zero (of either sign)."""
    import numpy as np

    zeros = total = 0
    for file in safetensors_header.files(directory):
        for entry in safetensors_header.read(file):
            if entry.dtype not in ZERO_MASKS or not entry.elements:
                continue
            kind, mask = ZERO_MASKS[entry.dtype]
            stored = np.memmap(file, dtype=kind, mode="r", offset=entry.offset, shape=(entry.elements,))
            zeros += entry.elements - int(np.count_nonzero(stored & stored.dtype.type(mask)))
            total += entry.elements
    if not total:
        raise UserError(f"{directory} stores no plain floating-point weights: zeros cannot be counted.")
    return zeros / total


def _facts(path: Path) -> tuple[ModelFacts | None, list[str]]:
    if not configuration.is_there(path):
        return None, ["architecture, layers, context length: there is no config.json"]
    try:
        return describe.facts(path), []
    except UserError as error:
        return None, [f"architecture, layers, context length: {error}"]


def _cautions(path: Path, facts: ModelFacts | None) -> tuple[str, ...]:
    said = [facts.caution] if facts and facts.caution else []
    if configuration.is_there(path):
        said += [f"{name} names Python code of its own (auto_map)" for name in configuration.custom_code(path)]
    if not configuration.has_tokenizer(path):
        said.append("no tokenizer: it cannot be served or judged")
    elif not configuration.has_chat_template(path):
        said.append("no chat template: conversations cannot be put as the model expects")
    return tuple(said)
