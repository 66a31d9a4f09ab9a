"""Hugging Face directory → OpenVINO directory, through optimum-intel, run as a process of its own environment."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paredown.contracts import Environment
from paredown.errors import TechniqueError
from paredown.models.companions import copy_companions
from paredown.records.artifact import ModelFacts

ENVIRONMENT = Environment(
    name="optimum-intel",
    requirements=(
        "torch==2.13.0",
        "optimum-intel==2.2.0",
        "transformers==5.5.4",
        "openvino==2026.4.1",
        "nncf==3.4.0",
    ),
    # Pulled in by transformers' extras on some indexes; they do not import beside the CPU build of torch.
    remove=("torchvision", "torchaudio"),
)

SUPPORTED_ARCHITECTURES = (
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "MixtralForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
    "GemmaForCausalLM",
    "Gemma2ForCausalLM",
    "PhiForCausalLM",
    "Phi3ForCausalLM",
    "GraniteForCausalLM",
    "OlmoForCausalLM",
    "GPT2LMHeadModel",
    "GPTNeoXForCausalLM",
)
"""Decoders that optimum-intel 2.2 names in its export tables; only Llama was run here."""

TAIL_LINES = 25
CODE = "from optimum.commands.optimum_cli import main; main()"


@dataclass(frozen=True)
class GroupSize:
    """The group size used, and what was changed of the one wanted (empty when nothing was)."""

    size: int
    adjustment: str = ""


def choose_group_size(facts: ModelFacts, wanted: int) -> GroupSize | None:
    """The largest power of two ≤ `wanted`, at least 16, that divides the input dimension of every matrix."""
    columns = sorted({linear.columns for linear in facts.linears})
    size = wanted
    while size >= 16 and any(column % size for column in columns):
        size //= 2
    if size < 16:
        return None
    if size == wanted:
        return GroupSize(size)
    offender = next(column for column in columns if column % wanted)
    return GroupSize(size, f"group {wanted} does not divide {offender}; {size} used")


@dataclass(frozen=True)
class WeightBits:
    """Bits a weight takes, scales and zero points included, in the layers of the blocks and in head and embedding."""

    blocks: float
    tables: float


def predicted_bytes(facts: ModelFacts, bits: WeightBits) -> int:
    """Bytes of the matrices, the embedding and (when it is not tied) the head; norms are left out (under 0.1 %)."""
    blocks = sum(linear.rows * linear.columns * linear.count for linear in facts.linears)
    table = facts.vocabulary * facts.hidden_size
    return round((blocks * bits.blocks + (1 if facts.tied_head else 2) * table * bits.tables) / 8)


def decode_ratio_bound(facts: ModelFacts, bits: WeightBits) -> float | None:
    """Bytes read for one token before ÷ after: the speed-up if decoding waits for memory only. None = unknown dtype."""
    source_bits = {"bfloat16": 16, "float16": 16, "float32": 32}.get(facts.dtype)
    if source_bits is None:
        return None
    blocks = sum(linear.rows * linear.columns * linear.count for linear in facts.linears)
    head = facts.vocabulary * facts.hidden_size
    return (blocks + head) * source_bits / (blocks * bits.blocks + head * bits.tables)


def unsupported(facts: ModelFacts) -> str:
    """Why optimum-intel cannot convert this architecture, or an empty string."""
    if facts.architecture in SUPPORTED_ARCHITECTURES:
        return ""
    return f"optimum-intel is not known to convert {facts.architecture}"


def export(
    source: Path, out: Path, weight_format: str, extra: Sequence[str], report: Callable[[float, str], None]
) -> None:
    """Run `optimum-cli export openvino` with this interpreter; the result is in `out`.

    weight_format: `fp16`, `int8` or `int4`. Raises TechniqueError with the tail of the exporter's output.
    """
    command = [
        *(sys.executable, "-c", CODE, "export", "openvino", "-m", str(source)),
        *("--task", "text-generation-with-past", "--weight-format", weight_format),
        *("--disable-convert-tokenizer", *extra, str(out)),
    ]
    report(0.05, "tracing the model (usually 20 to 30 s)")
    lines: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"},
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            text = line.strip()
            if text:
                lines.append(text)
            if "Applying Weight Compression" in text:
                report(0.7, "compressing the weights")
    if process.returncode != 0 or not (out / "openvino_model.xml").is_file():
        raise TechniqueError(
            f"The OpenVINO exporter ended with status {process.returncode}: {_reason(lines)}",
            detail="\n".join(lines[-TAIL_LINES:]),
        )
    copy_companions(source, out)
    shutil.copyfile(source / "config.json", out / "config.json")


def count_types(directory: Path) -> Mapping[str, int]:
    """Bytes of the stored constants by element type (`u8`, `u4`, `f16` …), read from the model's XML."""
    sizes: Counter[str] = Counter()
    seen: set[str] = set()
    root = ET.parse(directory / "openvino_model.xml").getroot()  # noqa: S314 - just written by the exporter
    for data in root.iterfind("layers/layer[@type='Const']/data"):
        if data.attrib["offset"] not in seen:
            seen.add(data.attrib["offset"])
            sizes[data.attrib["element_type"]] += int(data.attrib["size"])
    return dict(sizes)


def check_types(directory: Path, wanted: Sequence[str], least_share: float) -> Mapping[str, int]:
    """Bytes by type. Raises TechniqueError when those of the wanted types are less than `least_share` of them all."""
    sizes = count_types(directory)
    share = sum(sizes.get(name, 0) for name in wanted) / max(1, sum(sizes.values()))
    if share < least_share:
        found = ", ".join(f"{name} {size:,} B" for name, size in sorted(sizes.items()))
        raise TechniqueError(
            f"Only {share:.0%} of the bytes are of type {' or '.join(wanted)} after the conversion: {found}."
        )
    return sizes


def _reason(lines: Sequence[str]) -> str:
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Interrupt)\b", line)]
    return errors[-1] if errors else (lines[-1] if lines else "it wrote nothing")
