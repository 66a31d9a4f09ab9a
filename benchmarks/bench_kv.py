"""Is the KV cache that a configuration calls for the one that engines allocate?

    python benchmarks/bench_kv.py [--prompt 512] [--answer 256] [--engines transformers,…]

For every engine here that can run the built-in model, and a tiny model with a sliding window: bytes as
predicted from config.json and the engine's own options, as the engine itself counts them at their largest, and as the
memory of its process tree grew (PSS). Wanted: prediction and engine within 5 %. Exit status 1 when one is not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from paredown import registry
from paredown.contracts import Engine, Options, PlanFacts, Proposal, ServedBy
from paredown.environments.installed import missing
from paredown.errors import EngineError, PareDownError
from paredown.hosts import launch, tokenizer
from paredown.machine import describe as describe_machine
from paredown.measure.kv_probe import kv_part, probe_kv_cache
from paredown.measure.load import SendSettings, drive, raise_if_all_failed
from paredown.measure.memory import MemorySampler
from paredown.models import artifact, describe, kv_cache, source
from paredown.optimize import apply
from paredown.records.artifact import Artifact, ModelFacts
from paredown.records.candidate import Candidate, Rung
from paredown.records.events import RequestEvents
from paredown.spec.schema import default_cache
from paredown.testing import tiny_models
from paredown.traffic import synthetic

WANTED = 0.05
WINDOW = 64
FREE_WINDOWS = frozenset({"transformers"})
"""Engines that let go of what is behind a window; the others keep every position (seen here, not documented)."""

VARIANTS: dict[str, tuple[Options, ...]] = {
    "transformers": ({}, {"dtype": "float32"}),
    "openvino_genai": ({}, {"kv_cache_precision": "u8"}),
}


@dataclass(frozen=True)
class Case:
    """One model on one engine with its options."""

    model: str
    facts: ModelFacts
    engine: Engine
    made: Artifact
    options: Options


@dataclass(frozen=True)
class Row:
    """Bytes; `positions`: that the engine's own count is for."""

    positions: int
    predicted: int
    allocated: int
    grown_per_token: float | None

    @property
    def error(self) -> float:
        return self.predicted / self.allocated - 1


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--answer", type=int, default=256)
    parser.add_argument("--engines", default="")
    given = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    cache = Path(default_cache())
    machine = describe_machine()
    print(f"{machine.processor}, {machine.usable_cores} cores; prompt {given.prompt}, answer {given.answer} tokens")
    print(f"{'model':<9}{'engine':<19}{'options':<24}positions    predicted    allocated   error    PSS growth")
    missed = measured = 0
    with tempfile.TemporaryDirectory() as scratch:
        for case in cases(Path(scratch), cache, given.engines.split(",") if given.engines else ()):
            name = ", ".join(f"{key}={value}" for key, value in case.options.items())
            print(f"{case.model:<9}{case.engine.name:<19}{name:<24}", end="", flush=True)
            try:
                row = measure(case, Path(scratch), given.prompt, given.answer)
            except PareDownError as error:
                detail = error.detail if isinstance(error, EngineError) else ""
                print(f"left out: {error} {' '.join(detail.split())[:200]}")
                continue
            print(shown(row), flush=True)
            measured += 1
            missed += abs(row.error) > WANTED
    print(f"{measured - missed} of {measured} within {WANTED:.0%} (all wanted)")
    return 0 if measured and not missed else 1


def shown(row: Row) -> str:
    """Bytes; the growth of the whole process is scaled to as many tokens, and is neither an upper nor a lower limit."""
    grown = "not told" if row.grown_per_token is None else f"{row.grown_per_token * row.positions:,.0f}"
    return f"{row.positions:>9,}{row.predicted:>13,}{row.allocated:>13,}{row.error:>+8.1%}{grown:>14}"


def cases(scratch: Path, cache: Path, wanted: Sequence[str]) -> Iterator[Case]:
    """Every engine of ours that is installed, with the models in each format that it opens."""
    models = {
        "demo": source.resolve("demo", cache=cache),
        "windowed": tiny_models.make_mistral(
            scratch / "windowed", window=WINDOW, hidden_size=128, intermediate_size=256, num_hidden_layers=4,
            head_dim=32, max_position_embeddings=2048,
        ),
    }  # fmt: skip
    for model, path in models.items():
        facts = describe.facts(path)
        plain = artifact.describe(path, format="hf", parameters=facts.parameters)
        for engine in registry.engines():
            if engine.served_by is not ServedBy.HOST or engine.name == "fake" or (wanted and engine.name not in wanted):
                continue
            lacking = missing(engine.needs)
            if lacking:
                print(f"{model:<9}{engine.name:<19}left out: {lacking}")
                continue
            try:
                made = plain if "hf" in engine.opens else converted(engine, facts, plain, cache)
            except PareDownError as error:
                print(f"{model:<9}{engine.name:<19}left out: {str(error)[:160]}")
                continue
            for options in VARIANTS.get(engine.name, ({},)):
                yield Case(model, facts, engine, made, options)


def converted(engine: Engine, facts: ModelFacts, plain: Artifact, cache: Path) -> Artifact:
    """In a format of the engine, by the first lossless technique that makes one."""
    for technique in registry.techniques():
        if technique.produces not in engine.opens or technique.apply is None or technique.rung is not Rung.LOSSLESS:
            continue
        for proposal in technique.propose(PlanFacts(facts, describe_machine())):
            if isinstance(proposal, Proposal):
                return apply.make(
                    technique, proposal.steps[-1], {"main": plain}, cache=cache, parameters=plain.parameters,
                    on_progress=lambda _done, _doing: None,
                )  # fmt: skip
    raise PareDownError(f"no lossless technique makes a format of {engine.name}")


def measure(case: Case, scratch: Path, prompt: int, answer: int) -> Row:
    """A fresh host, one long answer; the engine's count at its largest."""
    options = case.engine.resolve(case.made, describe_machine(), case.options)
    candidate = Candidate("kv", Rung.BASELINE, case.engine.name, options, {"main": case.made})
    tokens = tokenizer.load(case.made.path)
    work = Path(tempfile.mkdtemp(dir=scratch))
    single, settings = registry.load_shape("single_stream"), SendSettings(ignore_eos=True, timeout_s=600)
    with MemorySampler(period_s=0.05) as sampler, launch.start(case.engine, candidate, work, timeout_s=300) as running:
        short, long = synthetic.make(tokens, [64, prompt], output_tokens=[8, answer], seed=0)
        raise_if_all_failed(drive(running, single, {}, [short], settings), "warming up")

        def answered() -> RequestEvents:
            (events,) = drive(running, single, {}, [long], settings)
            raise_if_all_failed([events], "measuring")
            return events

        probe = probe_kv_cache(sampler, running.process_ids(), answered)
        info = running.host_info()
    grown = kv_part(probe, None).bytes_per_token
    if info is None or info.kv_bytes is None or not info.kv_tokens:
        raise PareDownError(f"{case.engine.name} does not tell what its cache takes")
    size = kv_cache.element_bytes(case.facts, case.made, options)
    predict = kv_cache.kv_bytes if case.engine.name in FREE_WINDOWS else kv_cache.kv_bytes_without_window
    predicted = None if size is None else predict(case.facts, info.kv_tokens, size)
    if predicted is None:
        raise PareDownError(f"not predicted: {case.facts.kv_unknown or 'the data type is not known'}")
    return Row(info.kv_tokens, predicted, info.kv_bytes, grown)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
