"""A model on disk, and what is known of it from its own files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from paredown.records.figure import Options


@dataclass(frozen=True)
class LayerLeft:
    """A layer that a technique left as it was, or treated otherwise than asked, with the reason."""

    name: str
    reason: str
    bits: float | None = None


@dataclass(frozen=True)
class TensorGroup:
    """The tensors of one data type and kind in a checkpoint, as its own files count them.

    elements: weights that they stand for (a byte that packs two 4-bit weights counts two)
    kind:     `matrix` (linear layers of the blocks), `head`, `embedding` (also a tied head), `scale` (scales, zero
              points, code books), `other` (norms, biases); empty = not told apart
    """

    dtype: str
    count: int
    elements: int
    size_bytes: int
    kind: str = ""

    @property
    def bits(self) -> float:
        """Stored bits per element, without scales."""
        return 8.0 * self.size_bytes / self.elements


@dataclass(frozen=True)
class Artifact:
    """A model on disk: directory, format, digest.

    format:       `hf`, `bitsandbytes`, `onnx-genai`, `openvino`, `fake` …
    digest:       SHA-256 over the sorted relative file names and the digests of the files
    weight_bytes: bytes of the stored weights (tensors only; each shared tensor once)
    disk_bytes:   bytes of every file in the directory
    parameters:   number of weights of the source model (a tied head counted once)
    """

    path: Path
    format: str
    digest: str
    weight_bytes: int
    disk_bytes: int
    parameters: int
    groups: tuple[TensorGroup, ...] = ()
    layers_left: tuple[LayerLeft, ...] = ()
    technique: str = ""
    options: Options = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def bits_per_parameter(self) -> float:
        """Stored bits per parameter of the source model, scales and zero points included."""
        return 8.0 * self.weight_bytes / self.parameters


@dataclass(frozen=True)
class LinearShape:
    """A family of equal linear layers of the model: `count` matrices of `rows` × `columns` (out × in)."""

    name: str
    rows: int
    columns: int
    count: int


@dataclass(frozen=True)
class ModelFacts:
    """What the configuration and the weight files of the source model say; read without torch.

    active_parameters: matrix weights read for one decoded token (no embedding table; head once; routed experts
                       only those used)
    context_length:    positions the model was made for
    kv_bytes_per_token: bytes of KV cache for one position at `dtype`, as long as the context is within every window
    kv_full_layers, windowed_layers: layers that keep every position, and those that keep no more than `window`
    kv_unknown:        why the KV cache is not predicted from the configuration; empty when it is
    """

    name: str
    path: Path
    architecture: str
    dtype: str
    parameters: int
    active_parameters: int
    layers: int
    hidden_size: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    context_length: int
    tied_head: bool
    kv_bytes_per_token: int
    linears: tuple[LinearShape, ...]
    has_chat_template: bool
    caution: str = ""
    kv_full_layers: int = 0
    windowed_layers: int = 0
    window: int | None = None
    kv_unknown: str = "its configuration was not read for it"
