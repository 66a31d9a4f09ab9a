"""Hugging Face directory → ONNX directory for onnxruntime-genai, through its own builder, run as a process."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from paredown.errors import TechniqueError
from paredown.models.companions import copy_companions
from paredown.records.artifact import ModelFacts

SUPPORTED_ARCHITECTURES = (
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "Qwen2ForCausalLM",
    "Qwen3ForCausalLM",
    "GemmaForCausalLM",
    "Gemma2ForCausalLM",
    "PhiForCausalLM",
    "Phi3ForCausalLM",
    "GraniteForCausalLM",
    "OlmoForCausalLM",
    "SmolLM3ForCausalLM",
)
"""Dense decoders that the builder of onnxruntime-genai 0.18 names; only Llama was run here."""

TAIL_LINES = 25
CACHE_POSITIONS_BYTES = 4  # cosine and sine tables are fp32, one row of head_dim/2 per position, two tables


@dataclass(frozen=True)
class BlockSize:
    """The block size used, and what was changed of the one wanted (empty when nothing was)."""

    size: int
    adjustment: str = ""


def choose_block_size(facts: ModelFacts, wanted: int, allowed: Sequence[int]) -> BlockSize | None:
    """The largest allowed size ≤ `wanted` that divides the input dimension of every matrix; None when there is none."""
    columns = sorted({linear.columns for linear in facts.linears} | {facts.hidden_size})
    fitting = [size for size in allowed if size <= wanted and all(column % size == 0 for column in columns)]
    if not fitting:
        return None
    size = max(fitting)
    if size == wanted:
        return BlockSize(size)
    offender = next((column for column in columns if column % wanted), None)
    reason = f"group {wanted} does not divide {offender}" if offender else f"group {wanted} is not offered"
    return BlockSize(size, f"{reason}; {size} used")


def matrix_bytes(facts: ModelFacts, bits: int, block_size: int) -> int:
    """Bytes of all matrices, head included once: `bits` a weight and one fp32 scale a block (0 = no scales)."""
    weights = facts.active_parameters
    return weights * bits // 8 + (weights // block_size * 4 if block_size else 0)


def rope_table_bytes(facts: ModelFacts) -> int:
    """The builder stores the cosine and sine tables as fp32: context × head_dim/2, twice."""
    return 2 * facts.context_length * (facts.head_dim // 2) * CACHE_POSITIONS_BYTES


def norm_bytes(facts: ModelFacts) -> int:
    """Two norms a layer and a last one, fp32."""
    return (2 * facts.layers + 1) * facts.hidden_size * 4


def predicted_bytes(facts: ModelFacts, bits: int, block_size: int, *, shares_tied_head: bool) -> int:
    """Bytes of the tensors that the builder will store; an untied or unshared embedding stays fp32."""
    shared = facts.tied_head and shares_tied_head
    embedding = 0 if shared else facts.vocabulary * facts.hidden_size * 4
    return matrix_bytes(facts, bits, block_size) + rope_table_bytes(facts) + norm_bytes(facts) + embedding


def decode_ratio_bound(facts: ModelFacts, bits: int, block_size: int) -> float | None:
    """Bytes read for one token before ÷ after: the speed-up if decoding waits for memory only. None = unknown dtype."""
    source_bits = {"bfloat16": 16, "float16": 16, "float32": 32}.get(facts.dtype)
    if source_bits is None:
        return None
    return facts.active_parameters * source_bits / 8 / matrix_bytes(facts, bits, block_size)


def unsupported(facts: ModelFacts) -> str:
    """Why this model cannot be converted and run, or an empty string."""
    if facts.architecture not in SUPPORTED_ARCHITECTURES:
        return f"the ONNX builder is not known to convert {facts.architecture}"
    if facts.windowed_layers:
        # Seen with onnxruntime-genai 0.18: a tiny Mistral fails about 16 positions beyond its window.
        return (
            f"{facts.windowed_layers} layers attend to a window of {facts.window or 0:,} positions, beyond which "
            "onnxruntime-genai fails or computes something else"
        )
    return ""


def build(
    source: Path,
    out: Path,
    precision: str,
    extra_options: Sequence[str],
    report: Callable[[float, str], None],
) -> None:
    """Run `python -m onnxruntime_genai.models.builder` for the CPU; the result is in `out`.

    precision: `fp32`, `int8` or `int4`. Raises TechniqueError with the tail of the builder's output.
    """
    with tempfile.TemporaryDirectory(prefix="paredown-onnx-", dir=out.parent) as scratch:
        command = [
            *(sys.executable, "-m", "onnxruntime_genai.models.builder"),
            *("-i", str(source), "-o", str(out), "-p", precision, "-e", "cpu", "-c", scratch),
            # Reads no access token and no remote code.
            *("--extra_options", "hf_token=false", *extra_options),
        ]
        status, lines = _run(command, report)
    if status != 0 or not (out / "model.onnx").is_file():
        raise TechniqueError(
            f"The ONNX builder ended with status {status}: {_reason(lines)}", detail="\n".join(lines[-TAIL_LINES:])
        )
    copy_side_files(source, out)


def copy_side_files(source: Path, out: Path) -> None:
    """Tokenizer, chat template and configuration, exactly as the source has them (absent ones stay absent)."""
    copy_companions(source, out)
    if (source / "config.json").is_file():
        shutil.copyfile(source / "config.json", out / "config.json")


def _run(command: Sequence[str], report: Callable[[float, str], None]) -> tuple[int, list[str]]:
    report(0.0, "reading the checkpoint")
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    lines: list[str] = []
    stream = process.stdout
    assert stream is not None

    def read() -> None:
        # Universal newlines: a progress bar's carriage returns come as lines of their own.
        for line in stream:
            text = line.strip()
            if text and "it/s]" not in text and "s/it]" not in text:
                lines.append(text)
            _progress(text, report)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        status = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        reader.join()
        stream.close()
    return status, lines


def _progress(text: str, report: Callable[[float, str], None]) -> None:
    layer = re.match(r"Reading layer (\d+)", text)
    percent = re.match(r"Saving .*?(\d+)%\|", text)
    if layer:
        report(0.3, f"converting layer {layer.group(1)}")
    elif percent:
        report(0.6 + 0.3 * int(percent.group(1)) / 100, "writing the weights")


def _reason(lines: Sequence[str]) -> str:
    errors = [line for line in lines if re.match(r"\w*(Error|Exception|Interrupt)\b", line)]
    return errors[-1] if errors else (lines[-1] if lines else "it wrote nothing")


@dataclass(frozen=True)
class QuantizedFound:
    """What the graph holds: quantized matrix products, and fp32 tables that are gathered from."""

    layers: int
    wide_tables: tuple[str, ...]


def check_quantized(directory: Path, bits: int) -> QuantizedFound:
    """Count the matrix products of `bits` bits. Raises TechniqueError when there is none, or one was left wide."""
    import onnx

    graph = onnx.load(str(directory / "model.onnx"), load_external_data=False).graph
    tables = {tensor.name: tensor for tensor in graph.initializer}
    quantized, wide = 0, []
    for node in graph.node:
        if node.op_type == "MatMulNBits" and any(a.name == "bits" and a.i == bits for a in node.attribute):
            quantized += 1
        elif node.op_type in ("MatMul", "Gemm") and node.input[1] in tables:
            wide.append(node.name)
    if quantized == 0 or wide:
        first = f", {wide[0]} among them" if wide else ""
        raise TechniqueError(f"{quantized} matrices have {bits} bits and {len(wide)} were left wide{first}.")
    gathered = [node.input[0] for node in graph.node if node.op_type == "Gather" and "input_ids" in node.input]
    return QuantizedFound(quantized, tuple(name for name in gathered if name in tables and tables[name].data_type == 1))


def check_loads(directory: Path) -> None:
    """Load it and compute finite logits. Raises TechniqueError with the library's reason."""
    import numpy as np

    from paredown.models.onnx_probe import probe_logits

    try:
        logits = probe_logits(directory)
    except RuntimeError as error:
        raise TechniqueError(f"The converted model does not load: {error}") from error
    if not bool(np.isfinite(logits).all()):
        raise TechniqueError("The converted model computes logits that are not finite.")
