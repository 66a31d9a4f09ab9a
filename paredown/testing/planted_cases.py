"""The planted faults by name, with what must be said of each, and the golden prompts that show them."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from paredown.testing import planted_faults as faults

Make = Callable[[Path, Path], Path]


def not_said(named: Sequence[str], reasons: Sequence[str]) -> list[str]:
    """What of `named` stands in none of the reasons."""
    said = " ".join(reasons).lower()
    return [part for part in named if part.lower() not in said]


@dataclass(frozen=True)
class Fault:
    """One damage of a checkpoint.

    make:    (source, folder) → the damaged directory
    named:   texts that must all stand in the reasons of the verdict: what is wrong, and where (in any case)
    begins:  the baseline begins every text with a BOS token (`planted_faults.beginning_with_bos`)
    """

    name: str
    make: Make
    named: tuple[str, ...]
    begins: bool = False


FAULTS = (
    Fault("one block times 1.5", faults.block_scaled, ("block 15",)),
    Fault("Cyrillic tokens damaged", faults.script_damaged, ("russian",)),
    Fault("rotary base wrong", faults.rotary_base, ("rope_theta is 10,000, in the baseline 100,000", "at positions ")),
    Fault("KV cache lost beyond 1,024", faults.window, ("keep the last 1,024 positions", "at positions ")),
    Fault("chat template lost", faults.template_lost, ("The chat template was lost",)),
    Fault("BOS missing", faults.bos_missing, ("The first token is missing (BOS)",), begins=True),
    Fault("EOS id lost", faults.end_id_lost, ("stop ids: ends at the tokens [0], the baseline at [2]",)),
    Fault("EOS suppressed in the head", faults.end_suppressed, ("ends 0 of the", "'<|im_end|>'")),
    Fault("stops early", partial(faults.end_favoured, factor=2.0), ("Stops early", "'<|im_end|>'")),
    Fault("head untied and rounded", faults.head_rounded, ("stored apart",)),
    Fault(
        "tool-call quotes broken", faults.quotes_broken, ("structured_output", "stored apart", "tokens such as '\"'")
    ),
)
"""All but two: safety lost by fine-tuning (`planted_compliance`) and golden prompts in calibration data."""

SAFETY_NAMED = ("safety", "block 29")

CHOSEN: Mapping[str, int] = {
    "safety": 100, "structured_output": 36, "tool_calls": 36, "short_facts": 40, "multilingual": 24, "reasoning": 30,
}  # fmt: skip
"""Built-in prompts of each slice, enough for each fault to be seen."""


def golden_file(path: Path, chosen: Mapping[str, int] = CHOSEN) -> Path:
    """Some of the built-in golden prompts, by file: all that are answered in writing, then choices."""
    folder = importlib.resources.files("paredown.builtin") / "golden"
    rows: list[Mapping[str, Any]] = []
    for name, count in chosen.items():
        every = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines() if line]
        written = [row for row in every if not row.get("choices")]
        choices = [row for row in every if row.get("choices")]
        rows += [*written, *spread(choices, count - len(written))]
    kept = [{**row, "zero_tolerance": False, "slice": _slice_of(row)} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    return path


def _slice_of(row: Mapping[str, Any]) -> str:
    """The row's slice; prompts that must not be refused have one of their own: a model that complies gains there what
    it loses on harmful ones.
    """
    return "over_refusal" if row["tags"].get("kind") == "over_refusal" else str(row["slice"])


def spread(rows: Sequence[Any], count: int) -> list[Any]:
    """`count` of the rows at equal distances, so that every kind among them is there."""
    count = min(count, len(rows))
    return [rows[place * len(rows) // count] for place in range(count)]


def leaking_calibration(path: Path, golden: Path, leaked: int = 12) -> Path:
    """Calibration conversations of our own, and some golden prompts among them."""
    own = [f"In the year {1900 + n} the mill by the river ground {n} sacks of rye before noon." for n in range(64)]
    rows = [json.loads(line) for line in golden.read_text(encoding="utf-8").splitlines()]
    talks = [[{"role": "user", "content": text}] for text in own] + [row["messages"] for row in spread(rows, leaked)]
    path.write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in talks), encoding="utf-8")
    return path
