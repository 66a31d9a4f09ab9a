"""Hugging Face directory → ONNX directory for onnxruntime-genai, through its own builder, run as a process."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from paredown.errors import TechniqueError
from paredown.records.artifact import ModelFacts

COPIED = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json", "config.json")
"""Files that make an artifact serve on its own; taken from the source as they are."""

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
    """Bytes of all matrices at `bits` with one fp32 scale a block, no zero points (head included once)."""
    weights = facts.active_parameters
    return weights * bits // 8 + weights // block_size * 4


def rope_table_bytes(facts: ModelFacts) -> int:
    """The builder stores the cosine and sine tables as fp32: context × head_dim/2, twice."""
    return 2 * facts.context_length * (facts.head_dim // 2) * CACHE_POSITIONS_BYTES


def unsupported(facts: ModelFacts) -> str:
    """Why the builder cannot convert this architecture, or an empty string."""
    if facts.architecture in SUPPORTED_ARCHITECTURES:
        return ""
    return f"the ONNX builder is not known to convert {facts.architecture}"


def build(
    source: Path,
    out: Path,
    precision: str,
    extra_options: Sequence[str],
    scratch: Path,
    report: Callable[[float, str], None],
) -> None:
    """Run `python -m onnxruntime_genai.models.builder` for the CPU; the result is in `out`.

    precision: `fp32`, `int8` or `int4`. Raises TechniqueError with the tail of the builder's output.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    command = [
        *(sys.executable, "-m", "onnxruntime_genai.models.builder"),
        *("-i", str(source), "-o", str(out), "-p", precision, "-e", "cpu", "-c", str(scratch)),
    ]
    # The builder reads tokens and remote code only when asked to; hf_token=false keeps it from looking for one.
    command += ["--extra_options", "hf_token=false", *extra_options]
    status, lines = _run(command, report)
    if status != 0 or not (out / "model.onnx").is_file():
        raise TechniqueError(
            f"The ONNX builder ended with status {status}: {_reason(lines)}", detail="\n".join(lines[-TAIL_LINES:])
        )
    copy_side_files(source, out)


def copy_side_files(source: Path, out: Path) -> None:
    """Tokenizer, chat template and configuration, exactly as the source has them (absent ones stay absent)."""
    for name in COPIED:
        if (source / name).is_file():
            shutil.copyfile(source / name, out / name)


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
