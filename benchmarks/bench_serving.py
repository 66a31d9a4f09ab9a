"""How much of an engine's own decode speed a client sees: in process against served, in turns, fresh processes.

    python benchmarks/bench_serving.py [ENGINE FORMAT ARTIFACT [ROUNDS]]

Without arguments: the built-in model by the technique onnx_int8, made when it is not in the cache.

In process, a loop over the engine's own generation session; served, the host over HTTP as in every trial. Both get
the same token ids and lengths. Wanted: at least 90 %.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from paredown import registry
from paredown.contracts import Engine, GenerationRequest, OpenContext, PlanFacts, Proposal
from paredown.hosts import launch
from paredown.machine import describe
from paredown.measure import trial
from paredown.measure.overhead import serving_overhead
from paredown.measure.trial import TrialSettings
from paredown.models import artifact as artifacts
from paredown.models import describe as describe_model
from paredown.models import source
from paredown.optimize import apply
from paredown.records.artifact import Artifact
from paredown.records.candidate import Candidate, Rung
from paredown.records.figure import Options
from paredown.records.timing import tpot_s
from paredown.spec.schema import default_cache
from paredown.traffic import load as traffic

REQUESTS = 6
WANTED = 0.90


def recommended_artifact() -> tuple[str, str, str]:
    """Engine, format and directory of the built-in model in 8 bits on ONNX Runtime."""
    cache = default_cache()
    path = source.resolve("demo", cache=cache)
    facts = describe_model.facts(path)
    original = artifacts.describe(path, format="hf", parameters=facts.parameters)
    technique = registry.technique("onnx_int8")
    (offer,) = technique.propose(PlanFacts(facts, describe()))
    assert isinstance(offer, Proposal)
    made = apply.make(
        technique,
        offer.steps[0],
        {"main": original},
        cache=cache,
        parameters=facts.parameters,
        on_progress=lambda _fraction, _text: None,
    )
    return "onnxruntime_genai", made.format, str(made.path)


def main(arguments: Sequence[str]) -> int:
    arguments = arguments or recommended_artifact()
    engine, path = registry.engine(arguments[0]), Path(arguments[2])
    artifact = Artifact(path, arguments[1], "bench", 1, 1, 1)
    options = engine.resolve(artifact, describe(), {})
    candidate = Candidate("bench", Rung.BASELINE, engine.name, options, {"main": artifact})
    rounds = int(arguments[3]) if len(arguments) > 3 else 3
    work_dir = Path("/tmp") / "paredown-bench"
    prompts = encode(engine, candidate, work_dir)
    alone: list[float] = []
    served: list[float] = []
    for index in range(rounds):
        for kind in ("alone", "served") if index % 2 == 0 else ("served", "alone"):
            if kind == "alone":
                alone.append(run_in_process(engine.name, path, options, prompts))
            else:
                served.append(run_served(engine, candidate, work_dir))
            print(f"round {index + 1}, {kind}: {(alone if kind == 'alone' else served)[-1]:.1f} tok/s", flush=True)
    kept = statistics.median(served) / statistics.median(alone)
    print(
        f"{engine.name}: in process {statistics.median(alone):.1f}, served {statistics.median(served):.1f} tok/s, "
        f"kept {kept:.1%} (wanted: at least {WANTED:.0%})"
    )
    return 0 if kept >= WANTED else 1


def encode(engine: Engine, candidate: Candidate, work_dir: Path) -> list[list[int]]:
    with launch.start(engine, candidate, work_dir, timeout_s=300) as running, running.scoring() as scoring:
        conversations = [request.messages for request in traffic.load("chat").requests[:REQUESTS]]
        return [list(ids) for ids in scoring.encode(conversations)]


def run_served(engine: Engine, candidate: Candidate, work_dir: Path) -> float:
    settings = TrialSettings(blocks=1, requests_per_block=REQUESTS)
    (measured,) = trial.run(
        lambda: launch.start(engine, candidate, work_dir, timeout_s=300),
        candidate.name,
        [traffic.load("chat")],
        settings,
    )
    overhead = serving_overhead(measured)
    if overhead is not None:
        print(
            f"    delivery of a chunk: p50 {overhead.delivery_p50_s * 1e3:.2f} ms, "
            f"p99 {overhead.delivery_p99_s * 1e3:.2f} ms; void: {measured.void or 'no'}"
        )
    return 1.0 / statistics.median(filter(None, map(tpot_s, measured.requests())))


def run_in_process(engine: str, path: Path, options: Options, prompts: Sequence[Sequence[int]]) -> float:
    """In a process of its own, so that nothing of the library stays in this one."""
    request = json.dumps({"engine": engine, "path": str(path), "options": dict(options), "prompts": prompts})
    done = subprocess.run(
        [sys.executable, __file__, "--in-process"], input=request, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout.strip().splitlines()[-1])


def decode_speed(request: Mapping[str, object]) -> float:
    """Median over prompts of tokens per second after the first token; one more prompt warms up."""
    engine = registry.engine(str(request["engine"]))
    assert engine.open is not None
    opened = engine.open(OpenContext({"main": Path(str(request["path"]))}, request["options"]))  # type: ignore[arg-type]
    session = opened.generation()
    speeds = []
    prompts = request["prompts"]
    assert isinstance(prompts, list)
    for index, ids in enumerate([prompts[-1][::-1], *prompts]):
        session.add(GenerationRequest(str(index), tuple(ids), 50, ignore_eos=True))
        times = []
        while len(times) < 50:
            times += [time.perf_counter() for output in session.step() for _ in output.token_ids]
        speeds.append(49 / (times[-1] - times[0]))
    return statistics.median(speeds[1:])


if __name__ == "__main__":
    if sys.argv[1:] == ["--in-process"]:
        print(decode_speed(json.loads(sys.stdin.read())))
    else:
        sys.exit(main(sys.argv[1:]))
